// Clients of gateways.

import { randomBytes } from 'node:crypto'
import type { gatewayClientEndpoints } from './client-endpoints.ts'
import type { RequestOf } from '../../contract/index.ts'
import type { ClientFilter, ClientView, SubscriptionView } from '../../core/index.ts'
import { parseTopicFilter, type QoS, writeFilter } from '../../protocol/index.ts'
import {
  ApiError,
  refuseFor,
  quoteShortened,
  type Handlers,
  toShardUnavailableError,
  beginning,
  type ListPosition,
  type ListSlice,
  type ShardUnavailable,
} from '../../management/index.ts'
import { toBounds, parseClientFilter } from '../clients/parse-client-filter.ts'
import { toClientRecord } from '../clients/to-client-record.ts'
import type { GatewayResponse } from '../../gateways/index.ts'
import type { ConfiguredGateways } from './configured-gateways.ts'
import { findGateway } from './gateways.ts'
import type { ClientQueries } from '../clients/client-queries.ts'
import { type ActingDependencies, subscribeClient, unsubscribeClient } from '../publishing/act-for-client.ts'
import { refuseFailure } from '../publishing/publishing.ts'
import { readCoapRequest, encodePayload } from './coap-request.ts'

type Known = typeof gatewayClientEndpoints
type ClientsQuery = RequestOf<Known['get_gateway_clients']>['query']

const defaultLimit = 100
/** Maximum rows in one response of a shard. */
const sliceRows = 1_000
const idBytes = 4

export function createGatewayClientHandlers(
  gateways: ConfiguredGateways,
  clients: ClientQueries,
  node: ActingDependencies,
): Handlers<Known> {
  const findClient = async (name: string, clientId: string): Promise<ClientView | ApiError> => {
    const gateway = await findGateway(gateways, name)
    if (gateway instanceof ApiError) return gateway
    const found = await readRows(clients, { protocolName: gateway.protocolName, clientId }, { skip: 0, maxRows: 1 })
    if (found instanceof ApiError) return found
    return found.rows[0] ?? refuseUnknownClient(name, clientId)
  }
  /** Runs requests for clients of this gateway only. */
  const runForClient = async <Result>(
    { name, clientid }: { readonly name: string; readonly clientid: string },
    work: (client: ClientView) => Result | ApiError | Promise<Result | ApiError>,
  ): Promise<Result | ApiError> => {
    const client = await findClient(name, clientid)
    return client instanceof ApiError ? client : await work(client)
  }
  const send: SendToClient = (...request) => sendToClient(gateways, request)
  return {
    get_gateway_clients: async ({ params: { name }, query }) => {
      const gateway = await findGateway(gateways, name)
      if (gateway instanceof ApiError) return gateway
      return listGatewayClients(clients, query, gateway.protocolName)
    },
    get_gateway_client: ({ params }) => runForClient(params, (client) => toClientRecord(client, clients.nodeName)),
    kick_gateway_client: ({ params }) =>
      runForClient(params, async ({ clientId }) => {
        const outcome = await clients.kickOutClient(clientId, false)
        return typeof outcome === 'object' ? toShardUnavailableError(outcome) : { code: 0 as const }
      }),
    get_gateway_client_subscriptions: ({ params }) =>
      runForClient(params, ({ clientId }) => readSubscriptions(clients, clientId)),
    add_gateway_client_subscription: ({ params, body: { topic, qos = 0, nl = 0, rap = 0, rh = 0 } }) =>
      runForClient(params, async ({ clientId }) => {
        const filter = parseTopicFilter(topic)
        if (filter === undefined) return refuseFor('BAD_REQUEST', `${quoteShortened(topic)} is not a topic filter`)
        if (nl === 1 && filter.startsWith('$share/'))
          return refuseFor('BAD_REQUEST', 'a shared subscription has no nl [MQTT5-3.8.3-4]')
        const options = { noLocal: nl === 1, retainAsPublished: rap === 1, retainHandling: rh as 0 | 1 | 2 }
        const failure = await subscribeClient(node, { clientId, filters: [filter], qos: qos as QoS, options })
        return failure === undefined
          ? { code: 0 as const, topic, qos, nl, rap, rh }
          : refuseFailure(failure).withReason('BAD_REQUEST')
      }),
    remove_gateway_client_subscription: ({ params }) =>
      runForClient(params, async ({ clientId }) => {
        const filter = parseTopicFilter(params.topic)
        if (filter === undefined)
          return refuseFor('BAD_REQUEST', `${quoteShortened(params.topic)} is not a topic filter`)
        const failure = await unsubscribeClient(node, clientId, [filter])
        return failure === undefined ? { code: 0 as const } : refuseFailure(failure)
      }),
    send_coap_request: async ({ params: { clientid }, body }) => {
      const token = body.token ?? randomBytes(idBytes).toString('hex')
      const request = readCoapRequest({ ...body, token })
      if (request instanceof ApiError) return request
      const response = await send('coap', clientid, request)
      if (response instanceof ApiError) return response
      if (response.kind !== 'coap-response') return refuseWithoutResponse(clientid)
      const { messageId, code, payload } = response
      return { id: messageId, token, method: code, payload: encodePayload(payload, body.content_type) }
    },
    ...createLwm2mClientHandlers(send),
  }
}

