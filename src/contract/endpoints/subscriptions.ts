// Subscriptions as a list, as a tree, and as topics.

import { answer, endpoint } from '../endpoint.ts'
import { listing, listOf, pagingQuery } from '../paging.ts'
import { Type } from '../schema.ts'

const subscription = Type.Object({
  namespace: Type.Optional(Type.String({ description: 'Absent: the client belongs to none.' })),
  clientid: Type.String(),
  topic: Type.String({ description: 'As it was subscribed, `$share/group/` and all.' }),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  node: Type.String(),
})

/** All conditions must hold. */
const subscriptionQuery = Type.Object({
  clientid: Type.Optional(Type.String({ description: 'Client identifier.' })),
  client_id: Type.Optional(Type.String({ description: 'The same as `clientid`.' })),
  topic: Type.Optional(
    Type.String({ description: 'As it was subscribed; with `share` also what stands behind the group.' }),
  ),
  qos: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 })),
  share: Type.Optional(Type.String({ description: 'Group of a shared subscription.' })),
  shared: Type.Optional(Type.Boolean({ description: '`true`: shared subscriptions only; `false`: the others.' })),
  _match_topic: Type.Optional(
    Type.String({ description: 'A topic that it would be given, or, with wildcards, a filter that it lies within.' }),
  ),
  ...pagingQuery,
})

const subscriptionList = listing(subscriptionQuery, subscription)

const route = Type.Object({ topic: Type.String(), node: Type.String() })
const routeList = listOf(route)

const treeNode = Type.Object({
  topic: Type.String({ description: 'One level; empty at the root.' }),
  cld_cnt: Type.Integer({ minimum: 0, description: 'How many nodes of the next level are below this one.' }),
  clientid: Type.Optional(
    Type.Array(Type.String(), { description: 'Client IDs that subscribe to exactly this topic; absent: none.' }),
  ),
})

export const subscriptionEndpoints = {
  list_subscriptions: endpoint({
    ...subscriptionList,
    path: '/subscriptions',
    summary: 'What clients subscribe to: all, or what fulfils all conditions.',
  }),
  lookup_client_subscriptions: endpoint({
    ...subscriptionList,
    path: '/subscriptions/:clientid',
    summary: 'What one client subscribes to.',
    params: Type.Object({ clientid: Type.String() }),
  }),
  list_node_subscriptions: endpoint({
    ...subscriptionList,
    path: '/nodes/:node/subscriptions',
    summary: 'What the clients of one node subscribe to.',
    params: Type.Object({ node: Type.String() }),
  }),
  lookup_node_client_subscriptions: endpoint({
    ...subscriptionList,
    path: '/nodes/:node/subscriptions/:clientid',
    summary: 'What one client of one node subscribes to.',
    params: Type.Object({ node: Type.String(), clientid: Type.String() }),
  }),
  'list_topic-tree': endpoint({
    method: 'GET',
    path: '/topic-tree',
    summary: 'The levels of all that is subscribed to, from the root down.',
    reply: answer(Type.Array(Type.Array(treeNode))),
    failures: ['rpcError', 'unknownError'],
    access: 'read',
    isForNamespaces: true,
  }),
  list_routes: endpoint({
    method: 'GET',
    path: '/routes',
    summary: 'Topics with subscriptions.',
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
    summary: 'The route of one topic: one entry, or none.',
    params: Type.Object({ topic: Type.String() }),
    reply: routeList,
    failures: ['rpcError'],
    access: 'read',
    isForNamespaces: true,
  }),
}
