import type { QoS, TopicFilter, TopicName } from '../../protocol/index.ts'
import type { OperationFailure } from './publishing.ts'

/** Retained messages, for the API. */
export interface RetainedOperations {
  /** At most `most`, and whether there are more. undefined: a shard does not respond. */
  list(filter: TopicFilter, most: number): Promise<RetainedList | undefined>
  /** The message of one topic with its payload. null: there is none; undefined: a shard does not respond. */
  find(topic: TopicName): Promise<RetainedMessage | null | undefined>
  /** False: there is none. Resolves when the deletion is durable. */
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
