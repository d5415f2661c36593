import type { QoS, TopicFilter } from '../../protocol/index.ts'

/** What the management asks about retained messages. */
export interface RetainedOperations {
  /** Not more than `most`, and whether there are more. undefined: a shard does not answer. */
  list(filter: TopicFilter, most: number): Promise<RetainedList | undefined>
}

export interface RetainedList {
  readonly rows: readonly RetainedRow[]
  readonly hasMore: boolean
}

export interface RetainedRow {
  readonly topic: string
  readonly qos: QoS
  readonly payloadBytes: number
  readonly publisher: string
  readonly publishedAtMs: number
  readonly expiresAtMs: number | undefined
}
