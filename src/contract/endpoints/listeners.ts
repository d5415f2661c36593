// Listeners.

import { answer, noContent, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

const listener = Type.Object({
  protocol: Type.String({ description: '`mqtt:` and the kind: tcp, ssl, ws, wss or quic.' }),
  listen_on: Type.String({ description: 'Address and port.' }),
  identifier: Type.String({ description: 'Protocol and name: `mqtt:tcp:default`.' }),
  acceptors: Type.Integer({ minimum: 1, description: 'Threads that accept connections.' }),
  max_conns: Type.Integer({ minimum: 0, description: 'Connections that are allowed at one time.' }),
  current_conns: Type.Integer({ minimum: 0, description: 'Connections that are open.' }),
  running: Type.Boolean({ description: 'It accepts connections; false: it was stopped.' }),
  shutdown_count: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
    description: 'Connections that came to nothing, by reason; `refused` are those refused before the first packet.',
  }),
})

const ofNode = Type.Object({ node: Type.String(), listeners: Type.Array(listener) })

const node = Type.String({ description: 'Name of the node.' })
const identifier = Type.String({ description: 'As the list has it: `mqtt:tcp:default`.' })
const restartWords = 'Disconnects the clients of a listener and opens it again.'

export const listenerEndpoints = {
  list_listeners: endpoint({
    method: 'GET',
    path: '/listeners',
    summary: 'The listeners of every node, with the number of their connections.',
    reply: answer(Type.Array(ofNode)),
    access: 'read',
  }),
  list_node_listeners: endpoint({
    method: 'GET',
    path: '/nodes/:node/listeners',
    summary: 'The listeners of one node.',
    params: Type.Object({ node }),
    reply: answer(Type.Array(listener)),
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
      'Stops a listener, whose clients are disconnected, starts it again, or does both. A stopped one is open after a restart of the node.',
    params: Type.Object({
      identifier,
      action: Type.Union([Type.Literal('start'), Type.Literal('stop'), Type.Literal('restart')]),
    }),
    reply: noContent,
    reasons: ['NOT_FOUND', 'CONFLICT'],
    access: 'change',
  }),
}
