// Listeners.

import { responseWith, noContent, endpoint, Type } from '../../contract/index.ts'

const listener = Type.Object({
  protocol: Type.String({ description: 'Protocol of the listener: `mqtt:` and tcp, ssl, ws, wss or quic.' }),
  listen_on: Type.String({ description: 'Address and port of the listener.' }),
  identifier: Type.String({ description: 'Protocol and name of the listener, such as `mqtt:tcp:default`.' }),
  acceptors: Type.Integer({ minimum: 1, description: 'Number of threads that accept connections.' }),
  max_conns: Type.Integer({ minimum: 0, description: 'Maximum number of open connections.' }),
  current_conns: Type.Integer({ minimum: 0, description: 'Number of open connections.' }),
  running: Type.Boolean({ description: 'true: the listener accepts connections; false: it is stopped.' }),
  shutdown_count: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description: 'Number of failed connections by reason. `refused`: refused before the first packet.',
  }),
})

const ofNode = Type.Object({ node: Type.String(), listeners: Type.Array(listener) })

const node = Type.String({ description: 'Name of the node.' })
const identifier = Type.String({ description: 'Identifier from the list of listeners, such as `mqtt:tcp:default`.' })
const restartWords = 'Disconnects the clients of a listener and opens it again.'

export const listenerEndpoints = {
  list_listeners: endpoint({
    method: 'GET',
    path: '/listeners',
    summary: 'Lists the listeners of all nodes with the number of their connections.',
    reply: responseWith(Type.Array(ofNode)),
    access: 'read',
  }),
  list_node_listeners: endpoint({
    method: 'GET',
    path: '/nodes/:node/listeners',
    summary: 'Lists the listeners of a node.',
    params: Type.Object({ node }),
    reply: responseWith(Type.Array(listener)),
    failures: ['invalidParameter'],
    access: 'read',
  }),
  restart_listener: endpoint({
    method: 'PUT',
    path: '/listeners/:identifier/restart',
    summary: restartWords,
    params: Type.Object({ identifier }),
    reply: noContent,
    failures: ['invalidParameter', 'unknownError'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
  }),
  restart_node_listener: endpoint({
    method: 'PUT',
    path: '/nodes/:node/listeners/:identifier/restart',
    summary: restartWords,
    params: Type.Object({ node, identifier }),
    reply: noContent,
    failures: ['invalidParameter', 'unknownError'],
    otherStatuses: [['invalidParameter', 404]],
    access: 'change',
  }),
  control_listener: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/listeners/:identifier/:action',
    summary:
      'Starts, stops or restarts a listener. Stopping disconnects its clients. A restart of the node opens a stopped listener again.',
    params: Type.Object({
      identifier,
      action: Type.Union([Type.Literal('start'), Type.Literal('stop'), Type.Literal('restart')]),
    }),
    reply: noContent,
    reasons: ['NOT_FOUND', 'CONFLICT'],
    access: 'change',
  }),
}
