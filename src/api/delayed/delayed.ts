// Delayed messages: each shard has those of its clients.

import type { ReplyOf } from '../../contract/index.ts'
import { type ApiError, type Handlers, refuseFor } from '../../management/index.ts'
import { toClientName } from '../context/client-name.ts'
import type { QueryableShards } from '../../node/index.ts'
import type { QueryResult } from '../../shard/index.ts'
import type { Store } from '../../storage/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { refuseChange, SettingWriter } from '../context/setting-writer.ts'
import type { delayedEndpoints } from './endpoints.ts'

type Known = typeof delayedEndpoints
type Row = ReplyOf<Known['list_delayed_messages']>['data'][number]
type Delayed = QueryResult<'delayed-messages'>['rows'][number]

const defaultLimit = 100
const msPerSecond = 1_000

export function createDelayedHandlers({
  nodeName,
  configuration,
  supervisor,
  ownStore,
}: Pick<ApiContext, 'nodeName' | 'configuration' | 'supervisor' | 'ownStore'>): Handlers<Known> {
  const writer = new SettingWriter(configuration)
  const isHere = (node: string): boolean => node === nodeName
  const readSettings = (): ReplyOf<Known['get_delayed']> => {
    const { delaysMessages, maxDelayedMessages } = configuration.config.core
    return { enable: delaysMessages, max_delayed_messages: maxDelayedMessages ?? 0 }
  }
  return {
    get_delayed: readSettings,
    change_delayed: async ({ body: delayed, caller }) => {
      const problem = await writer.change({ delayed }, caller)
      return problem === undefined ? readSettings() : refuseChange(problem)
    },
    list_delayed_messages: async ({ query: { page = 1, limit = defaultLimit } }) => {
      const found = await listDelayed(supervisor, (page - 1) * limit, limit)
      if (found === undefined) return refuseUnavailable()
      const { count, rows } = found
      const data = rows.map((row) => toRow(row, nodeName))
      return { data, meta: { page, limit, count, hasnext: page * limit < count } }
    },
    get_delayed_message: async ({ params: { node, msgid } }) => {
      const found = isHere(node) ? await findDelayed(supervisor, ownStore, msgid) : null
      if (found === undefined) return refuseUnavailable()
      if (found === null) return refuseUnknownMessage(node, msgid)
      return { ...toRow(found, node), payload: Buffer.from(found.payload).toString('base64') }
    },
    delete_delayed_message: async ({ params: { node, msgid } }) => {
      const removed = isHere(node) ? await deleteDelayed(supervisor, msgid) : false
      if (removed === undefined) return refuseUnavailable()
      if (typeof removed === 'string') return refuseFor('INTERNAL_ERROR', `the message stays: ${removed}`)
      return removed ? null : refuseUnknownMessage(node, msgid)
    },
  }
}

function refuseUnavailable(): ApiError {
  return refuseFor('SERVICE_UNAVAILABLE', 'a shard is restarting: retry')
}

function refuseUnknownMessage(node: string, msgid: string): ApiError {
  return refuseFor(
    'NOT_FOUND',
    `there is no delayed message ${JSON.stringify(msgid)} on the node ${JSON.stringify(node)}`,
  )
}

function toRow(message: Delayed, node: string): Row {
  const { dueAtMs, publishedAtMs } = message
  return {
    msgid: message.id,
    node,
    publish_at: new Date(publishedAtMs).toISOString(),
    expected_at: new Date(dueAtMs).toISOString(),
    delayed_interval: Math.max(0, Math.round((dueAtMs - publishedAtMs) / msPerSecond)),
    delayed_remaining: Math.max(0, Math.ceil((dueAtMs - Date.now()) / msPerSecond)),
    topic: message.topic,
    qos: message.qos,
    payload_bytes: message.payloadBytes,
    from_clientid: toClientName(message.publisher).clientid,
    from_username: message.publisherUsername ?? '',
  }
}

/** undefined: a shard does not respond. */
async function listDelayed(
  supervisor: QueryableShards,
  skip: number,
  maxRows: number,
): Promise<{ readonly count: number; readonly rows: readonly Delayed[] } | undefined> {
  const rows: Delayed[] = []
  let count = 0
  for (let shard = 0; shard < supervisor.size; shard++) {
    const wanted = { skip: Math.max(0, skip - count), maxRows: maxRows - rows.length }
    const found = await supervisor.query(shard, { kind: 'delayed-messages', ...wanted })
    if (found === undefined) return undefined
    count += found.count
    rows.push(...found.rows)
  }
  return { count, rows }
}

/** null: no message has that ID; undefined: a shard does not respond. */
async function findDelayed(
  supervisor: QueryableShards,
  store: Pick<Store, 'read'>,
  id: string,
): Promise<(Delayed & { readonly payload: Uint8Array }) | null | undefined> {
  for (let shard = 0; shard < supervisor.size; shard++) {
    const found = await supervisor.query(shard, { kind: 'delayed-message', id })
    if (found === undefined) return undefined
    if (found === null) continue
    const payload = found.payload ?? (await readPayload(store, found.record))
    // It was published meanwhile.
    return payload === undefined ? null : { ...found, payload }
  }
  return null
}

/** false: no message has that ID; a text: why it was not deleted; undefined: a shard does not respond. */
async function deleteDelayed(supervisor: QueryableShards, id: string): Promise<boolean | string | undefined> {
  let matched = 0
  for (let shard = 0; shard < supervisor.size; shard++) {
    const result = await supervisor.query(shard, { kind: 'delete-delayed', id })
    if (result === undefined) return undefined
    if (!result.done) return result.why
    matched += result.matched
  }
  return matched > 0
}

/** Payloads of larger messages are on disk only. */
async function readPayload(store: Pick<Store, 'read'>, clientId: string): Promise<Uint8Array | undefined> {
  for await (const record of store.read({ kind: 'will', clientId })) {
    if (record.kind === 'will') return record.message.payload
  }
  return undefined
}
