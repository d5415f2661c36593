// Clients.

import { maxRowsPerPage } from '../../contract/index.ts'
import type { clientEndpoints, clientOrderNames } from './endpoints.ts'
import type { ClientFilter, ClientNumber, ClientView } from '../../core/index.ts'
import {
  type Handlers,
  replyWithList,
  replyWithRows,
  type Paging,
  type ListSource,
  toShardUnavailableError,
  checkNodeName,
  beginning,
  parsePaging,
  type ListPosition,
  type ListSlice,
  type ShardUnavailable,
  ApiError,
  refuse,
  type JsonText,
} from '../../management/index.ts'
import { parseClientFilter, type ClientQuery, type WantedClients } from './parse-client-filter.ts'
import type { ClientQueries } from './client-queries.ts'
import { toClientRecord } from './to-client-record.ts'
import { toClientName } from '../context/client-name.ts'

export function createClientHandlers(clients: ClientQueries): Handlers<typeof clientEndpoints> {
  return {
    list_clients: ({ query }) => listClients(clients, query, {}),
    list_busy_clients: async ({ query: { order_by: order = 'recv_msg_rate', seconds = 2, _limit: maxRows = 20 } }) => {
      const busy = await clients.listBusyClients({
        by: numbersOfRates[order],
        measuredMs: seconds * msPerSecond,
        maxRows,
      })
      const data = busy.map((rates) => ({
        ...toClientName(rates.clientId),
        recv_msg_rate: rates.receivedMessages,
        send_msg_rate: rates.sentMessages,
        recv_oct_rate: rates.receivedBytes,
        send_oct_rate: rates.sentBytes,
      }))
      return { code: 0, data }
    },
    lookup_client: ({ params, query }) => listClients(clients, query, { clientId: params.clientid }),
    lookup_client_via_username: ({ params, query }) => listClients(clients, query, { username: params.username }),
    list_node_clients: ({ params, query }) => checkNodeName(clients, params.node) ?? listClients(clients, query, {}),
    lookup_node_client: ({ params, query }) =>
      checkNodeName(clients, params.node) ?? listClients(clients, query, { clientId: params.clientid }),
    lookup_node_client_via_username: ({ params, query }) =>
      checkNodeName(clients, params.node) ?? listClients(clients, query, { username: params.username }),
    kickout_node_client: async ({ params: { node, clientid }, query }) =>
      checkNodeName(clients, node) ??
      toOutcomeResponse(await clients.kickOutClient(clientid, query.session === true), clientid),
    kickout_client: async ({ params: { clientid }, query }) =>
      toOutcomeResponse(await clients.kickOutClient(clientid, query.session === true), clientid),
    set_keepalive: async ({ params: { clientid }, body }) =>
      toOutcomeResponse(await clients.setKeepAlive(clientid, body.interval), clientid),
    list_acl_cache: async ({ params: { clientid } }) => {
      const found = await clients.listCachedAuthorizations(clientid)
      if (found === false) return refuseOffline(clientid)
      if ('unavailableShard' in found) return toShardUnavailableError(found)
      const data = found.map(
        ({ permission, ...action }) => ({ access: 'publish', ...action, result: permission }) as const,
      )
      return { code: 0, data }
    },
    clean_acl_cache_all: () => clearAuthorizationCaches(clients),
    clean_node_acl_cache: ({ params }) => checkNodeName(clients, params.node) ?? clearAuthorizationCaches(clients),
    clean_acl_cache: async ({ params: { clientid } }) =>
      toOutcomeResponse(await clients.clearAuthorizationCache(clientid), clientid),
  }
}

/** Maximum number of clients whose cache is cleared at once. */
const maxClientsAtOnce = 64

