// Clients: connected ones, and those with a persistent session.

import { answer, noContent, endpoint } from '../endpoint.ts'
import { listing, pagingQuery } from '../paging.ts'
import { Type } from '../schema.ts'

const time = (description: string) => Type.String({ description: `${description}, \`YYYY-MM-DD HH:mm:ss\`.` })
const count = (description: string) => Type.Integer({ minimum: 0, description })

const client = Type.Object({
  namespace: Type.Optional(Type.String({ description: 'Absent: the client belongs to none.' })),
  clientid: Type.String({ description: 'Client identifier.' }),
  client_id: Type.String({ description: 'The same as `clientid`.' }),
  username: Type.String({ description: 'Empty where it has none.' }),
  proto_name: Type.String({ description: 'MQTT, or what the gateway of the client speaks: MQTT-SN, CoAP.' }),
  proto_ver: Type.Integer({ description: '3 (MQTT 3.1), 4 (3.1.1) or 5.' }),
  conn_state: Type.Union([Type.Literal('connected'), Type.Literal('disconnected')]),
  connected: Type.Boolean(),
  sleeping: Type.Optional(
    Type.Boolean({ description: 'MQTT-SN: it has announced that it is silent for a while, and messages wait for it.' }),
  ),
  endpoint_name: Type.Optional(Type.String({ description: 'LwM2M: the name of its endpoint.' })),
  lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'LwM2M: of its registration, in seconds.' })),
  keepalive: count('Seconds; 0: none.'),
  clean_start: Type.Boolean({ description: 'It has begun a new session.' }),
  recv_msg: count('PUBLISH packets from it, in all its connections.'),
  send_msg: count('PUBLISH packets to it, in all its connections.'),
  node: Type.String({ description: 'Where it is, or was.' }),
  ip_address: Type.String({ description: 'Empty if unknown.' }),
  port: count('Its own; 0: it is not connected.'),
  connected_at: Type.Optional(time('The last time; absent: not since the broker was started')),
  disconnected_at: Type.Optional(time('Absent: it is connected')),
  created_at: time('When its session began'),
  expiry_interval: count('How long its session is kept without it, in seconds.'),
  subscriptions_cnt: count('What it subscribes to.'),
  max_subscriptions: count('What it may subscribe to.'),
  inflight: count('Messages to it that it has not acknowledged.'),
  max_inflight: count('So many of those at a time.'),
  mqueue_len: count('Messages that wait for it, in memory and on disk.'),
  max_mqueue: count('So many of those in memory.'),
  mqueue_dropped: count('Messages for it that were dropped.'),
  awaiting_rel: count('QoS 2 messages from it that it has not released.'),
  max_awaiting_rel: count('So many of those at a time.'),
  recv_oct: count('Bytes from it in this connection.'),
  recv_pkt: count('Packets from it in this connection.'),
  send_oct: count('Bytes to it in this connection.'),
  send_pkt: count('Packets to it in this connection.'),
})

const text = (description: string) => Type.Optional(Type.String({ description }))
const number = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))
const when = 'seconds or milliseconds since 1970, or `YYYY-MM-DD HH:mm:ss`.'

/** All conditions must hold. */
const clientQuery = Type.Object({
  clientid: text('Client identifier.'),
  client_id: text('The same as `clientid`.'),
  username: text('User name.'),
  conn_state: text('`connected`, `disconnected` or `idle`.'),
  connected: Type.Optional(Type.Boolean({ description: 'The same as `conn_state`.' })),
  clean_start: Type.Optional(Type.Boolean({ description: 'Whether it has begun a new session.' })),
  proto_name: text('MQTT, CoAP, LwM2M or MQTT-SN.'),
  proto_ver: Type.Optional(Type.Integer({ description: 'Version of the protocol.' })),
  ip_address: text('Where it connected from.'),
  internal: Type.Optional(
    Type.Boolean({
      description:
        'Sessions of the broker itself, for bridges, actions and sources: false: without them, true: only them.',
    }),
  ),
  _like_clientid: text('Somewhere in the client identifier.'),
  _like_username: text('Somewhere in the user name.'),
  _gte_created_at: text(`The session began then or later: ${when}`),
  _lte_created_at: text(`The session began then or earlier: ${when}`),
  _gte_connected_at: text(`It connected then or later: ${when}`),
  _lte_connected_at: text(`It connected then or earlier: ${when}`),
  _gte_mqueue_len: number('So many messages wait for it, or more.'),
  _lte_mqueue_len: number('So many messages wait for it, or fewer.'),
  _gte_mqueue_dropped: number('So many messages for it were dropped, or more.'),
  _lte_mqueue_dropped: number('So many messages for it were dropped, or fewer.'),
  ...pagingQuery,
})

