// Clients of gateways: lists, subscriptions, and requests to devices.

import { endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'

const number = Type.Number({ minimum: 0 })
const done = Type.Object({ code: Type.Literal(0) })
const text = (description: string) => Type.Optional(Type.String({ description }))
const when = 'seconds or milliseconds since 1970, `YYYY-MM-DD HH:mm:ss`, or as in RFC 3339.'
const client = Type.Record(Type.String(), Type.Unknown(), { description: 'As in the list of clients of v4.' })
const ofClient = Type.Object({ name: Type.String(), clientid: Type.String() })
const ofDevice = Type.Object({ clientid: Type.String() })

const subscription = Type.Object({
  topic: Type.String(),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  nl: Type.Optional(Type.Integer({ minimum: 0, maximum: 1, description: 'No local.' })),
  rap: Type.Optional(Type.Integer({ minimum: 0, maximum: 1, description: 'Retain as published.' })),
  rh: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'Retain handling.' })),
})
const newSubscription = Type.Object({
  topic: Type.String(),
  qos: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'Unsaid: 0.' })),
  nl: Type.Optional(Type.Integer({ minimum: 0, maximum: 1, description: 'No local. Unsaid: 0; so below.' })),
  rap: Type.Optional(Type.Integer({ minimum: 0, maximum: 1, description: 'Retain as published.' })),
  rh: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'Retain handling.' })),
})

const coapRequest = Type.Object({
  token: Type.Optional(Type.String({ description: 'At most 8 octets. Unsaid: a random one.' })),
  method: Type.Union([Type.Literal('get'), Type.Literal('post'), Type.Literal('put'), Type.Literal('delete')]),
  timeout: Type.Optional(Type.String({ description: 'How long to wait for the answer. Unsaid: `10s`.' })),
  content_type: Type.Optional(
    Type.Union(
      [Type.Literal('text/plain'), Type.Literal('application/json'), Type.Literal('application/octet-stream')],
      { description: 'Of octets the payload is base64, in both directions.' },
    ),
  ),
  payload: Type.Optional(Type.String()),
})

const path = Type.Optional(Type.String({ description: '`/object/instance/resource`, such as `/3/0/9`.' }))

export const gatewayClientEndpoints = {
  get_gateway_clients: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways/:name/clients',
    summary: 'Lists clients of a gateway.',
    params: Type.Object({ name: Type.String() }),
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      clientid: text('Client ID.'),
      username: text('User name.'),
      ip_address: text('Where it connected from.'),
      conn_state: text('`connected`, `disconnected` or `idle`.'),
      proto_ver: Type.Optional(Type.Integer({ description: 'Version of the protocol.' })),
      clean_start: Type.Optional(Type.Boolean({ description: 'Whether it has begun a new session.' })),
      like_clientid: text('Somewhere in the client ID.'),
      like_username: text('Somewhere in the user name.'),
      gte_created_at: text(`The session began then or later: ${when}`),
      lte_created_at: text(`The session began then or earlier: ${when}`),
      gte_connected_at: text(`It connected then or later: ${when}`),
      lte_connected_at: text(`It connected then or earlier: ${when}`),
      endpoint_name: text('LwM2M: the name of the endpoint.'),
      like_endpoint_name: text('LwM2M: somewhere in the name of the endpoint.'),
      lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'LwM2M: lifetime in seconds.' })),
      gte_lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'LwM2M: at least so many seconds.' })),
      lte_lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'LwM2M: at most so many seconds.' })),
    }),
    reply: Type.Object({
      data: Type.Array(client),
      meta: Type.Object({ page: number, limit: number, count: number, hasnext: Type.Boolean() }),
    }),
    reasons: ['NOT_FOUND', 'BAD_REQUEST'],
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
    reply: done,
    reasons: ['NOT_FOUND', 'CLIENT_NOT_FOUND'],
    access: 'change',
  }),
  get_gateway_client_subscriptions: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways/:name/clients/:clientid/subscriptions',
    summary: 'Lists subscriptions of a client of a gateway.',
    params: ofClient,
    reply: Type.Array(subscription),
    reasons: ['NOT_FOUND', 'CLIENT_NOT_FOUND'],
    access: 'read',
  }),
  add_gateway_client_subscription: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/gateways/:name/clients/:clientid/subscriptions',
    summary: 'Subscribes a client of a gateway.',
    params: ofClient,
    body: newSubscription,
    reply: Type.Object({
      code: Type.Literal(0),
      topic: Type.String(),
      qos: number,
      nl: number,
      rap: number,
      rh: number,
    }),
    reasons: ['NOT_FOUND', 'CLIENT_NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
  remove_gateway_client_subscription: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/gateways/:name/clients/:clientid/subscriptions/:topic',
    summary: 'Unsubscribes a client of a gateway. The topic filter is percent-encoded.',
    params: Type.Object({ name: Type.String(), clientid: Type.String(), topic: Type.String() }),
    reply: done,
    reasons: ['NOT_FOUND', 'CLIENT_NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
  send_coap_request: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/gateways/coap/clients/:clientid/request',
    summary: 'Sends a confirmable request to a client of CoAP and returns its answer.',
    params: ofDevice,
    body: coapRequest,
    reply: Type.Object({
      id: Type.Integer({ description: 'Message ID of the answer.' }),
      token: Type.String(),
      method: Type.String({ description: 'The code of the answer, such as `2.05`.' }),
      payload: Type.String(),
    }),
    reasons: ['CLIENT_NOT_FOUND', 'CLIENT_NOT_RESPONSE', 'BAD_REQUEST'],
    access: 'change',
  }),
  lookup_lwm2m_answer: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways/lwm2m/clients/:clientid/lookup',
    summary: 'Returns the last answer of a device to a command. `6.01`: there is none.',
    params: ofDevice,
    query: Type.Object({
      path,
      action: Type.Optional(Type.String({ description: 'The msgType of the command: `read`, `write`, `discover`.' })),
    }),
    reply: Type.Object({
      code: Type.Literal(0),
      data: Type.Object({
        clientid: Type.String(),
        path: Type.String(),
        action: Type.String(),
        code: Type.String(),
        codeMsg: Type.String(),
        content: Type.Array(Type.Unknown()),
      }),
    }),
    reasons: ['CLIENT_NOT_FOUND', 'BAD_REQUEST'],
    access: 'read',
  }),
  observe_lwm2m: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/gateways/lwm2m/clients/:clientid/observe',
    summary: 'Observes a path of a device, or ends that.',
    params: ofDevice,
    query: Type.Object({ path, enable: Type.Optional(Type.Boolean()) }),
    reply: done,
    reasons: ['CLIENT_NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
  read_lwm2m: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/gateways/lwm2m/clients/:clientid/read',
    summary: 'Reads a path of a device. The answer is published, and found by lookup.',
    params: ofDevice,
    query: Type.Object({ path }),
    reply: done,
    reasons: ['CLIENT_NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
  write_lwm2m: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/gateways/lwm2m/clients/:clientid/write',
    summary: 'Writes a resource of a device.',
    params: ofDevice,
    query: Type.Object({
      path,
      type: Type.Optional(Type.String({ description: 'Integer, Float, Time, String, Boolean, Opaque or Objlnk.' })),
      value: Type.Optional(Type.String()),
    }),
    reply: done,
    reasons: ['CLIENT_NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
}
