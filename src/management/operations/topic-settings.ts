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

/** Numbers of one topic, over all shards. */
export interface TopicNumbers {
  readonly topic: string
  readonly createdAtMs: number
  readonly resetAtMs: number | undefined
  /** By name: `qos0.in`, ... `qos2.out`, `dropped`. */
  readonly numbers: Readonly<Record<TopicNumberName, { readonly count: number; readonly rate: number }>>
}

export type TopicNumberName = `qos${0 | 1 | 2}.${'in' | 'out'}` | 'dropped'

/** Operations of the node on `topic_metrics`. */
export interface TopicMetricsOperations {
  topics(): readonly string[]
  /** Changes wait for each other: `update` is given the topics as they are then. */
  change(update: (topics: readonly string[]) => readonly string[], by: Caller): Promise<RuleProblem | undefined>
  /** Undefined: a shard did not respond. */
  numbers(): Promise<readonly TopicNumbers[] | undefined>
  /** Returns the metrics of all topics. Shards that do not respond within a second are omitted. */
  scrape(): Promise<readonly TopicNumbers[]>
  /** Undefined: of all topics. */
  reset(topic: string | undefined): Promise<void>
}

/** `rewrite` and `auto_subscribe`, for the API. */
export interface TopicSettingOperations {
  rewrites(): readonly TopicRewrite[]
  changeRewrites(rewrites: readonly TopicRewrite[], by: Caller): Promise<RuleProblem | undefined>
  autoSubscriptions(): readonly Required<AutoSubscribeTopic>[]
  changeAutoSubscriptions(topics: readonly AutoSubscribeTopic[], by: Caller): Promise<RuleProblem | undefined>
}
