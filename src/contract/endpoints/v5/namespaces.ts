// Namespaces.

import { endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'

const name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$',
  description: 'Letters, digits, `_`, `-` and `.`; a letter or a digit first.',
})

const limit = Type.Union(
  [Type.Integer({ minimum: 1, maximum: 2_147_483_647 }), Type.Literal('infinity'), Type.Null()],
  {
    description: 'null: what `namespaces` of the configuration says for all.',
  },
)
const limits = { max_clients: limit, max_retained_messages: limit, messages_rate: limit }
const record = {
  namespace: Type.String(),
  created_at: Type.Union([Type.String(), Type.Null()], {
    description: 'RFC 3339; null: it was not created, but a listener or an account names it.',
  }),
  clients: Type.Integer({ description: 'Connected now.' }),
  retained_messages: Type.Integer(),
  limits: Type.Object(limits),
}
const params = Type.Object({ namespace: Type.String() })
const reply = Type.Object({ code: Type.Literal(0), ...record })

export const namespaceEndpoints = {
  get_namespaces: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/namespaces',
    summary: 'The namespaces that were made, and those that a listener or an account names.',
    reply: Type.Object({ code: Type.Literal(0), data: Type.Array(Type.Object(record)) }),
    access: 'read',
  }),
  get_namespace: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/namespaces/:namespace',
    summary: 'What a namespace has and may have. Who is kept to one sees that one.',
    params,
    reply,
    reasons: ['NOT_FOUND'],
    access: 'read',
    isForNamespaces: true,
  }),
  add_namespace: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/namespaces',
    summary: 'Creates a namespace before a client or account belongs to it.',
    body: Type.Object({ namespace: name }),
    reply,
    access: 'change',
  }),
  change_namespace: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/namespaces/:namespace',
    summary:
      'Changes what a namespace may have: clients connected at one time, topics with a retained message, messages a second of all its clients together. What is left out stays; what there is too much already stays too.',
    params,
    body: Type.Object({
      max_clients: Type.Optional(limit),
      max_retained_messages: Type.Optional(limit),
      messages_rate: Type.Optional(limit),
    }),
    reply,
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
  remove_namespace: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/namespaces/:namespace',
    summary:
      'Takes a namespace away with all that belongs to it: credentials, rules and bans, its clients, who are disconnected, their sessions, and retained messages. Its archives stay.',
    params,
    reply: Type.Object({
      code: Type.Literal(0),
      sessions: Type.Integer({ description: 'That ended, with a client or without.' }),
      retained_messages: Type.Integer({ description: 'That were removed.' }),
    }),
    reasons: ['NOT_FOUND', 'CONFLICT'],
    access: 'change',
  }),
}
