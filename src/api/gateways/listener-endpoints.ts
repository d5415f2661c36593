// Listeners of gateways, by IDs such as `coap:udp:default`.

import { endpoint, Type } from '../../contract/index.ts'

const done = Type.Object({ code: Type.Literal(0) })
const ofGateway = Type.Object({ name: Type.String() })
const ofListener = Type.Object({
  name: Type.String(),
  id: Type.String({ description: 'Identifier of the listener, such as `coap:udp:default`.' }),
})
const listener = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'Listener with id, type, name, running, current_connections and its settings as in the configuration file.',
})
const settings = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Settings of the listener; for a new listener also type and name.',
})
const shared = { version: 'v5', reasons: ['NOT_FOUND', 'BAD_REQUEST'] } as const

export const gatewayListenerEndpoints = {
  get_gateway_listeners: endpoint({
    ...shared,
    method: 'GET',
    path: '/gateways/:name/listeners',
    summary: 'Lists listeners of a gateway.',
    params: ofGateway,
    reply: Type.Array(listener),
    access: 'read',
  }),
  add_gateway_listener: endpoint({
    ...shared,
    method: 'POST',
    path: '/gateways/:name/listeners',
    summary: 'Adds a listener to a gateway.',
    params: ofGateway,
    body: settings,
    reply: listener,
    access: 'change',
  }),
  get_gateway_listener: endpoint({
    ...shared,
    method: 'GET',
    path: '/gateways/:name/listeners/:id',
    summary: 'Returns a listener of a gateway.',
    params: ofListener,
    reply: listener,
    access: 'read',
  }),
  change_gateway_listener: endpoint({
    ...shared,
    method: 'PUT',
    path: '/gateways/:name/listeners/:id',
    summary: 'Replaces the settings of a listener of a gateway.',
    params: ofListener,
    body: settings,
    reply: listener,
    access: 'change',
  }),
  remove_gateway_listener: endpoint({
    ...shared,
    method: 'DELETE',
    path: '/gateways/:name/listeners/:id',
    summary: 'Closes a listener of a gateway and disconnects its clients.',
    params: ofListener,
    reply: done,
    access: 'change',
  }),
}
