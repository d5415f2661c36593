// Clients: connected ones, and those with a persistent session.

import { responseWith, noContent, endpoint, listing, pagingQuery, Type } from '../../contract/index.ts'

/** `absent`: meaning of the absent member. */
const time = (description: string, absent?: string) =>
  Type.String({
    description: `${description}, \`YYYY-MM-DD HH:mm:ss\`${absent === undefined ? '' : `; absent: ${absent}`}.`,
  })
const count = (description: string) => Type.Integer({ minimum: 0, description })

const client = Type.Object({
  namespace: Type.Optional(Type.String({ description: 'Namespace of the client; absent: none.' })),
  clientid: Type.String({ description: 'Client identifier.' }),
  client_id: Type.String({ description: 'Another name for `clientid`.' }),
  username: Type.String({ description: 'User name of the client; empty: none.' }),
  proto_name: Type.String({
    description: "Name of the protocol: MQTT, or the protocol of the client's gateway, such as MQTT-SN or CoAP.",
  }),
  proto_ver: Type.Integer({ description: 'Version of the protocol; for MQTT 3 (3.1), 4 (3.1.1) or 5.' }),
  conn_state: Type.Union([Type.Literal('connected'), Type.Literal('disconnected')]),
  connected: Type.Boolean(),
  sleeping: Type.Optional(
    Type.Boolean({ description: 'MQTT-SN: true if the client is asleep and its messages wait.' }),
  ),
  endpoint_name: Type.Optional(Type.String({ description: 'LwM2M: endpoint name of the client.' })),
  lifetime: Type.Optional(
    Type.Integer({ minimum: 0, description: 'LwM2M: lifetime of the registration, in seconds.' }),
  ),
  keepalive: count('Keep alive in seconds; 0: none.'),
  clean_start: Type.Boolean({ description: 'true: the client connected with a new session.' }),
  recv_msg: count('PUBLISH packets from the client, in all its connections.'),
  send_msg: count('PUBLISH packets to the client, in all its connections.'),
  node: Type.String({ description: 'Name of the node to which the client is or was connected.' }),
  ip_address: Type.String({ description: 'IP address of the client; empty: unknown.' }),
  port: count('Port of the client; 0: the client is not connected.'),
  connected_at: Type.Optional(time('Time of the last CONNECT', 'none since the broker was started')),
  disconnected_at: Type.Optional(time('Time of the last disconnection', 'the client is connected')),
  created_at: time('Time at which the session was created'),
  expiry_interval: count('Session expiry interval: time after a disconnection until the session expires, in seconds.'),
  subscriptions_cnt: count('Number of subscriptions.'),
  max_subscriptions: count('Maximum number of subscriptions.'),
  inflight: count('Messages in flight: sent to the client and not acknowledged.'),
  max_inflight: count('Maximum number of messages in flight.'),
  mqueue_len: count('Messages in the queue of the session, in memory and on disk.'),
  max_mqueue: count('Maximum number of queued messages in memory.'),
  mqueue_dropped: count('Number of messages for the client that were dropped.'),
  awaiting_rel: count('QoS 2 messages of the client without PUBREL.'),
  max_awaiting_rel: count('Maximum number of QoS 2 messages without PUBREL.'),
  recv_oct: count('Bytes from the client in this connection.'),
  recv_pkt: count('Packets from the client in this connection.'),
  send_oct: count('Bytes to the client in this connection.'),
  send_pkt: count('Packets to the client in this connection.'),
})

const text = (description: string) => Type.Optional(Type.String({ description }))
const number = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))
const when = 'seconds or milliseconds since 1970, or `YYYY-MM-DD HH:mm:ss`.'

/** Numbers by which the list of clients can be ordered. */
export const clientOrderNames = [
  'mqueue_len',
  'mqueue_dropped',
  'inflight',
  'subscriptions_cnt',
  'recv_msg',
  'send_msg',
  'recv_oct',
  'send_oct',
  'created_at',
  'connected_at',
] as const

const clientOrders = clientOrderNames.flatMap((name) => [name, `-${name}`] as const)

