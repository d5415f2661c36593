import type { Caller } from '../../contract/index.ts'
import type { RuleProblem } from './rules.ts'

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

/** What the management asks of the node about `rewrite` and `auto_subscribe`. */
export interface TopicSettingOperations {
  rewrites(): readonly TopicRewrite[]
  changeRewrites(rewrites: readonly TopicRewrite[], by: Caller): Promise<RuleProblem | undefined>
  autoSubscriptions(): readonly Required<AutoSubscribeTopic>[]
  changeAutoSubscriptions(topics: readonly AutoSubscribeTopic[], by: Caller): Promise<RuleProblem | undefined>
}
