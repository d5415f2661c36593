// Rewritten topics and automatic subscriptions: operations of the node, and handlers.

import type { topicSettingEndpoints } from './endpoints.ts'
import type { Caller } from '../../contract/index.ts'
import type { Handlers } from '../../management/index.ts'
import { refusalOf } from '../rules/rules.ts'
import type { RuleProblem } from '../context/setting-writer.ts'

export interface TopicRewrite {
  readonly action: 'publish' | 'subscribe' | 'all'
  readonly source_topic: string
  readonly re: string
  readonly dest_topic: string
}

export interface AutoSubscribeTopic {
  readonly topic: string
  readonly qos?: number
  readonly rh?: number
  readonly rap?: number
  readonly nl?: number
}

/** `rewrite` and `auto_subscribe`, for the API. */
export interface TopicSettingOperations {
  rewrites(): readonly TopicRewrite[]
  changeRewrites(rewrites: readonly TopicRewrite[], by: Caller): Promise<RuleProblem | undefined>
  autoSubscriptions(): readonly Required<AutoSubscribeTopic>[]
  changeAutoSubscriptions(topics: readonly AutoSubscribeTopic[], by: Caller): Promise<RuleProblem | undefined>
}

/** Handlers of topics that are replaced, and of subscriptions that the broker makes. */
export function topicSettingHandlers(topics: TopicSettingOperations): Handlers<typeof topicSettingEndpoints> {
  return {
    get_topic_rewrite: () => [...topics.rewrites()],
    change_topic_rewrite: async ({ body, caller }) => {
      const problem = await topics.changeRewrites(body, caller)
      return problem === undefined ? [...topics.rewrites()] : refusalOf(problem)
    },
    get_auto_subscribe: () => [...topics.autoSubscriptions()],
    change_auto_subscribe: async ({ body, caller }) => {
      const problem = await topics.changeAutoSubscriptions(body, caller)
      return problem === undefined ? [...topics.autoSubscriptions()] : refusalOf(problem)
    },
  }
}
