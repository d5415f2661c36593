// The audit log.

import { endpoint, Type } from '../../contract/index.ts'

const text = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))
const moment = Type.Optional(
  Type.String({
    maxLength: 64,
    description: 'Time in RFC 3339 or in milliseconds since 1970. Entries of exactly this time are included.',
  }),
)

const entry = Type.Object({
  at: Type.String({ description: 'Time of the entry, in RFC 3339.' }),
  at_ms: Type.Integer(),
  username: Type.String({ description: 'Account, API key or subject of a token; `local` over the socket.' }),
  by: Type.String({
    description: 'Kind of credentials: `account`, `api-key`, `token`, `socket`, `nobody` or `signal`.',
  }),
  role: Type.String(),
  namespace: Type.Union([Type.String(), Type.Null()], {
    description: 'Namespace that the request concerned; null: the whole broker.',
  }),
  address: Type.String(),
  via: Type.String({
    description: 'Origin of the request: `v4`, `v5`, `ctl`, `signal`, or `file`: a changed file was applied.',
  }),
  operation: Type.String({ description: 'Operation, as `operationId` in the OpenAPI document.' }),
  method: Type.String(),
  path: Type.String(),
  request: Type.Unknown({ description: 'Request: shortened, without secrets.' }),
  status: Type.Integer(),
  code: Type.Integer(),
  outcome: Type.String({ description: 'Outcome of the request: `done`, `refused` or `failed`.' }),
  message: Type.String({ description: 'Reason why the request was refused or failed.' }),
  took_ms: Type.Integer(),
})

export const auditEndpoints = {
  get_audit: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/audit',
    summary:
      'Lists the entries of the audit log, newest first. The log contains the newest entries, up to `max_bytes`.',
    query: Type.Object({
      page: Type.Optional(Type.Integer({ minimum: 1 })),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 10_000,
          description: 'Maximum number of entries in a page. Default: 100.',
        }),
      ),
      username: text('Account, API key or subject of a token.'),
      operation: text('Operation, as `operationId` in the OpenAPI document.'),
      outcome: text('Outcome of the request: `done`, `refused` or `failed`.'),
      via: text('Origin of the request: `v4`, `v5`, `ctl`, `signal`, or `file`: a changed file was applied.'),
      address: text('Address from which the request was sent.'),
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
        max_bytes: Type.Integer({
          description: 'Maximum size of the audit log on disk, in bytes. The oldest entries are deleted first.',
        }),
      }),
    }),
    access: 'change',
    isForNamespaces: true,
  }),
}