/** In slices, so that other requests are served in between. Clients that connect meanwhile have an empty cache. */
async function clearAuthorizationCaches(clients: ClientQueries): Promise<{ code: 0 } | ApiError> {
  for (let at: ListPosition | undefined = beginning; at !== undefined;) {
    const wanted = { from: at, skip: 0, maxRows: maxClientsAtOnce }
    const slice: ListSlice<ClientView> | ShardUnavailable = await clients.listClients({ isConnected: true }, wanted)
    if ('unavailableShard' in slice) return toShardUnavailableError(slice)
    const outcomes = await Promise.all(slice.rows.map(({ clientId }) => clients.clearAuthorizationCache(clientId)))
    const unavailable = outcomes.find((outcome) => typeof outcome === 'object')
    if (unavailable !== undefined) return toShardUnavailableError(unavailable)
    at = slice.next
  }
  return { code: 0 }
}

async function listClients(
  clients: ClientQueries,
  query: ClientQuery,
  path: ClientFilter,
): Promise<JsonText | ApiError> {
  const filter = parseClientFilter(query, path)
  if (filter instanceof ApiError) return filter
  const paging = parsePaging(query)
  if (query.order_by !== undefined) return listInOrder(clients, filter, { order: query.order_by, paging })
  return paging instanceof ApiError ? paging : replyWithList(createSource(clients, filter), paging)
}

const msPerSecond = 1_000

const numbersOfRates = {
  recv_msg_rate: 'receivedMessages',
  send_msg_rate: 'sentMessages',
  recv_oct_rate: 'receivedBytes',
  send_oct_rate: 'sentBytes',
} as const

const numbersOfOrders = {
  mqueue_len: 'waiting',
  mqueue_dropped: 'droppedMessages',
  inflight: 'inflight',
  subscriptions_cnt: 'subscriptions',
  recv_msg: 'receivedMessages',
  send_msg: 'sentMessages',
  recv_oct: 'receivedBytes',
  send_oct: 'sentBytes',
  created_at: 'createdAtMs',
  connected_at: 'connectedAtMs',
} as const satisfies Record<(typeof clientOrderNames)[number], ClientNumber>

async function listInOrder(
  clients: ClientQueries,
  filter: WantedClients,
  { order, paging }: { readonly order: NonNullable<ClientQuery['order_by']>; readonly paging: Paging | ApiError },
): Promise<JsonText | ApiError> {
  if (paging instanceof ApiError) return paging
  if (paging.part !== 'page')
    return refuse('invalidParameter', 'order_by orders pages: request one by _page and _limit')
  const { page, limit } = paging
  const maxRows = page * limit
  if (maxRows > maxRowsPerPage)
    return refuse('invalidParameter', `order_by: the last row of the page must be at most number ${maxRowsPerPage}`)
  const toRecord = (client: ClientView): object => toClientRecord(client, clients.nodeName)
  if (filter === 'nobody') return replyWithRows([], { toRecord, page, limit, count: 0 })
  const isDescending = order.startsWith('-')
  const by = numbersOfOrders[(isDescending ? order.slice(1) : order) as keyof typeof numbersOfOrders]
  const found = await clients.listRankedClients(filter, { by, isDescending, maxRows })
  if ('unavailableShard' in found) return toShardUnavailableError(found)
  return replyWithRows(found.rows.slice(maxRows - limit), { toRecord, page, limit, count: found.count })
}

function createSource(clients: ClientQueries, filter: WantedClients): ListSource<ClientView> {
  const toRecord = (client: ClientView): object => toClientRecord(client, clients.nodeName)
  if (filter === 'nobody') return { toRecord, readSlice: async () => ({ rows: [], passed: 0, next: undefined }) }
  const readSlice: ListSource<ClientView>['readSlice'] = (range) => clients.listClients(filter, range)
  const isForAll = Object.values(filter).every((condition) => condition === undefined)
  return isForAll ? { toRecord, readSlice, count: () => clients.countClients() } : { toRecord, readSlice }
}

function toOutcomeResponse(isDone: boolean | ShardUnavailable, clientId: string): { code: 0 } | ApiError {
  if (typeof isDone === 'object') return toShardUnavailableError(isDone)
  return isDone ? { code: 0 } : refuseOffline(clientId)
}

function refuseOffline(clientId: string): ApiError {
  return refuse('clientOffline', `the client ${JSON.stringify(clientId)} is not connected`)
}