type SendToClient = (...request: Parameters<ConfiguredGateways['request']>) => Promise<GatewayResponse | ApiError>
type Lwm2mNames = 'lookup_lwm2m_answer' | 'observe_lwm2m' | 'read_lwm2m' | 'write_lwm2m'

function createLwm2mClientHandlers(send: SendToClient): Pick<Handlers<Known>, Lwm2mNames> {
  const sendCommand = async (clientId: string, msgType: string, data: object): Promise<{ code: 0 } | ApiError> => {
    const reqID = randomBytes(idBytes).readUInt32BE()
    const document = { reqID, msgType, data }
    const response = await send('lwm2m', clientId, { kind: 'lwm2m-command', command: document })
    return response instanceof ApiError ? response : { code: 0 }
  }
  return {
    lookup_lwm2m_answer: async ({ params: { clientid }, query: { path, action } }) => {
      if (path === undefined || action === undefined) return refuseMissing('path and action')
      const response = await send('lwm2m', clientid, { kind: 'lwm2m-lookup', path, action })
      if (response instanceof ApiError) return response
      const document = response.kind === 'lwm2m-response' ? response.response : undefined
      return { code: 0, data: { clientid, path, action, ...readResponseFields(document) } }
    },
    observe_lwm2m: async ({ params: { clientid }, query: { path, enable } }) =>
      path === undefined || enable === undefined
        ? refuseMissing('path and enable')
        : sendCommand(clientid, enable ? 'observe' : 'cancel-observe', { path }),
    read_lwm2m: async ({ params: { clientid }, query: { path } }) =>
      path === undefined ? refuseMissing('path') : sendCommand(clientid, 'read', { path }),
    write_lwm2m: async ({ params: { clientid }, query: { path, type, value } }) =>
      path === undefined || type === undefined || value === undefined
        ? refuseMissing('path, type and value')
        : sendCommand(clientid, 'write', { path, type, value }),
  }
}

/** Returns the client's response; refuses if the client is not connected or does not respond. */
async function sendToClient(
  gateways: ConfiguredGateways,
  [name, clientId, request]: Parameters<ConfiguredGateways['request']>,
): Promise<GatewayResponse | ApiError> {
  const response = await gateways.request(name, clientId, request)
  if (response === undefined) return refuseUnknownClient(name, clientId)
  if ('unavailableShard' in response) return toShardUnavailableError(response)
  if (response.kind === 'no-response') return refuseWithoutResponse(clientId)
  return response.kind === 'refused' ? refuseFor('BAD_REQUEST', response.problem) : response
}

function refuseUnknownClient(name: string, clientId: string): ApiError {
  return refuseFor('CLIENT_NOT_FOUND', `the gateway ${name} has no client ${quoteShortened(clientId)}`)
}

