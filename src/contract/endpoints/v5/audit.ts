// The audit log.

import { endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'

const words = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))
const moment = Type.Optional(
  Type.String({ maxLength: 64, description: 'RFC 3339, or milliseconds since 1970. Inclusive.' }),
)

const entry = Type.Object({
  at: Type.String({ description: 'RFC 3339.' }),
  at_ms: Type.Integer(),
  username: Type.String({ description: 'Account, API key or subject of a token; `local` over the socket.' }),
  by: Type.String({ description: '`account`, `api-key`, `token`, `socket`, `nobody`, `signal`.' }),
  role: Type.String(),
  namespace: Type.Union([Type.String(), Type.Null()], { description: 'That it was about; null: the whole broker.' }),
  address: Type.String(),
  via: Type.String({ description: '`v4`, `v5`, `ctl`, `signal`.' }),
  operation: Type.String({ description: 'As the OpenAPI document calls it.' }),
  method: Type.String(),
  path: Type.String(),
  request: Type.Unknown({ description: 'What was sent: shortened, and without secrets.' }),
  status: Type.Integer(),
  code: Type.Integer(),
  outcome: Type.String({ description: '`done`, `refused` or `failed`.' }),
  message: Type.String({ description: 'Why it was not done.' }),
  took_ms: Type.Integer(),
})

export const auditEndpoints = {
  get_audit: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/audit',
    summary: 'Who has changed what, when and from where, the newest first. So much is kept as `max_bytes` says.',
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: '100 unless told.' })),
      username: words('Who it was, exactly.'),
      operation: words('Which operation, by its name.'),
      outcome: words('`done`, `refused` or `failed`.'),
      via: words('`v4`, `v5`, `ctl` or `signal`.'),
      address: words('Where it came from.'),
      since: moment,
      until: moment,
    }),
    reply: Type.Object({
      code: Type.Literal(0),
      data: Type.Array(entry),
      meta: Type.Object({
        page: Type.Integer(),
        limit: Type.Integer(),
        count: Type.Integer(),
        hasnext: Type.Boolean(),
        max_bytes: Type.Integer({ description: 'Kept on disk; what is oldest goes first.' }),
      }),
    }),
    access: 'change',
    isForNamespaces: true,
  }),
}
