import type { QoS, TopicFilter, TopicName } from '../../protocol/index.ts'
import type { ListPosition } from '../lists/list-slice.ts'
import type { OperationFailure } from './publishing.ts'

/** Retained messages, for the API. */
export interface RetainedOperations {
  /** At most `most` from `from` on, or from the first. undefined: a shard does not respond. */
  list(filter: TopicFilter, maxRows: number, from?: ListPosition): Promise<RetainedList | undefined>
  /** The message of one topic with its payload. null: there is none; undefined: a shard does not respond. */
  find(topic: TopicName): Promise<RetainedMessage | null | undefined>
  /** False: there is none. Resolves when the deletion is durable. */
  forget(topic: TopicName): Promise<boolean | OperationFailure>
}

export interface RetainedList {
  readonly rows: readonly RetainedRow[]
  /** Position of the next message; undefined: there is none. */
  readonly next: ListPosition | undefined
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
