// Roles in version 5 of the API.

import { Type } from '../../schema.ts'

const namespaceName = '[A-Za-z0-9][A-Za-z0-9_.-]{0,127}'

export const roleOfUser = Type.String({
  pattern: `^(ns:${namespaceName}::)?(administrator|viewer)$`,
  description:
    '`administrator` or `viewer`; `ns:<namespace>::administrator`, `ns:<namespace>::viewer` of one namespace.',
})

export const roleOfApiKey = Type.String({
  pattern: `^((ns:${namespaceName}::)?(administrator|viewer|publisher))$`,
  description: 'As of a person; also `publisher`, which may publish and nothing else.',
})

/** The name in version 4. */
export function sameAsRole<Schema extends typeof roleOfUser>(schema: Schema): Schema {
  return { ...schema, description: 'The same as `role`.' }
}

export const namespaceOrNull = Type.Union([Type.String({ pattern: `^${namespaceName}$` }), Type.Null()], {
  description: 'The namespace that it is kept to; null: none.',
})

export const scopes = Type.Null({ description: 'Rights are not cut any finer than by role.' })
