// Subscriptions.

import type { RequestOf } from '../../contract/index.ts'
import type { subscriptionEndpoints } from './endpoints.ts'
import type { SubscriptionFilter, SubscriptionView } from '../../core/index.ts'
import { removeFilterPrefix, parseTopicFilter, writeFilter } from '../../protocol/index.ts'
import {
  type Handlers,
  replyWithList,
  type ListSource,
  toShardUnavailableError,
  checkNodeName,
  beginning,
  parsePaging,
  type ListPosition,
  type ListSlice,
  type ShardUnavailable,
  ApiError,
  type JsonText,
} from '../../management/index.ts'
import { toClientName } from '../context/client-name.ts'
import { findCommonValue } from '../clients/parse-client-filter.ts'
import { replyWithTopicTree } from './reply-with-topic-tree.ts'
import type { ClientQueries } from '../clients/client-queries.ts'

type SubscriptionQuery = RequestOf<typeof subscriptionEndpoints.list_subscriptions>['query']

export function createSubscriptionHandlers(clients: ClientQueries): Handlers<typeof subscriptionEndpoints> {
  return {
    list_subscriptions: ({ query }) => listSubscriptions(clients, query, undefined),
    lookup_client_subscriptions: ({ params, query }) => listSubscriptions(clients, query, params.clientid),
    list_node_subscriptions: ({ params, query }) =>
      checkNodeName(clients, params.node) ?? listSubscriptions(clients, query, undefined),
    lookup_node_client_subscriptions: ({ params, query }) =>
      checkNodeName(clients, params.node) ?? listSubscriptions(clients, query, params.clientid),
    'list_topic-tree': () => replyWithTopicTree(clients),
    list_routes: ({ query }) => {
      const paging = parsePaging(query)
      return paging instanceof ApiError ? paging : replyWithList(createRouteSource(clients), paging)
    },
    lookup_routes: async ({ params: { topic } }) => {
      const found = await findFirst(clients, { bareFilter: topic })
      if (found !== undefined && 'unavailableShard' in found) return toShardUnavailableError(found)
      return { code: 0, data: found === undefined ? [] : [{ topic, node: clients.nodeName }] }
    },
  }
}

async function listSubscriptions(
  clients: ClientQueries,
  query: SubscriptionQuery,
  ofClient: string | undefined,
): Promise<JsonText | ApiError> {
  const paging = parsePaging(query)
  if (paging instanceof ApiError) return paging
  const clientId = findCommonValue(query.clientid, query.client_id, ofClient)
  const { topic, qos, share, shared: isShared, _match_topic: matching } = query
  // `$queue/filter` is stored as a shared filter.
  const stored = topic === undefined ? undefined : (parseTopicFilter(topic) ?? topic)
  const filter = { clientId: clientId.value, filter: stored, qos, group: share, isShared, matching }
  return replyWithList(clientId.differ ? nothing : createSource(clients, filter), paging)
}

const nothing: ListSource<never> = {
  readSlice: async () => ({ rows: [], passed: 0, next: undefined }),
  toRecord: (row) => row,
}

function createSource(clients: ClientQueries, subscriptionFilter: SubscriptionFilter): ListSource<SubscriptionView> {
  return {
    readSlice: (rows) => clients.listSubscriptions(subscriptionFilter, rows),
    toRecord: ({ clientId, filter, qos }) => ({
      ...toClientName(clientId),
      topic: writeFilter(filter),
      qos,
      node: clients.nodeName,
    }),
  }
}

/** A topic is listed at the subscription that represents it, so a later page continues correctly. */
function createRouteSource(clients: ClientQueries): ListSource<SubscriptionView> {
  return {
    readSlice: (rows) => clients.listSubscriptions({ isOnePerTopic: true }, rows),
    toRecord: ({ filter }) => ({ topic: removeFilterPrefix(filter), node: clients.nodeName }),
  }
}

async function findFirst(
  clients: ClientQueries,
  filter: SubscriptionFilter,
): Promise<SubscriptionView | ShardUnavailable | undefined> {
  let at: ListPosition | undefined = beginning
  while (at !== undefined) {
    const slice: ListSlice<SubscriptionView> | ShardUnavailable = await clients.listSubscriptions(filter, {
      from: at,
      skip: 0,
      maxRows: 1,
    })
    if ('unavailableShard' in slice) return slice
    const [row] = slice.rows
    if (row !== undefined) return row
    at = slice.next
  }
  return undefined
}
