// Roles in version 5 of the API: `viewer`, or `ns:plant::viewer` in a namespace.

import type { Role } from '../../contract/index.ts'
import { ApiError, refuseFor, readRequestedRole } from '../../management/index.ts'

export interface RoleAssignment<Known extends Role = Role> {
  readonly role: Known
  /** undefined: in none. */
  readonly namespace: string | undefined
}

export function formatRole({ role, namespace }: RoleAssignment): string {
  return namespace === undefined ? role : `ns:${namespace}::${role}`
}

/**
 * Returns the role of `role` (or `tags`) and `namespace`, for a user with the role `before`. The form of the text was
 * checked.
 */
export function readRoleAssignment<Known extends Role>(
  requested: {
    readonly role?: string | undefined
    readonly tags?: string | undefined
    readonly namespace?: string | null | undefined
  },
  before: RoleAssignment<Known>,
): RoleAssignment<Known> | ApiError {
  const roleText = readRequestedRole(requested)
  if (roleText instanceof ApiError) return roleText
  if (roleText === undefined) {
    return requested.namespace === undefined ? before : { ...before, namespace: requested.namespace ?? undefined }
  }
  const [, inRole, plain = roleText] = /^ns:(.*)::(\w+)$/.exec(roleText) ?? []
  const role = plain as Known
  if (inRole !== undefined && requested.namespace !== undefined && requested.namespace !== inRole) {
    return refuseFor('BAD_REQUEST', `role in the body names the namespace ${inRole}, and namespace another one`)
  }
  return { role, namespace: inRole ?? requested.namespace ?? undefined }
}
