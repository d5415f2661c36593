import type { QoS, TopicFilter, TopicName } from '../../protocol/index.ts'
import type { OperationFailure } from './publishing.ts'

/** What the management asks about retained messages. */
export interface RetainedOperations {
  /** Not more than `most`, and whether there are more. undefined: a shard does not answer. */
  list(filter: TopicFilter, most: number): Promise<RetainedList | undefined>
  /** The message of one topic with its payload. null: there is none; undefined: a shard does not answer. */
  find(topic: TopicName): Promise<RetainedMessage | null | undefined>
  /** False: there is none. Resolves when that is on disk. */
  forget(topic: TopicName): Promise<boolean | OperationFailure>
}

export interface RetainedList {
  readonly rows: readonly RetainedRow[]
  readonly hasMore: boolean
}

export interface RetainedMessage extends RetainedRow {
  readonly payload: Uint8Array
}

export interface RetainedRow {
  readonly topic: string
  readonly qos: QoS
  readonly payloadBytes: number
  readonly publisher: string
  readonly publishedAtMs: number
  readonly expiresAtMs: number | undefined
}
