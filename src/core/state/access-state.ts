// Permissions, and the check of all sessions after they changed.

import type { Permissions } from '../messages/identity.ts'
import type { Session } from './sessions/session.ts'

export class AccessState {
  readonly permissions: Permissions
  /** Sessions to check since permissions changed; stale: they have changed again meanwhile. */
  checks: { readonly sessions: Iterator<Session>; isStale: boolean } | undefined = undefined

  constructor(permissions: Permissions) {
    this.permissions = permissions
  }
}
