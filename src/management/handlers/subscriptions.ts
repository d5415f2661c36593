import type { RequestOf, subscriptionEndpoints } from '../../contract/index.ts'
import type { SubscriptionFilter, SubscriptionView } from '../../core/index.ts'
import type { Handlers } from '../handler.ts'
import { answerList, type ListSource } from '../lists/answer-list.ts'
import { clientName } from '../lists/client-name.ts'
import { theSame } from '../lists/client-query.ts'
import { otherNode } from '../lists/other-node.ts'
import { pagingOf } from '../lists/paging.ts'
import { answerRoutes, answerTopicTree, routeOf } from '../lists/whole-tree.ts'
import type { ClientOperations } from '../operations/clients.ts'
import { type Refusal, Refusal as RefusalValue } from '../refusal.ts'
import type { WrittenJson } from '../written-json.ts'

type SubscriptionQuery = RequestOf<typeof subscriptionEndpoints.list_subscriptions>['query']

export function subscriptionHandlers(clients: ClientOperations): Handlers<typeof subscriptionEndpoints> {
  return {
    list_subscriptions: ({ query }) => listSubscriptions(clients, query, undefined),
    lookup_client_subscriptions: ({ params, query }) => listSubscriptions(clients, query, params.clientid),
    list_node_subscriptions: ({ params, query }) =>
      otherNode(clients, params.node) ?? listSubscriptions(clients, query, undefined),
    'list_topic-tree': () => answerTopicTree(clients),
    list_routes: ({ query }) => {
      const paging = pagingOf(query)
      return paging instanceof RefusalValue ? paging : answerRoutes(clients, paging)
    },
    lookup_routes: ({ params }) => routeOf(clients, params.topic),
  }
}

async function listSubscriptions(
  clients: ClientOperations,
  query: SubscriptionQuery,
  ofClient: string | undefined,
): Promise<WrittenJson | Refusal> {
  const paging = pagingOf(query)
  if (paging instanceof RefusalValue) return paging
  const clientId = theSame(query.clientid, query.client_id, ofClient)
  const { topic, qos, share, _match_topic: matching } = query
  const filter = { clientId: clientId.value, filter: topic, qos, group: share, matching }
  return answerList(clientId.differ ? nothing : sourceOf(clients, filter), paging)
}

const nothing: ListSource<never> = {
  slice: async () => ({ rows: [], passed: 0, next: undefined }),
  record: (row) => row,
}

function sourceOf(clients: ClientOperations, wanted: SubscriptionFilter): ListSource<SubscriptionView> {
  return {
    slice: (rows) => clients.subscriptions(wanted, rows),
    record: ({ clientId, filter, qos }) => ({ ...clientName(clientId), topic: filter, qos, node: clients.nodeName }),
  }
}
