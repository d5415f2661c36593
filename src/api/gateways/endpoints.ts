// Gateways for protocols other than MQTT.

import { endpoint, Type } from '../../contract/index.ts'

const done = Type.Object({ code: Type.Literal(0) })
const time = (description: string) => Type.Optional(Type.String({ description: `${description}, as in RFC 3339.` }))
const number = Type.Number({ minimum: 0 })
const status = Type.Union([Type.Literal('running'), Type.Literal('stopped'), Type.Literal('unloaded')], {
  description: 'State of the gateway. unloaded: it has no listener; stopped: it is disabled.',
})
const listener = Type.Object({
  id: Type.String({ description: 'Identifier of the listener as gateway:type:name, such as coap:udp:default.' }),
  type: Type.String(),
  name: Type.String(),
  bind: Type.String(),
  running: Type.Boolean(),
  max_connections: number,
  current_connections: number,
})
const gateway = {
  name: Type.String(),
  proto_name: Type.String({ description: 'Name of the protocol, as `proto_name` in the list of clients.' }),
  status,
  created_at: time('Time at which the gateway was loaded'),
  started_at: time('Time at which the gateway was started'),
  stopped_at: time('Time at which the gateway was disabled'),
  max_connections: number,
  current_connections: number,
  listeners: Type.Array(listener),
  metrics: Type.Record(Type.String(), number, { description: 'Counts of datagrams since the start.' }),
}
const settings = Type.Record(Type.String(), Type.Unknown(), { description: 'Settings as in the configuration file.' })
const params = Type.Object({ name: Type.String() })

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
    reply: Type.Object(
      { ...gateway, configuration: settings },
      { additionalProperties: true, description: 'Gateway with its settings as in the configuration file.' },
    ),
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  change_gateway: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/gateways/:name',
    summary:
      'Replaces the configuration of a gateway. The gateway runs if it has a listener. `listeners` is an object as in the configuration file, or a list of objects with type and name.',
    params,
    body: settings,
    reply: done,
    reasons: ['NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
  enable_gateway: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/gateways/:name/enable/:enable',
    summary: 'Enables or disables a gateway.',
    params: Type.Object({ name: Type.String(), enable: Type.Union([Type.Literal('true'), Type.Literal('false')]) }),
    reply: done,
    reasons: ['NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
}
