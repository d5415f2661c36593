// Delayed messages: those to `$delayed/{n}/topic` that are not published yet.

import { endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'

const number = Type.Integer({ minimum: 0 })
const time = Type.String({ description: 'RFC 3339.' })
const settings = {
  enable: Type.Boolean(),
  max_delayed_messages: Type.Integer({ minimum: 0, description: '0: no limit.' }),
}
const message = {
  msgid: Type.String(),
  node: Type.String(),
  publish_at: time,
  expected_at: Type.String({ description: 'When it will be published, RFC 3339.' }),
  delayed_interval: Type.Integer({ minimum: 0, description: 'From one to the other, in seconds.' }),
  delayed_remaining: Type.Integer({ minimum: 0, description: 'Seconds from now.' }),
  topic: Type.String(),
  qos: number,
  payload_bytes: number,
  from_clientid: Type.String({ description: 'Empty: no client.' }),
  from_username: Type.String({ description: 'Empty: none.' }),
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
    summary: 'Changes the settings of delayed messages. What is left out stays.',
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
    summary: 'Lists messages that are not published yet, without their payloads.',
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
    summary: 'Returns a message that is not published yet.',
    params,
    reply: Type.Object({ ...message, payload: Type.String({ description: 'Base64.' }) }),
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  delete_delayed_message: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/mqtt/delayed/messages/:node/:msgid',
    summary: 'Deletes a message that is not published yet.',
    params,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
}
