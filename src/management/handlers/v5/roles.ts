// Roles in version 5 of the API: `viewer`, or `ns:plant::viewer` in a namespace.

import type { Role } from '../../../contract/index.ts'
import { type ApiError, refuseFor, ApiError as RefusalValue } from '../../api-error.ts'
import { requestedRole } from '../../requested-role.ts'

export interface RoleAssignment<Known extends Role = Role> {
  readonly role: Known
  /** undefined: in none. */
  readonly namespace: string | undefined
}

export function writtenRole({ role, namespace }: RoleAssignment): string {
  return namespace === undefined ? role : `ns:${namespace}::${role}`
}

/**
 * Returns the role of `role` (or `tags`) and `namespace`, for a user with the role `before`. The form of the text was
 * checked.
 */
export function readRoleAssignment<Known extends Role>(
  told: {
    readonly role?: string | undefined
    readonly tags?: string | undefined
    readonly namespace?: string | null | undefined
  },
  before: RoleAssignment<Known>,
): RoleAssignment<Known> | ApiError {
  const said = requestedRole(told)
  if (said instanceof RefusalValue) return said
  if (said === undefined) {
    return told.namespace === undefined ? before : { ...before, namespace: told.namespace ?? undefined }
  }
  const [, inRole, plain = said] = /^ns:(.*)::(\w+)$/.exec(said) ?? []
  const role = plain as Known
  if (inRole !== undefined && told.namespace !== undefined && told.namespace !== inRole) {
    return refuseFor('BAD_REQUEST', `role in the body names the namespace ${inRole}, and namespace another one`)
  }
  return { role, namespace: inRole ?? told.namespace ?? undefined }
}
