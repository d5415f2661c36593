import type { clientEndpoints } from '../../contract/index.ts'
import type { ClientFilter, ClientView } from '../../core/index.ts'
import type { Handlers } from '../handler.ts'
import { answerList, type ListSource, refuseSilent } from '../lists/answer-list.ts'
import { clientFilterOf, type ClientQuery, type WantedClients } from '../lists/client-query.ts'
import { clientRecord } from '../lists/client-record.ts'
import { otherNode } from '../lists/other-node.ts'
import { beginning, pagingOf } from '../lists/paging.ts'
import type { ClientOperations } from '../operations/clients.ts'
import type { ListPosition, ListSlice, Unanswered } from '../operations/lists.ts'
import { type Refusal, refuse, Refusal as RefusalValue } from '../api-error.ts'
import type { WrittenJson } from '../json-text.ts'

export function clientHandlers(clients: ClientOperations): Handlers<typeof clientEndpoints> {
  return {
    list_clients: ({ query }) => listClients(clients, query, {}),
    lookup_client: ({ params, query }) => listClients(clients, query, { clientId: params.clientid }),
    lookup_client_via_username: ({ params, query }) => listClients(clients, query, { username: params.username }),
    list_node_clients: ({ params, query }) => otherNode(clients, params.node) ?? listClients(clients, query, {}),
    lookup_node_client: ({ params, query }) =>
      otherNode(clients, params.node) ?? listClients(clients, query, { clientId: params.clientid }),
    lookup_node_client_via_username: ({ params, query }) =>
      otherNode(clients, params.node) ?? listClients(clients, query, { username: params.username }),
    kickout_node_client: async ({ params: { node, clientid }, query }) =>
      otherNode(clients, node) ?? doneOr(await clients.kick(clientid, query.session === true), clientid),
    kickout_client: async ({ params: { clientid }, query }) =>
      doneOr(await clients.kick(clientid, query.session === true), clientid),
    set_keepalive: async ({ params: { clientid }, body }) =>
      doneOr(await clients.changeKeepAlive(clientid, body.interval), clientid),
    list_acl_cache: async ({ params: { clientid } }) => {
      const found = await clients.verdicts(clientid)
      if (found === false) return refuseOffline(clientid)
      if ('silentShard' in found) return refuseSilent(found)
      const data = found.map(({ permission, ...what }) => ({ access: 'publish', ...what, result: permission }) as const)
      return { code: 0, data }
    },
    clean_acl_cache_all: () => forgetAllVerdicts(clients),
    clean_node_acl_cache: ({ params }) => otherNode(clients, params.node) ?? forgetAllVerdicts(clients),
    clean_acl_cache: async ({ params: { clientid } }) => doneOr(await clients.forgetVerdicts(clientid), clientid),
  }
}

/** So many clients at a time are told to forget. */
const clientsTogether = 64

/** Slice by slice, so that everybody else has a turn between. Whoever comes meanwhile has nothing to forget. */
async function forgetAllVerdicts(clients: ClientOperations): Promise<{ code: 0 } | Refusal> {
  for (let at: ListPosition | undefined = beginning; at !== undefined;) {
    const wanted = { from: at, skip: 0, most: clientsTogether }
    const slice: ListSlice<ClientView> | Unanswered = await clients.clients({ isConnected: true }, wanted)
    if ('silentShard' in slice) return refuseSilent(slice)
    const told = await Promise.all(slice.rows.map(({ clientId }) => clients.forgetVerdicts(clientId)))
    const silent = told.find((outcome) => typeof outcome === 'object')
    if (silent !== undefined) return refuseSilent(silent)
    at = slice.next
  }
  return { code: 0 }
}

async function listClients(
  clients: ClientOperations,
  query: ClientQuery,
  path: ClientFilter,
): Promise<WrittenJson | Refusal> {
  const filter = clientFilterOf(query, path)
  if (filter instanceof RefusalValue) return filter
  const paging = pagingOf(query)
  return paging instanceof RefusalValue ? paging : answerList(sourceOf(clients, filter), paging)
}

function sourceOf(clients: ClientOperations, filter: WantedClients): ListSource<ClientView> {
  const record = (client: ClientView): object => clientRecord(client, clients.nodeName)
  if (filter === 'nobody') return { record, slice: async () => ({ rows: [], passed: 0, next: undefined }) }
  const slice: ListSource<ClientView>['slice'] = (wanted) => clients.clients(filter, wanted)
  const isForAll = Object.values(filter).every((condition) => condition === undefined)
  return isForAll ? { record, slice, count: () => clients.countClients() } : { record, slice }
}

function doneOr(isDone: boolean | Unanswered, clientId: string): { code: 0 } | Refusal {
  if (typeof isDone === 'object') return refuseSilent(isDone)
  return isDone ? { code: 0 } : refuseOffline(clientId)
}

function refuseOffline(clientId: string): Refusal {
  return refuse('clientOffline', `the client ${JSON.stringify(clientId)} is not connected`)
}
