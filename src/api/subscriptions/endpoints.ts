// Subscriptions as a list, as a tree, and as topics.

import { responseWith, endpoint, listing, listOf, pagingQuery, Type } from '../../contract/index.ts'

const subscription = Type.Object({
  namespace: Type.Optional(Type.String({ description: 'Namespace of the client; absent: none.' })),
  clientid: Type.String(),
  topic: Type.String({ description: 'Topic filter as the client subscribed to it, including `$share/group/`.' }),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  node: Type.String(),
})

/** All conditions must hold. */
const subscriptionQuery = Type.Object({
  clientid: Type.Optional(Type.String({ description: 'Client identifier.' })),
  client_id: Type.Optional(Type.String({ description: 'Another name for `clientid`.' })),
  topic: Type.Optional(
    Type.String({
      description: 'Topic filter as the client subscribed to it. With `share`, the part after the group is sufficient.',
    }),
  ),
  qos: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
  share: Type.Optional(Type.String({ description: 'Group of a shared subscription.' })),
  shared: Type.Optional(Type.Boolean({ description: '`true`: shared subscriptions only; `false`: the others.' })),
  _match_topic: Type.Optional(
    Type.String({
      description: 'Topic that the subscription matches, or a filter with wildcards that covers the subscription.',
    }),
  ),
  ...pagingQuery,
})

const subscriptionList = listing(subscriptionQuery, subscription)

const route = Type.Object({ topic: Type.String(), node: Type.String() })
const routeList = listOf(route)

const treeNode = Type.Object({
  topic: Type.String({ description: 'One level of the topic; empty at the root.' }),
  cld_cnt: Type.Integer({ minimum: 0, description: 'Number of levels directly below this level.' }),
  clientid: Type.Optional(
    Type.Array(Type.String(), { description: 'Client IDs with a subscription to exactly this filter; absent: none.' }),
  ),
})

export const subscriptionEndpoints = {
  list_subscriptions: endpoint({
    ...subscriptionList,
    path: '/subscriptions',
    summary: 'Lists the subscriptions of clients. With conditions, a subscription must meet all of them.',
  }),
  lookup_client_subscriptions: endpoint({
    ...subscriptionList,
    path: '/subscriptions/:clientid',
    summary: 'Lists the subscriptions of a client.',
    params: Type.Object({ clientid: Type.String() }),
  }),
  list_node_subscriptions: endpoint({
    ...subscriptionList,
    path: '/nodes/:node/subscriptions',
    summary: 'Lists the subscriptions of the clients of a node.',
    params: Type.Object({ node: Type.String() }),
  }),
  lookup_node_client_subscriptions: endpoint({
    ...subscriptionList,
    path: '/nodes/:node/subscriptions/:clientid',
    summary: 'Lists the subscriptions of a client of a node.',
    params: Type.Object({ node: Type.String(), clientid: Type.String() }),
  }),
  'list_topic-tree': endpoint({
    method: 'GET',
    path: '/topic-tree',
    summary: 'Returns the subscriptions as a tree of topic levels.',
    reply: responseWith(Type.Array(Type.Array(treeNode))),
    failures: ['rpcError', 'unknownError'],
    access: 'read',
    isForNamespaces: true,
  }),
  list_routes: endpoint({
    method: 'GET',
    path: '/routes',
    summary: 'Lists the topic filters with subscriptions.',
    query: Type.Object(pagingQuery),
    unknownQuery: 'refuse',
    reply: routeList,
    failures: ['rpcError', 'invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
  lookup_routes: endpoint({
    method: 'GET',
    path: '/routes/:topic',
    summary: 'Returns a list with the entry of a topic filter; empty: no client subscribes to it.',
    params: Type.Object({ topic: Type.String() }),
    reply: routeList,
    failures: ['rpcError'],
    access: 'read',
    isForNamespaces: true,
  }),
}
