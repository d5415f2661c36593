// Delayed messages: operations of the node, and handlers.

import type { delayedEndpoints } from './endpoints.ts'
import type { ReplyOf, Caller } from '../../contract/index.ts'
import { refuseFor, type ApiError, type Handlers, clientName } from '../../management/index.ts'
import { refusalOf } from '../rules/rules.ts'
import type { RuleProblem } from '../context/setting-writer.ts'

export interface DelayedSettings {
  readonly enable: boolean
  readonly max_delayed_messages: number
}

/** A message that is not published yet. */
export interface DelayedRow {
  readonly id: string
  readonly dueAtMs: number
  readonly topic: string
  readonly qos: 0 | 1 | 2
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly publishedAtMs: number
  readonly payloadBytes: number
}

/** Delayed messages, for the API. Undefined instead of a result: a shard does not respond. */
export interface DelayedOperations {
  readonly nodeName: string
  settings(): DelayedSettings
  changeSettings(settings: Partial<DelayedSettings>, by: Caller): Promise<RuleProblem | undefined>
  list(
    skip: number,
    maxRows: number,
  ): Promise<{ readonly count: number; readonly rows: readonly DelayedRow[] } | undefined>
  /** null: no message has that ID. */
  find(id: string): Promise<(DelayedRow & { readonly payload: Uint8Array }) | null | undefined>
  /** False: no message has that ID. A text: why it was not deleted. */
  remove(id: string): Promise<boolean | string | undefined>
}

type Known = typeof delayedEndpoints
type Written = ReplyOf<Known['list_delayed_messages']>['data'][number]

const defaultLimit = 100
const msPerSecond = 1_000

/** Handlers of delayed messages. */
export function delayedHandlers(delayed: DelayedOperations): Handlers<Known> {
  const isHere = (node: string): boolean => node === delayed.nodeName
  return {
    get_delayed: () => delayed.settings(),
    change_delayed: async ({ body, caller }) => {
      const problem = await delayed.changeSettings(body, caller)
      return problem === undefined ? delayed.settings() : refusalOf(problem)
    },
    list_delayed_messages: async ({ query: { page = 1, limit = defaultLimit } }) => {
      const found = await delayed.list((page - 1) * limit, limit)
      if (found === undefined) return shardUnavailable()
      const { count, rows } = found
      const data = rows.map((row) => written(row, delayed.nodeName))
      return { data, meta: { page, limit, count, hasnext: page * limit < count } }
    },
    get_delayed_message: async ({ params: { node, msgid } }) => {
      const found = isHere(node) ? await delayed.find(msgid) : null
      if (found === undefined) return shardUnavailable()
      if (found === null) return absent(node, msgid)
      return { ...written(found, node), payload: Buffer.from(found.payload).toString('base64') }
    },
    delete_delayed_message: async ({ params: { node, msgid } }) => {
      const removed = isHere(node) ? await delayed.remove(msgid) : false
      if (removed === undefined) return shardUnavailable()
      if (typeof removed === 'string') return refuseFor('INTERNAL_ERROR', `the message stays: ${removed}`)
      return removed ? null : absent(node, msgid)
    },
  }
}

function shardUnavailable(): ApiError {
  return refuseFor('SERVICE_UNAVAILABLE', 'a shard is restarting: retry')
}

function absent(node: string, msgid: string): ApiError {
  return refuseFor(
    'NOT_FOUND',
    `there is no delayed message ${JSON.stringify(msgid)} on the node ${JSON.stringify(node)}`,
  )
}

function written(row: DelayedRow, node: string): Written {
  const { dueAtMs, publishedAtMs } = row
  return {
    msgid: row.id,
    node,
    publish_at: new Date(publishedAtMs).toISOString(),
    expected_at: new Date(dueAtMs).toISOString(),
    delayed_interval: Math.max(0, Math.round((dueAtMs - publishedAtMs) / msPerSecond)),
    delayed_remaining: Math.max(0, Math.ceil((dueAtMs - Date.now()) / msPerSecond)),
    topic: row.topic,
    qos: row.qos,
    payload_bytes: row.payloadBytes,
    from_clientid: clientName(row.publisher).clientid,
    from_username: row.publisherUsername ?? '',
  }
}
