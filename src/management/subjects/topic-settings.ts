import type { topicSettingEndpoints } from '../../contract/index.ts'
import type { Handlers } from '../http/handler.ts'
import type { TopicSettingOperations } from '../operations/topic-settings.ts'
import { refusalOf } from './rules/rules.ts'

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
