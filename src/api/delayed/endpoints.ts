// Delayed messages: those to `$delayed/{n}/topic` that are not published yet.

import { endpoint, Type } from '../../contract/index.ts'

const number = Type.Integer({ minimum: 0 })
const time = Type.String({ description: 'Time in RFC 3339.' })
const settings = {
  enable: Type.Boolean(),
  max_delayed_messages: Type.Integer({ minimum: 0, description: 'Maximum number of delayed messages; 0: no limit.' }),
}
const message = {
  msgid: Type.String(),
  node: Type.String(),
  publish_at: time,
  expected_at: Type.String({ description: 'Time at which the message will be published, in RFC 3339.' }),
  delayed_interval: Type.Integer({
    minimum: 0,
    description: 'Delay between receiving and publishing the message, in seconds.',
  }),
  delayed_remaining: Type.Integer({ minimum: 0, description: 'Time until the message is published, in seconds.' }),
  topic: Type.String(),
  qos: number,
  payload_bytes: number,
  from_clientid: Type.String({ description: 'Client ID of the publisher; empty: the publisher was not a client.' }),
  from_username: Type.String({ description: 'User name of the publisher; empty: none.' }),
}
const params = Type.Object({ node: Type.String(), msgid: Type.String() })

export const delayedEndpoints = {
  get_delayed: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/delayed',
    summary: 'Returns the settings of delayed messages.',
    reply: Type.Object(settings),
    access: 'read',
  }),
  change_delayed: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/mqtt/delayed',
    summary: 'Changes the settings of delayed messages. Absent members stay unchanged.',
    body: Type.Object({
      enable: Type.Optional(settings.enable),
      max_delayed_messages: Type.Optional(settings.max_delayed_messages),
    }),
    reply: Type.Object(settings),
    access: 'change',
  }),
  list_delayed_messages: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/delayed/messages',
    summary: 'Lists the delayed messages that are not published yet, without their payloads.',
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    }),
    reply: Type.Object({
      data: Type.Array(Type.Object(message)),
      meta: Type.Object({ page: number, limit: number, count: number, hasnext: Type.Boolean() }),
    }),
    access: 'read',
  }),
  get_delayed_message: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/delayed/messages/:node/:msgid',
    summary: 'Returns a delayed message with its payload.',
    params,
    reply: Type.Object({ ...message, payload: Type.String({ description: 'Payload in Base64.' }) }),
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  delete_delayed_message: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/mqtt/delayed/messages/:node/:msgid',
    summary: 'Deletes a delayed message. The broker does not publish it.',
    params,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
}
