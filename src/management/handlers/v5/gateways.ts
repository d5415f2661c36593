import type { gatewayEndpoints, ReplyOf } from '../../../contract/index.ts'
import type { ClientFilter, ClientView } from '../../../core/index.ts'
import { type ApiError, ApiError as RefusalValue, refuseFor } from '../../api-error.ts'
import type { Handlers } from '../../handler.ts'
import { shardUnavailableError } from '../../lists/answer-list.ts'
import { clientRecord } from '../../lists/client-record.ts'
import { beginning } from '../../lists/paging.ts'
import type { ClientOperations } from '../../operations/clients.ts'
import type { Gateway, GatewayOperations } from '../../operations/gateways.ts'
import type { ListPosition } from '../../operations/lists.ts'
import { refusalOf } from './rules.ts'

type Known = typeof gatewayEndpoints
type Written = ReplyOf<Known['get_gateways']>[number]

const defaultLimit = 100
/** Rows at most in one answer of a shard. */
const sliceRows = 1_000

export function gatewayHandlers(gateways: GatewayOperations, clients: ClientOperations): Handlers<Known> {
  const all = async (): Promise<readonly Gateway[] | ApiError> => {
    const found = await gateways.gateways()
    return 'silentShard' in found ? shardUnavailableError(found) : found
  }
  const find = async (name: string): Promise<Gateway | ApiError> => {
    const found = await all()
    if (found instanceof RefusalValue) return found
    const gateway = found.find((one) => one.name === name)
    const known = found.map((one) => one.name).join(', ')
    return gateway ?? refuseFor('NOT_FOUND', `there is no gateway ${name}: the gateways are ${known}`)
  }
  const clientOf = async (name: string, clientId: string): Promise<ClientView | ApiError> => {
    const gateway = await find(name)
    if (gateway instanceof RefusalValue) return gateway
    const found = await rowsOf(clients, { protocolName: gateway.protocolName, clientId }, { skip: 0, most: 1 })
    if (found instanceof RefusalValue) return found
    return found.rows[0] ?? refuseFor('CLIENT_NOT_FOUND', `the gateway ${name} has no client ${clientId}`)
  }
  return {
    get_gateways: async ({ query: { status } }) => {
      const found = await all()
      if (found instanceof RefusalValue) return found
      return found.filter((one) => status === undefined || one.status === status).map(written)
    },
    get_gateway: async ({ params: { name } }) => {
      const gateway = await find(name)
      return gateway instanceof RefusalValue ? gateway : { ...written(gateway), configuration: gateway.settings }
    },
    change_gateway: async ({ params: { name }, body, caller }) => {
      const gateway = await find(name)
      if (gateway instanceof RefusalValue) return gateway
      const problem = await gateways.change(name, body, caller)
      return problem === undefined ? null : refusalOf(problem)
    },
    enable_gateway: async ({ params: { name, enable }, caller }) => {
      const gateway = await find(name)
      if (gateway instanceof RefusalValue) return gateway
      const problem = await gateways.enable(name, enable === 'true', caller)
      return problem === undefined ? null : refusalOf(problem)
    },
    get_gateway_clients: async ({ params: { name }, query }) => {
      const gateway = await find(name)
      if (gateway instanceof RefusalValue) return gateway
      const { page = 1, limit = defaultLimit, clientid, username, ip_address: address } = query
      const filter = {
        protocolName: gateway.protocolName,
        clientId: clientid,
        username,
        address,
        clientIdPart: query.like_clientid,
        usernamePart: query.like_username,
      }
      const found = await rowsOf(clients, filter, { skip: (page - 1) * limit, most: limit })
      if (found instanceof RefusalValue) return found
      const data = found.rows.map((client) => clientRecord(client, clients.nodeName))
      return { data, meta: { page, limit, count: found.count, hasnext: page * limit < found.count } }
    },
    get_gateway_client: async ({ params: { name, clientid } }) => {
      const client = await clientOf(name, clientid)
      return client instanceof RefusalValue ? client : clientRecord(client, clients.nodeName)
    },
    kick_gateway_client: async ({ params: { name, clientid } }) => {
      const client = await clientOf(name, clientid)
      if (client instanceof RefusalValue) return client
      const outcome = await clients.kick(clientid, false)
      return typeof outcome === 'object' ? shardUnavailableError(outcome) : null
    },
  }
}

interface Rows {
  readonly rows: readonly ClientView[]
  /** Of all that fulfil the filter. */
  readonly count: number
}

async function rowsOf(
  clients: ClientOperations,
  filter: ClientFilter,
  { skip, most }: { readonly skip: number; readonly most: number },
): Promise<Rows | ApiError> {
  const rows: ClientView[] = []
  let count = 0
  for (let at: ListPosition | undefined = beginning; at !== undefined;) {
    const wanted = { from: at, skip: 0, most: sliceRows }
    const slice: Awaited<ReturnType<ClientOperations['clients']>> = await clients.clients(filter, wanted)
    if ('silentShard' in slice) return shardUnavailableError(slice)
    for (const row of slice.rows) if (count++ >= skip && rows.length < most) rows.push(row)
    at = slice.next
  }
  return { rows, count }
}

function written({ name, protocolName, status, listeners, counters }: Gateway): Written {
  return {
    name,
    proto_name: protocolName,
    status,
    max_connections: listeners.reduce((sum, { maxClients }) => sum + maxClients, 0),
    current_connections: listeners.reduce((sum, { clients }) => sum + clients, 0),
    listeners: listeners.map((listener) => ({
      id: `${name}:${listener.type}:${listener.name}`,
      type: listener.type,
      name: listener.name,
      bind: listener.bind,
      running: listener.isOpen,
      max_connections: listener.maxClients,
      current_connections: listener.clients,
    })),
    metrics: counters,
  }
}
