// Handlers of retained messages in version 4 of the API.

import type { retainedEndpoints } from '../../../contract/index.ts'
import { parseTopicFilter, parseTopicName } from '../../../protocol/index.ts'
import type { Handlers } from '../../http/handler.ts'
import { clientName } from '../../lists/client-name.ts'
import type { RetainedOperations, RetainedRow } from '../../operations/retained.ts'
import { ApiError, refuse } from '../../http/api-error.ts'
import { cursorOf, positionOf } from '../../lists/paging.ts'
import { localTime } from '../../http/format-time.ts'

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
