// Gateways: clients that speak something else than MQTT.

import { endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'

const number = Type.Number({ minimum: 0 })
const status = Type.Union([Type.Literal('running'), Type.Literal('stopped'), Type.Literal('unloaded')], {
  description: 'unloaded: it has no listener. stopped: it is disabled.',
})
const listener = Type.Object({
  id: Type.String({ description: 'gateway:type:name, such as coap:udp:default.' }),
  type: Type.String(),
  name: Type.String(),
  bind: Type.String(),
  running: Type.Boolean(),
  max_connections: number,
  current_connections: number,
})
const gateway = {
  name: Type.String(),
  proto_name: Type.String({ description: 'As in lists of clients.' }),
  status,
  max_connections: number,
  current_connections: number,
  listeners: Type.Array(listener),
  metrics: Type.Record(Type.String(), number, { description: 'Datagrams since the start.' }),
}
const settings = Type.Record(Type.String(), Type.Unknown(), { description: 'As in the configuration file.' })
const params = Type.Object({ name: Type.String() })
const client = Type.Record(Type.String(), Type.Unknown(), { description: 'As in the list of clients of v4.' })
const ofClient = Type.Object({ name: Type.String(), clientid: Type.String() })

export const gatewayEndpoints = {
  get_gateways: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways',
    summary: 'Lists gateways.',
    query: Type.Object({ status: Type.Optional(status) }),
    reply: Type.Array(Type.Object(gateway)),
    access: 'read',
  }),
  get_gateway: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways/:name',
    summary: 'Returns a gateway with its configuration.',
    params,
    reply: Type.Object({ ...gateway, configuration: settings }),
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  change_gateway: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/gateways/:name',
    summary: 'Replaces the configuration of a gateway. With a listener it runs.',
    params,
    body: settings,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
  enable_gateway: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/gateways/:name/enable/:enable',
    summary: 'Enables or disables a gateway.',
    params: Type.Object({ name: Type.String(), enable: Type.Union([Type.Literal('true'), Type.Literal('false')]) }),
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
  get_gateway_clients: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways/:name/clients',
    summary: 'Lists clients of a gateway.',
    params,
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      clientid: Type.Optional(Type.String()),
      username: Type.Optional(Type.String()),
      ip_address: Type.Optional(Type.String()),
      like_clientid: Type.Optional(Type.String()),
      like_username: Type.Optional(Type.String()),
    }),
    reply: Type.Object({
      data: Type.Array(client),
      meta: Type.Object({ page: number, limit: number, count: number, hasnext: Type.Boolean() }),
    }),
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  get_gateway_client: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways/:name/clients/:clientid',
    summary: 'Returns a client of a gateway.',
    params: ofClient,
    reply: client,
    reasons: ['NOT_FOUND', 'CLIENT_NOT_FOUND'],
    access: 'read',
  }),
  kick_gateway_client: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/gateways/:name/clients/:clientid',
    summary: 'Disconnects a client of a gateway.',
    params: ofClient,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND', 'CLIENT_NOT_FOUND'],
    access: 'change',
  }),
}
