// The parts of the broker that know nothing of each other.

import { done, endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'

const name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$',
  description: 'Letters, digits, `_`, `-` and `.`; a letter or a digit first.',
})

const record = {
  namespace: Type.String(),
  created_at: Type.Union([Type.String(), Type.Null()], {
    description: 'RFC 3339; null: a listener or an account names it, and nobody made it.',
  }),
}

export const namespaceEndpoints = {
  get_namespaces: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/namespaces',
    summary: 'The namespaces that were made, and those that a listener or an account names.',
    reply: Type.Object({ code: Type.Literal(0), data: Type.Array(Type.Object(record)) }),
    access: 'read',
  }),
  add_namespace: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/namespaces',
    summary: 'Makes a namespace known before anybody belongs to it.',
    body: Type.Object({ namespace: name }),
    reply: Type.Object({ code: Type.Literal(0), ...record }),
    access: 'change',
  }),
  remove_namespace: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/namespaces/:namespace',
    summary:
      'Takes a namespace away with the credentials, rules and bans that belong to it. Its clients and what they left behind stay.',
    params: Type.Object({ namespace: Type.String() }),
    reply: done,
    reasons: ['NOT_FOUND', 'CONFLICT'],
    access: 'change',
  }),
}
