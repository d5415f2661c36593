// Programs that may use this API, with an ID and a secret.

import { noContent, endpoint, Type } from '../../contract/index.ts'
import { namespaceOrNull, roleOfApiKey, sameAsRole, scopes } from './role-schemas.ts'

const name = Type.String({ pattern: '^[A-Za-z][A-Za-z0-9-_]*$', maxLength: 256 })
const desc = Type.String({ maxLength: 1_024 })
const expiredAt = Type.String({
  maxLength: 64,
  description: 'Time at which the API key expires, in RFC 3339; `infinity`: never.',
})
const record = {
  name: Type.String(),
  api_key: Type.String({ description: 'ID of the API key, the user name in basic authentication.' }),
  desc: Type.String(),
  enable: Type.Boolean(),
  expired_at: expiredAt,
  expired: Type.Boolean({ description: 'true: the API key has expired.' }),
  created_at: Type.String({ description: 'Time at which the API key was created, in RFC 3339.' }),
  role: roleOfApiKey,
  scopes,
  namespace: namespaceOrNull,
}
const params = Type.Object({ name: Type.String() })
const change = {
  expired_at: Type.Optional(expiredAt),
  role: Type.Optional(roleOfApiKey),
  tags: Type.Optional(sameAsRole(roleOfApiKey)),
  namespace: Type.Optional(namespaceOrNull),
}

export const apiKeyEndpoints = {
  get_api_keys: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/api_key',
    summary: 'Lists the API keys, without their secrets.',
    reply: Type.Object({ code: Type.Literal(0), data: Type.Array(Type.Object(record)) }),
    access: 'accounts',
  }),
  add_api_key: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/api_key',
    summary: 'Creates an API key. Only this response contains the secret.',
    body: Type.Object({ name, desc, enable: Type.Boolean(), ...change }),
    reply: Type.Object({ code: Type.Literal(0), ...record, api_secret: Type.String() }),
    access: 'accounts',
  }),
  get_api_key: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/api_key/:name',
    summary: 'Returns an API key, without its secret.',
    params,
    reply: Type.Object({ code: Type.Literal(0), ...record }),
    reasons: ['NOT_FOUND'],
    access: 'accounts',
  }),
  change_api_key: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/api_key/:name',
    summary: 'Changes an API key. Absent members stay unchanged.',
    params,
    body: Type.Object({ desc: Type.Optional(desc), enable: Type.Optional(Type.Boolean()), ...change }),
    reply: Type.Object({ code: Type.Literal(0), ...record }),
    reasons: ['NOT_FOUND'],
    access: 'accounts',
  }),
  remove_api_key: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/api_key/:name',
    summary: 'Deletes an API key. Programs with this key lose access at once.',
    params,
    reply: noContent,
    reasons: ['NOT_FOUND'],
    access: 'accounts',
  }),
}
