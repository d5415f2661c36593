// Sets the identity of a session, at CONNECT or after a re-authentication.

import type { Identity } from '../messages/identity.ts'
import type { BrokerRouter } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Session } from '../state/sessions/session.ts'

/** For a session with more subscriptions, all match plans are dropped, not only those of its topics. */
const maxFiltersTouched = 1_000

export function setIdentity(
  state: Parts<'access' | 'deadlines' | 'router'>,
  connection: Connection,
  session: Session,
  identity: Identity,
): void {
  const isOther =
    session.restored?.identityIsFromDisk === true ||
    session.mountpoint !== connection.mountpoint ||
    !isSameIdentity(session.identity, identity)
  session.identity = identity
  if (session.restored !== undefined) session.restored.identityIsFromDisk = false
  session.mountpoint = connection.mountpoint
  connection.authorizationCache = undefined
  if (identity.expiresAtMs === undefined) state.deadlines.cancel('identity-expiry', connection)
  else state.deadlines.set('identity-expiry', connection, identity.expiresAtMs)
  if (isOther && !state.access.permissions.allowsEverything) forgetItsPlans(state.router, session)
}

function isSameIdentity(one: Identity, other: Identity): boolean {
  return (
    one === other ||
    (one.username === other.username &&
      one.peerAddress === other.peerAddress &&
      one.isSuperuser === other.isSuperuser &&
      one.grants === other.grants)
  )
}

/** Removes match plans with filters of the session, because its permissions may have changed. */
function forgetItsPlans(router: BrokerRouter, session: Session): void {
  const { subscriptions } = session
  if (subscriptions === undefined) return
  if (subscriptions.size > maxFiltersTouched) return router.forgetPlans()
  for (const filter of subscriptions.keys()) router.forgetPlansFor(filter)
}
