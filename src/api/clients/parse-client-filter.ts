// Converts a query into a client filter.

import type { clientEndpoints } from './endpoints.ts'
import type { RequestOf } from '../../contract/index.ts'
import type { Bounds, ClientFilter } from '../../core/index.ts'
import { ApiError, refuse } from '../../management/index.ts'

export type ClientQuery = RequestOf<typeof clientEndpoints.list_clients>['query']

/** `nobody`: no client can match. */
export type WantedClients = ClientFilter | 'nobody'

const states = ['connected', 'disconnected', 'idle']

/** `path`: conditions of the path. */
export function parseClientFilter(query: ClientQuery, path: ClientFilter): WantedClients | ApiError {
  const state = query.conn_state?.toLowerCase()
  if (state !== undefined && !states.includes(state)) {
    return refuse('invalidParameter', `conn_state in the query is one of ${states.join(', ')}`)
  }
  const { _like_clientid: clientIdPart, _like_username: usernamePart } = query
  const { _gte_mqueue_len: minWaiting, _lte_mqueue_len: maxWaiting } = query
  const { _gte_mqueue_dropped: minDropped, _lte_mqueue_dropped: maxDropped } = query
  const createdAtMs = parseTimeBounds(query, '_gte_created_at', '_lte_created_at')
  const connectedAtMs = parseTimeBounds(query, '_gte_connected_at', '_lte_connected_at')
  if (createdAtMs instanceof ApiError) return createdAtMs
  if (connectedAtMs instanceof ApiError) return connectedAtMs
  const clientId = findCommonValue(query.clientid, query.client_id, path.clientId)
  const username = findCommonValue(query.username, path.username)
  const isConnected = findCommonValue(query.connected, state === undefined ? undefined : state === 'connected')
  if (clientId.differ || username.differ || isConnected.differ || state === 'idle') return 'nobody'
  return {
    clientId: clientId.value,
    username: username.value,
    isConnected: isConnected.value,
    cleanStart: query.clean_start,
    version: query.proto_ver,
    protocolName: query.proto_name,
    address: query.ip_address,
    isInternal: query.internal,
    clientIdPart: clientIdPart?.toLowerCase(),
    usernamePart: usernamePart?.toLowerCase(),
    createdAtMs,
    connectedAtMs,
    waiting: toBounds(minWaiting, maxWaiting),
    droppedMessages: toBounds(minDropped, maxDropped),
  }
}

/** If several keys have the same meaning, all of them must agree. */
export function findCommonValue<Value>(...values: readonly (Value | undefined)[]): {
  value: Value | undefined
  differ: boolean
} {
  const [value, ...others] = values.filter((one) => one !== undefined)
  return { value, differ: others.some((other) => other !== value) }
}

export function toBounds(min: number | undefined, max: number | undefined): Bounds | undefined {
  return min === undefined && max === undefined ? undefined : { min, max }
}

type TimeKey = '_gte_created_at' | '_lte_created_at' | '_gte_connected_at' | '_lte_connected_at'

function parseTimeBounds(query: ClientQuery, minKey: TimeKey, maxKey: TimeKey): Bounds | undefined | ApiError {
  const [minText, maxText] = [query[minKey], query[maxKey]]
  const min = minText === undefined ? undefined : parseTime(minText)
  const max = maxText === undefined ? undefined : parseTime(maxText)
  if (minText !== undefined && min === undefined) return refuseTime(minKey)
  if (maxText !== undefined && max === undefined) return refuseTime(maxKey)
  return toBounds(min?.firstMs, max?.lastMs)
}

function refuseTime(key: TimeKey): ApiError {
  return refuse('invalidParameter', `${key} in the query is seconds since 1970 or a time as YYYY-MM-DD HH:mm:ss`)
}

/** Larger numbers are milliseconds, not seconds. */
const maxSeconds = 100_000_000_000
const msPerSecond = 1_000

/** A second is a range of a thousand milliseconds: a client that connected within it is neither before nor after it. */
function parseTime(text: string): { readonly firstMs: number; readonly lastMs: number } | undefined {
  if (/^\d{1,15}$/.test(text)) {
    const number = Number(text)
    return number < maxSeconds ? toSecond(number * msPerSecond) : { firstMs: number, lastMs: number }
  }
  const isTime = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$/.test(text)
  const atMs = isTime ? Date.parse(text.replace(' ', 'T')) : Number.NaN
  return Number.isNaN(atMs) ? undefined : toSecond(atMs)
}

function toSecond(firstMs: number): { firstMs: number; lastMs: number } {
  return { firstMs, lastMs: firstMs + msPerSecond - 1 }
}
