// A client ID belongs to the identity that created its session. Otherwise a user with a valid password could connect
// with the client ID of another client, disconnect it and read its queue.
//
// Identities are compared by the authenticated name (`Identity.principal`), after authentication: an unauthenticated
// client does not learn which client IDs exist. An anonymous session has no owner, so an authenticated client may take
// it over; the reverse is refused.

import { reasonCodes } from '../../protocol/index.ts'
import type { Identity } from '../messages/identity.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { hasExpired } from '../sessions/end-session.ts'
import type { Session } from '../state/sessions/session.ts'

const anonymous = 'anonymous'

/** Returns undefined if the client may use `clientId`, the name of its session. */
export function refuseOtherIdentity(
  state: Parts<'nowMs' | 'outputs' | 'sessions' | 'settings'>,
  connection: Connection,
  { clientId, identity }: { readonly clientId: string; readonly identity: Identity },
): { readonly reason: typeof reasonCodes.clientIdentifierNotValid; readonly text: string } | undefined {
  if (!state.settings.bindsClientIds || connection.listener.isInternal === true) return undefined
  const session = state.sessions.get(clientId)
  if (session === undefined || hasExpired(state.nowMs, session) || isSameOwner(session, identity)) return undefined
  state.outputs.events.push({ event: 'client-id-refused', connection, clientId, owner: session.identity, identity })
  return { reason: reasonCodes.clientIdentifierNotValid, text: 'the client ID belongs to another identity' }
}

/** Returns whether this identity may resume the session. */
export function isSameOwner({ identity: owner }: Session, { principal }: Identity): boolean {
  const isUnowned = owner.principal === undefined || owner.principal === anonymous
  return isUnowned || owner.principal === principal
}