const clientList = listing(clientQuery, client)

const ofClient = Type.Object({ clientid: Type.String() })
const ofNode = Type.Object({ node: Type.String() })
const ofNodeAndClient = Type.Object({ node: Type.String(), clientid: Type.String() })

const verdict = Type.Object({
  access: Type.Literal('publish'),
  topic: Type.String(),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  retain: Type.Boolean(),
  result: Type.Union([Type.Literal('allow'), Type.Literal('deny'), Type.Literal('disconnect')]),
})

const ofKick = Type.Object({
  session: Type.Optional(Type.Boolean({ description: 'Also end the session. The client need not be connected then.' })),
})

export const clientEndpoints = {
  list_clients: endpoint({
    ...clientList,
    path: '/clients',
    summary: 'The clients that are connected or have a session, all or those that fulfil all conditions.',
  }),
  lookup_client: endpoint({
    ...clientList,
    path: '/clients/:clientid',
    summary: 'The client of that identifier: one or none.',
    params: ofClient,
  }),
  lookup_client_via_username: endpoint({
    ...clientList,
    path: '/clients/username/:username',
    summary: 'The clients of that user name.',
    params: Type.Object({ username: Type.String() }),
  }),
  list_node_clients: endpoint({
    ...clientList,
    path: '/nodes/:node/clients',
    summary: 'The clients of one node.',
    params: ofNode,
  }),
  lookup_node_client: endpoint({
    ...clientList,
    path: '/nodes/:node/clients/:clientid',
    summary: 'The client of that identifier on one node: one or none.',
    params: ofNodeAndClient,
  }),
  lookup_node_client_via_username: endpoint({
    ...clientList,
    path: '/nodes/:node/clients/username/:username',
    summary: 'The clients of that user name on one node.',
    params: Type.Object({ node: Type.String(), username: Type.String() }),
  }),
  kickout_node_client: endpoint({
    method: 'DELETE',
    path: '/nodes/:node/clients/:clientid',
    summary: 'Disconnects a client of one node, as without the node.',
    params: ofNodeAndClient,
    query: ofKick,
    reply: noContent,
    failures: ['rpcError', 'clientOffline', 'invalidParameter'],
    access: 'change',
    isForNamespaces: true,
  }),
  kickout_client: endpoint({
    method: 'DELETE',
    path: '/clients/:clientid',
    summary: 'Disconnects a client. A persistent session stays, unless `session` is true.',
    params: ofClient,
    query: ofKick,
    reply: noContent,
    failures: ['rpcError', 'clientOffline'],
    access: 'change',
    isForNamespaces: true,
  }),
  set_keepalive: endpoint({
    method: 'PUT',
    path: '/clients/:clientid/keepalive',
    summary: 'How long a connected client may be silent, until it connects the next time.',
    params: ofClient,
    body: Type.Object({
      interval: Type.Integer({ minimum: 0, maximum: 65_535, description: 'Seconds; 0: for ever.' }),
    }),
    reply: noContent,
    failures: ['rpcError', 'missingParameter', 'invalidParameter', 'notJson', 'clientOffline'],
    access: 'change',
    isForNamespaces: true,
  }),
  list_acl_cache: endpoint({
    method: 'GET',
    path: '/clients/:clientid/acl_cache',
    summary: 'What a connected client was told about publishing, as far as it is remembered.',
    params: ofClient,
    reply: answer(Type.Array(verdict)),
    failures: ['rpcError', 'clientOffline'],
    access: 'read',
    isForNamespaces: true,
  }),
  clean_acl_cache: endpoint({
    method: 'DELETE',
    path: '/clients/:clientid/acl_cache',
    summary: 'Forgets what a connected client was told about publishing: it is looked up again.',
    params: ofClient,
    reply: noContent,
    failures: ['rpcError', 'clientOffline'],
    access: 'change',
    isForNamespaces: true,
  }),
  clean_acl_cache_all: endpoint({
    method: 'DELETE',
    path: '/acl-cache',
    summary: 'The same for every client that is connected.',
    reply: noContent,
    failures: ['rpcError'],
    access: 'change',
  }),
  clean_node_acl_cache: endpoint({
    method: 'DELETE',
    path: '/nodes/:node/acl-cache',
    summary: 'The same for the clients of one node.',
    params: ofNode,
    reply: noContent,
    failures: ['rpcError', 'invalidParameter'],
    access: 'change',
  }),
}