/** All conditions must hold. */
const clientQuery = Type.Object({
  clientid: text('Client identifier.'),
  client_id: text('Another name for `clientid`.'),
  username: text('User name.'),
  conn_state: text('`connected`, `disconnected` or `idle`.'),
  connected: Type.Optional(Type.Boolean({ description: 'Whether the client is connected, as `conn_state`.' })),
  clean_start: Type.Optional(Type.Boolean({ description: 'Whether the client connected with a new session.' })),
  proto_name: text('MQTT, CoAP, LwM2M or MQTT-SN.'),
  proto_ver: Type.Optional(Type.Integer({ description: 'Version of the protocol.' })),
  ip_address: text('IP address of the client.'),
  internal: Type.Optional(
    Type.Boolean({
      description:
        'Internal sessions, which the broker uses for bridges, actions and sources. true: only these; false: without these.',
    }),
  ),
  _like_clientid: text('Text that the client ID contains, in upper or lower case.'),
  _like_username: text('Text that the user name contains, in upper or lower case.'),
  _gte_created_at: text(`The session was created at this time or later: ${when}`),
  _lte_created_at: text(`The session was created at this time or earlier: ${when}`),
  _gte_connected_at: text(`The client connected at this time or later: ${when}`),
  _lte_connected_at: text(`The client connected at this time or earlier: ${when}`),
  _gte_mqueue_len: number('Minimum number of queued messages.'),
  _lte_mqueue_len: number('Maximum number of queued messages.'),
  _gte_mqueue_dropped: number('Minimum number of dropped messages.'),
  _lte_mqueue_dropped: number('Maximum number of dropped messages.'),
  order_by: Type.Optional(
    Type.Enum(clientOrders, {
      description:
        'Order of the pages: a number of the client, with `-` from the largest on. Requires a page by its number, of which the last row is at most the 10,000th.',
    }),
  ),
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

const rate = (description: string) => Type.Integer({ minimum: 0, description: `${description} per second.` })

const busyClient = Type.Object({
  namespace: Type.Optional(Type.String({ description: 'Namespace of the client; absent: none.' })),
  clientid: Type.String(),
  recv_msg_rate: rate('PUBLISH packets from the client'),
  send_msg_rate: rate('PUBLISH packets to the client'),
  recv_oct_rate: rate('Bytes from the client'),
  send_oct_rate: rate('Bytes to the client'),
})

const busyQuery = Type.Object({
  order_by: Type.Optional(
    Type.Enum(['recv_msg_rate', 'send_msg_rate', 'recv_oct_rate', 'send_oct_rate'] as const, {
      description: 'Rate by which the clients are chosen, largest first. Default: recv_msg_rate.',
    }),
  ),
  seconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10, description: 'Time of the measurement. Default: 2.' }),
  ),
  _limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: 'Maximum number of clients in the response. Default: 20.',
    }),
  ),
})

const ofKick = Type.Object({
  session: Type.Optional(
    Type.Boolean({ description: 'true: also end the session, whether the client is connected or not.' }),
  ),
})

export const clientEndpoints = {
  // `listClients()` in all modules behind it: see docs/WALKS.md.
  list_clients: endpoint({
    ...clientList,
    path: '/clients',
    summary: 'Lists the clients that are connected or have a session. With conditions, a client must meet all of them.',
  }),
  list_busy_clients: endpoint({
    method: 'GET',
    path: '/busy_clients',
    summary: 'Measures the traffic of the connected clients, and lists those with most.',
    query: busyQuery,
    unknownQuery: 'refuse',
    reply: responseWith(Type.Array(busyClient)),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
  lookup_client: endpoint({
    ...clientList,
    path: '/clients/:clientid',
    summary: 'Returns a list with the client that has this client ID; empty: there is none.',
    params: ofClient,
  }),
  lookup_client_via_username: endpoint({
    ...clientList,
    path: '/clients/username/:username',
    summary: 'Lists the clients with a user name.',
    params: Type.Object({ username: Type.String() }),
  }),
  list_node_clients: endpoint({
    ...clientList,
    path: '/nodes/:node/clients',
    summary: 'Lists the clients of a node.',
    params: ofNode,
  }),
  lookup_node_client: endpoint({
    ...clientList,
    path: '/nodes/:node/clients/:clientid',
    summary: 'Returns a list with the client of a node that has this client ID; empty: there is none.',
    params: ofNodeAndClient,
  }),
  lookup_node_client_via_username: endpoint({
    ...clientList,
    path: '/nodes/:node/clients/username/:username',
    summary: 'Lists the clients of a node with a user name.',
    params: Type.Object({ node: Type.String(), username: Type.String() }),
  }),
  kickout_node_client: endpoint({
    method: 'DELETE',
    path: '/nodes/:node/clients/:clientid',
    summary: 'Disconnects a client of a node. A persistent session stays, unless `session` is true.',
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
    summary: 'Changes the keep alive of a connected client until its next connection.',
    params: ofClient,
    body: Type.Object({
      interval: Type.Integer({
        minimum: 0,
        maximum: 65_535,
        description: 'Keep alive in seconds; 0: the client may be silent without limit.',
      }),
    }),
    reply: noContent,
    failures: ['rpcError', 'missingParameter', 'invalidParameter', 'notJson', 'clientOffline'],
    access: 'change',
    isForNamespaces: true,
  }),
  list_acl_cache: endpoint({
    method: 'GET',
    path: '/clients/:clientid/acl_cache',
    summary: 'Lists the cached decisions about topics to which a connected client published.',
    params: ofClient,
    reply: responseWith(Type.Array(verdict)),
    failures: ['rpcError', 'clientOffline'],
    access: 'read',
    isForNamespaces: true,
  }),
  clean_acl_cache: endpoint({
    method: 'DELETE',
    path: '/clients/:clientid/acl_cache',
    summary: 'Clears the cached publish decisions of a connected client. The next publish is authorized again.',
    params: ofClient,
    reply: noContent,
    failures: ['rpcError', 'clientOffline'],
    access: 'change',
    isForNamespaces: true,
  }),
  clean_acl_cache_all: endpoint({
    method: 'DELETE',
    path: '/acl-cache',
    summary: 'Clears the cached publish decisions of all connected clients.',
    reply: noContent,
    failures: ['rpcError'],
    access: 'change',
  }),
  clean_node_acl_cache: endpoint({
    method: 'DELETE',
    path: '/nodes/:node/acl-cache',
    summary: 'Clears the cached publish decisions of all connected clients of a node.',
    params: ofNode,
    reply: noContent,
    failures: ['rpcError', 'invalidParameter'],
    access: 'change',
  }),
}
