// Clients of gateways: lists, subscriptions, and requests to devices.

import { endpoint, Type } from '../../contract/index.ts'

const number = Type.Number({ minimum: 0 })
const done = Type.Object({ code: Type.Literal(0) })
const text = (description: string) => Type.Optional(Type.String({ description }))
const when = 'seconds or milliseconds since 1970, `YYYY-MM-DD HH:mm:ss`, or as in RFC 3339.'
const client = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Client with the members that `GET /api/v4/clients` returns.',
})
const ofClient = Type.Object({ name: Type.String(), clientid: Type.String() })
const ofDevice = Type.Object({ clientid: Type.String() })

const retainOptions = {
  rap: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1, description: 'Retain As Published: 1: messages keep their RETAIN flag.' }),
  ),
  rh: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2,
      description: 'Retain Handling: when retained messages are sent, as in MQTT 5.0.',
    }),
  ),
}

const subscription = Type.Object({
  topic: Type.String(),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  nl: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1, description: 'No Local: 1: the client does not receive its own messages.' }),
  ),
  ...retainOptions,
})
const newSubscription = Type.Object({
  topic: Type.String(),
  qos: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2, description: 'Maximum QoS of the subscription. Default: 0.' }),
  ),
  nl: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1,
      description: 'No Local: 1: the client does not receive its own messages. Default: 0.',
    }),
  ),
  ...retainOptions,
})

const coapRequest = Type.Object({
  token: Type.Optional(Type.String({ description: 'CoAP token of at most 8 bytes; absent: a random token.' })),
  method: Type.Union([Type.Literal('get'), Type.Literal('post'), Type.Literal('put'), Type.Literal('delete')]),
  timeout: Type.Optional(Type.String({ description: 'Time to wait for the response of the client. Default: `10s`.' })),
  content_type: Type.Optional(
    Type.Union(
      [Type.Literal('text/plain'), Type.Literal('application/json'), Type.Literal('application/octet-stream')],
      { description: 'Content format. For bytes (octets), the payload is base64 in the request and in the response.' },
    ),
  ),
  payload: Type.Optional(Type.String()),
})

const path = Type.Optional(Type.String({ description: 'LwM2M path `/object/instance/resource`, such as `/3/0/9`.' }))

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
      ip_address: text('IP address of the client.'),
      conn_state: text('`connected`, `disconnected` or `idle`.'),
      proto_ver: Type.Optional(Type.Integer({ description: 'Protocol version of the client.' })),
      clean_start: Type.Optional(Type.Boolean({ description: 'Whether the client connected with a new session.' })),
      like_clientid: text('Text that the client ID contains.'),
      like_username: text('Text that the user name contains.'),
      gte_created_at: text(`The session was created at this time or later: ${when}`),
      lte_created_at: text(`The session was created at this time or earlier: ${when}`),
      gte_connected_at: text(`The client connected at this time or later: ${when}`),
      lte_connected_at: text(`The client connected at this time or earlier: ${when}`),
      endpoint_name: text('LwM2M: the name of the endpoint.'),
      like_endpoint_name: text('LwM2M: text that the endpoint name contains.'),
      lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'LwM2M: lifetime in seconds.' })),
      gte_lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'LwM2M: minimum lifetime in seconds.' })),
      lte_lifetime: Type.Optional(Type.Integer({ minimum: 0, description: 'LwM2M: maximum lifetime in seconds.' })),
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
    summary: 'Sends a confirmable request to a CoAP client and returns the response of the client.',
    params: ofDevice,
    body: coapRequest,
    reply: Type.Object({
      id: Type.Integer({ description: 'Message ID of the response.' }),
      token: Type.String(),
      method: Type.String({ description: 'Code of the response, such as `2.05`.' }),
      payload: Type.String(),
    }),
    reasons: ['CLIENT_NOT_FOUND', 'CLIENT_NOT_RESPONSE', 'BAD_REQUEST'],
    access: 'change',
  }),
  lookup_lwm2m_answer: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/gateways/lwm2m/clients/:clientid/lookup',
    summary: 'Returns the last response of an LwM2M device to a command. Code `6.01`: there is no response.',
    params: ofDevice,
    query: Type.Object({
      path,
      action: Type.Optional(
        Type.String({ description: 'Type of the command (`msgType`): `read`, `write` or `discover`.' }),
      ),
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
    summary: 'Starts or stops observing a path of an LwM2M device.',
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
    summary: 'Sends a read command to an LwM2M device. The response is published, and `lookup` returns it.',
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
    summary: 'Sends a write command for a resource to an LwM2M device.',
    params: ofDevice,
    query: Type.Object({
      path,
      type: Type.Optional(
        Type.String({ description: 'Type of the value: Integer, Float, Time, String, Boolean, Opaque or Objlnk.' }),
      ),
      value: Type.Optional(Type.String()),
    }),
    reply: done,
    reasons: ['CLIENT_NOT_FOUND', 'BAD_REQUEST'],
    access: 'change',
  }),
}