function refuseWithoutResponse(clientId: string): ApiError {
  return refuseFor('CLIENT_NOT_RESPONSE', `the client ${quoteShortened(clientId)} did not respond in time`)
}

function refuseMissing(parameter: string): ApiError {
  return refuseFor('BAD_REQUEST', `the query needs ${parameter}`)
}

function readResponseFields(document: Readonly<Record<string, unknown>> | undefined): {
  code: string
  codeMsg: string
  content: unknown[]
} {
  const { code, codeMsg, content } = document ?? {}
  if (typeof code !== 'string' || typeof codeMsg !== 'string')
    return { code: '6.01', codeMsg: 'reply_not_received', content: [] }
  return { code, codeMsg, content: Array.isArray(content) ? (content as unknown[]) : [] }
}

/** With the conditions of the list of version 4, whose names start with `_`. */
async function listGatewayClients(clients: ClientQueries, query: ClientsQuery, protocolName: string) {
  const { page = 1, limit = defaultLimit, clientid, username, ip_address, conn_state, proto_ver, clean_start } = query
  const wanted = parseClientFilter(
    {
      clientid,
      username,
      ip_address,
      conn_state,
      proto_ver,
      clean_start,
      _like_clientid: query.like_clientid,
      _like_username: query.like_username,
      _gte_created_at: query.gte_created_at,
      _lte_created_at: query.lte_created_at,
      _gte_connected_at: query.gte_connected_at,
      _lte_connected_at: query.lte_connected_at,
    },
    {},
  )
  if (wanted instanceof ApiError) return wanted.withReason('BAD_REQUEST')
  const createMeta = (count: number) => ({ page, limit, count, hasnext: page * limit < count })
  if (wanted === 'nobody') return { data: [], meta: createMeta(0) }
  const { lifetime } = query
  const filter: ClientFilter = {
    ...wanted,
    protocolName,
    endpointName: query.endpoint_name,
    endpointNamePart: query.like_endpoint_name?.toLowerCase(),
    lifetimeSeconds: toBounds(query.gte_lifetime ?? lifetime, query.lte_lifetime ?? lifetime),
  }
  const found = await readRows(clients, filter, { skip: (page - 1) * limit, maxRows: limit })
  if (found instanceof ApiError) return found
  return { data: found.rows.map((client) => toClientRecord(client, clients.nodeName)), meta: createMeta(found.count) }
}

interface Rows {
  readonly rows: readonly ClientView[]
  /** Number of all matching ones. */
  readonly count: number
}

async function readRows(
  clients: ClientQueries,
  filter: ClientFilter,
  { skip, maxRows }: { readonly skip: number; readonly maxRows: number },
): Promise<Rows | ApiError> {
  const rows: ClientView[] = []
  let count = 0
  for (let at: ListPosition | undefined = beginning; at !== undefined;) {
    const wanted = { from: at, skip: 0, maxRows: sliceRows }
    const slice: ListSlice<ClientView> | ShardUnavailable = await clients.listClients(filter, wanted)
    if ('unavailableShard' in slice) return toShardUnavailableError(slice)
    for (const row of slice.rows) if (count++ >= skip && rows.length < maxRows) rows.push(row)
    at = slice.next
  }
  return { rows, count }
}

async function readSubscriptions(clients: ClientQueries, clientId: string) {
  const found: SubscriptionView[] = []
  for (let at: ListPosition | undefined = beginning; at !== undefined;) {
    const wanted = { from: at, skip: 0, maxRows: sliceRows }
    const slice: ListSlice<SubscriptionView> | ShardUnavailable = await clients.listSubscriptions({ clientId }, wanted)
    if ('unavailableShard' in slice) return toShardUnavailableError(slice)
    found.push(...slice.rows)
    at = slice.next
  }
  return found.map(({ filter, qos, noLocal, retainAsPublished, retainHandling }) => ({
    topic: writeFilter(filter),
    qos,
    nl: Number(noLocal),
    rap: Number(retainAsPublished),
    rh: retainHandling,
  }))
}
