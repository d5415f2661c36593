// Schemas for functions of rules.

import { endpoint, Type } from '../../contract/index.ts'

const name = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
  description: 'Name of the schema: up to 64 letters, digits, `_` and `-`, starting with a letter or a digit.',
})
const type = Type.Union([Type.Literal('json'), Type.Literal('avro'), Type.Literal('protobuf')])
const source = Type.String({
  minLength: 1,
  maxLength: 262_144,
  description: 'JSON Schema, the JSON of an Avro schema, or a .proto file without imports.',
})
const settings = { type, source, description: Type.Optional(Type.String({ maxLength: 65_535 })) }
const schema = Type.Object({ name: Type.String(), type, source: Type.String(), description: Type.String() })
const params = Type.Object({ name: Type.String() })

export const schemaEndpoints = {
  get_schemas: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/schema_registry',
    summary: 'Lists schemas.',
    reply: Type.Array(schema),
    access: 'read',
  }),
  add_schema: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/schema_registry',
    summary: 'Adds a schema. A fault in its source is reported with line and column, or with the path in the JSON.',
    body: Type.Object({ name, ...settings }),
    status: 201,
    reply: schema,
    reasons: ['ALREADY_EXISTS'],
    access: 'change',
  }),
  get_schema: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/schema_registry/:name',
    summary: 'Returns a schema.',
    params,
    reply: schema,
    reasons: ['NOT_FOUND'],
    access: 'read',
  }),
  change_schema: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/schema_registry/:name',
    summary: 'Replaces a schema. Rules use the new schema from the next message on.',
    params,
    body: Type.Object(settings),
    reply: schema,
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
  remove_schema: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/schema_registry/:name',
    summary: 'Deletes a schema that no rule names.',
    params,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
}
