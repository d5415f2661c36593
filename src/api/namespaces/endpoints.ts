// Namespaces.

import { endpoint, Type } from '../../contract/index.ts'

const name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$',
  description: 'Name of the namespace: letters, digits, `_`, `-` and `.`, starting with a letter or a digit.',
})

const limit = Type.Union(
  [Type.Integer({ minimum: 1, maximum: 2_147_483_647 }), Type.Literal('infinity'), Type.Null()],
  {
    description: 'Limit of this namespace; null: the limit in the section `namespaces` of the configuration.',
  },
)
const limits = { max_clients: limit, max_retained_messages: limit, messages_rate: limit }
const record = {
  namespace: Type.String(),
  created_at: Type.Union([Type.String(), Type.Null()], {
    description: 'Time at which the namespace was created, in RFC 3339; null: only a listener or an account names it.',
  }),
  clients: Type.Integer({ description: 'Number of connected clients.' }),
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
    summary: 'Lists the created namespaces, and the namespaces that a listener or an account names.',
    reply: Type.Object({ code: Type.Literal(0), data: Type.Array(Type.Object(record)) }),
    access: 'read',
  }),
  get_namespace: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/namespaces/:namespace',
    summary: 'Returns the use and the limits of a namespace. An account of a namespace can read only its own.',
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
      'Changes the limits of a namespace: connected clients, retained messages, and messages per second of all its clients together. Absent limits stay unchanged; existing clients and messages above a limit stay.',
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
      'Deletes a namespace with its credentials, rules, bans, sessions and retained messages, and disconnects its clients. Its archives stay.',
    params,
    reply: Type.Object({
      code: Type.Literal(0),
      sessions: Type.Integer({ description: 'Number of sessions that were ended, connected or not.' }),
      retained_messages: Type.Integer({ description: 'Number of retained messages that were deleted.' }),
    }),
    reasons: ['NOT_FOUND', 'CONFLICT'],
    access: 'change',
  }),
}
