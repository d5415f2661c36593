// Roles in version 5 of the API.

import { Type } from '../../contract/index.ts'

const namespaceName = '[A-Za-z0-9][A-Za-z0-9_.-]{0,127}'

export const roleOfUser = Type.String({
  pattern: `^(ns:${namespaceName}::)?(administrator|viewer)$`,
  description:
    'Role: `administrator` or `viewer`; limited to a namespace: `ns:<namespace>::administrator` or `ns:<namespace>::viewer`.',
})

export const roleOfApiKey = Type.String({
  pattern: `^((ns:${namespaceName}::)?(administrator|viewer|publisher))$`,
  description: 'Role: as for accounts, or `publisher`, which may only publish.',
})

/** The name in version 4. */
export function sameAsRole<Schema extends typeof roleOfUser>(schema: Schema): Schema {
  return { ...schema, description: 'Another name for `role`.' }
}

export const namespaceOrNull = Type.Union([Type.String({ pattern: `^${namespaceName}$` }), Type.Null()], {
  description: 'Namespace to which the access is limited; null: the whole broker.',
})

export const scopes = Type.Null({ description: 'Always null: only the role limits the access.' })
