// Retained messages: operations of the node, and handlers.

import type { retainedEndpoints } from './endpoints.ts'
import { parseTopicFilter, parseTopicName, type QoS, type TopicFilter, type TopicName } from '../../protocol/index.ts'
import {
  type Handlers,
  clientName,
  ApiError,
  refuse,
  cursorOf,
  positionOf,
  localTime,
  type ListPosition,
} from '../../management/index.ts'
import type { OperationFailure } from '../publishing/publishing.ts'

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

const defaultLimit = 1_000

export function retainedHandlers(retained: RetainedOperations): Handlers<typeof retainedEndpoints> {
  return {
    list_retained: async ({ query }) => {
      const { topic = '#', _limit: limit = query.limit ?? defaultLimit } = query
      const filter = parseTopicFilter(topic)
      if (filter === undefined || filter.startsWith('$share/')) {
        return refuse('invalidTopic', `topic in the query: ${topic} is not a topic filter`)
      }
      const { _cursor: cursor = query.cursor } = query
      const from = cursor === undefined ? undefined : positionOf(cursor)
      if (from instanceof ApiError) return from
      const list = await retained.list(filter, limit, from)
      if (list === undefined) return refuse('rpcError', shardRestarting)
      const next = cursor === undefined || list.next === undefined ? {} : { cursor: cursorOf(list.next) }
      return { code: 0, data: list.rows.map(rowOf), meta: { limit, hasnext: list.next !== undefined, ...next } }
    },
    get_retained: async ({ params }) => {
      const topic = parseTopicName(params.topic)
      if (topic === undefined) return refuseTopic(params.topic)
      const found = await retained.find(topic)
      if (found === undefined) return refuse('rpcError', shardRestarting)
      if (found === null) return refuseUnknownPath(topic)
      return { code: 0, data: { ...rowOf(found), payload_base64: Buffer.from(found.payload).toString('base64') } }
    },
    delete_retained: async ({ params }) => {
      const topic = parseTopicName(params.topic)
      if (topic === undefined) return refuseTopic(params.topic)
      const deleted = await retained.forget(topic)
      if (typeof deleted !== 'boolean') return refuse('rpcError', `the message stays: ${deleted.why}`)
      return deleted ? { code: 0 } : refuseUnknownPath(topic)
    },
  }
}

const shardRestarting = 'a shard is restarting: retry'

function refuseTopic(topic: string): ApiError {
  return refuse('invalidTopic', `topic in the path: ${topic} is not a topic name`)
}

function refuseUnknownPath(topic: string): ApiError {
  return refuse('invalidParameter', `no retained message at the topic ${topic}`, 404)
}

function rowOf({ topic, qos, payloadBytes, publisher, publishedAtMs, expiresAtMs }: RetainedRow) {
  const row = {
    topic,
    qos,
    payload_bytes: payloadBytes,
    from_clientid: clientName(publisher).clientid,
    publish_at: localTime(publishedAtMs),
  }
  return expiresAtMs === undefined ? row : { ...row, expires_at: localTime(expiresAtMs) }
}
