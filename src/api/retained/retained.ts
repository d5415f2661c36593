// Retained messages: each shard has those of its topics.

import type { ReplyOf } from '../../contract/index.ts'
import {
  ApiError,
  formatCursor,
  type Handlers,
  type ListPosition,
  formatLocalTime,
  parseCursor,
  refuse,
} from '../../management/index.ts'
import { toClientName } from '../context/client-name.ts'
import type { QueryableShards } from '../../node/index.ts'
import { parseTopicFilter, parseTopicName, type TopicFilter, type TopicName } from '../../protocol/index.ts'
import type { QueryResult } from '../../shard/index.ts'
import type { Store } from '../../storage/index.ts'
import type { Names } from '../context/names.ts'
import type { retainedEndpoints } from './endpoints.ts'

type Known = typeof retainedEndpoints
type Row = ReplyOf<Known['list_retained']>['data'][number]
type Retained = QueryResult<'retained'>[number]

export interface RetainedDependencies {
  readonly supervisor: QueryableShards
  readonly ownStore: Pick<Store, 'read'>
  readonly names: Names
}

const defaultLimit = 1_000
const shardRestarting = 'a shard is restarting: retry'

export function createRetainedHandlers(node: RetainedDependencies): Handlers<Known> {
  return {
    list_retained: async ({ query }) => {
      const { topic = '#', _limit: limit = query.limit ?? defaultLimit } = query
      const filter = parseTopicFilter(topic)
      if (filter === undefined || filter.startsWith('$share/')) {
        return refuse('invalidTopic', `topic in the query: ${topic} is not a topic filter`)
      }
      const { _cursor: cursor = query.cursor } = query
      const from = cursor === undefined ? undefined : parseCursor(cursor)
      if (from instanceof ApiError) return from
      const list = await listRetained(node, filter, limit, from)
      if (list === undefined) return refuse('rpcError', shardRestarting)
      const next = cursor === undefined || list.next === undefined ? {} : { cursor: formatCursor(list.next) }
      return { code: 0, data: list.rows.map(toRow), meta: { limit, hasnext: list.next !== undefined, ...next } }
    },
    get_retained: async ({ params }) => {
      const topic = parseTopicName(params.topic)
      if (topic === undefined) return refuseTopic(params.topic)
      const found = await findRetained(node, topic)
      if (found === undefined) return refuse('rpcError', shardRestarting)
      if (found === null) return refuseUnknownTopic(topic)
      return { code: 0, data: { ...toRow(found), payload_base64: Buffer.from(found.payload).toString('base64') } }
    },
    delete_retained: async ({ params }) => {
      const topic = parseTopicName(params.topic)
      if (topic === undefined) return refuseTopic(params.topic)
      const deleted = await deleteRetained(node, topic)
      if (typeof deleted === 'object') return refuse('rpcError', `the message stays: ${deleted.why}`)
      return deleted ? { code: 0 } : refuseUnknownTopic(topic)
    },
  }
}

function refuseTopic(topic: string): ApiError {
  return refuse('invalidTopic', `topic in the path: ${topic} is not a topic name`)
}

function refuseUnknownTopic(topic: string): ApiError {
  return refuse('invalidParameter', `no retained message at the topic ${topic}`, 404)
}

function toRow({ topic, qos, payloadBytes, publisher, publishedAtMs, expiresAtMs }: Retained): Row {
  const row = {
    topic,
    qos,
    payload_bytes: payloadBytes,
    from_clientid: toClientName(publisher).clientid,
    publish_at: formatLocalTime(publishedAtMs),
  }
  return expiresAtMs === undefined ? row : { ...row, expires_at: formatLocalTime(expiresAtMs) }
}

interface RetainedList {
  readonly rows: readonly Retained[]
  /** Position of the next message; undefined: there is none. */
  readonly next: ListPosition | undefined
}

const beginning: ListPosition = { shard: 0, place: 0, offset: 0 }

/** Returns at most `maxRows` messages without their payloads; undefined: a shard does not respond. */
export async function listRetained(
  { supervisor, names }: RetainedDependencies,
  filter: TopicFilter,
  maxRows: number,
  from = beginning,
): Promise<RetainedList | undefined> {
  const mounted = names.mountFilter(filter)
  if (mounted === undefined) return { rows: [], next: undefined }
  const rows: Retained[] = []
  let skip = from.offset
  for (let shard = from.shard; shard < supervisor.size; shard++) {
    const left = maxRows - rows.length
    const found = await supervisor.query(shard, { kind: 'retained', filter: mounted, maxRows: left, skip })
    if (found === undefined) return undefined
    rows.push(...found.slice(0, left).map((row) => ({ ...row, topic: names.unmountTopic(row.topic) })))
    if (found.length > left) return { rows, next: { shard, place: 0, offset: skip + left } }
    skip = 0
  }
  return { rows, next: undefined }
}

/** Returns the message of one topic with its payload. null: there is none; undefined: a shard does not respond. */
export async function findRetained(
  { supervisor, ownStore, names }: RetainedDependencies,
  topic: TopicName,
): Promise<(Retained & { readonly payload: Uint8Array }) | null | undefined> {
  const mounted = names.mountTopic(topic)
  if (mounted === undefined) return null
  for (let shard = 0; shard < supervisor.size; shard++) {
    const found = await supervisor.query(shard, { kind: 'retained-message', topic: mounted })
    if (found === undefined) return undefined
    if (found === null) continue
    const payload = found.payload ?? (await readPayload(ownStore, mounted))
    // The message was replaced or deleted meanwhile.
    return payload === undefined ? null : { ...found, topic: names.unmountTopic(found.topic), payload }
  }
  return null
}

/** Payloads of larger messages are on disk only. */
async function readPayload(store: Pick<Store, 'read'>, topic: string): Promise<Uint8Array | undefined> {
  for await (const record of store.read({ kind: 'retained', topic })) {
    if (record.kind === 'retained') return record.message.payload
  }
  return undefined
}

/** Resolves when the deletion is durable. false: there is none. */
async function deleteRetained(
  { supervisor, names }: RetainedDependencies,
  topic: TopicName,
): Promise<boolean | { readonly why: string }> {
  const mounted = names.mountTopic(topic)
  if (mounted === undefined) return false
  let matched = 0
  for (let shard = 0; shard < supervisor.size; shard++) {
    const result = await supervisor.query(shard, { kind: 'forget-retained', topics: [mounted] })
    if (result === undefined || !result.done) return { why: result?.why ?? 'no-response' }
    matched += result.matched ?? 0
  }
  return matched > 0
}
