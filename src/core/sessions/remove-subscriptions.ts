// Removes the subscriptions of an ended session from the router, in slices if there are many. A million takes ten
// seconds; between slices the shard serves its clients.
//
// Until then these subscriptions have no effect: a session that is neither connected nor persistent gets no messages,
// and is not chosen as a member of a shared group. Its exclusive filters are released at once.

import type { Parts } from '../state/parts.ts'
import type { EndingSession } from '../state/subscription-state.ts'
import type { Session } from '../state/sessions/session.ts'
import { releaseExclusive } from '../peers/exclusive-subscriptions.ts'
import { updateInterest, toPresence } from '../peers/update-interest.ts'

/** The subscriptions of larger sessions are removed in slices. */
const maxAtOnce = 1_000
/** About 3 ms. */
const filtersInSlice = 256

/** The session has ended and gets no messages any more. */
export function removeSubscriptions(
  state: Parts<'outputs' | 'peers' | 'router' | 'subscriptions'>,
  session: Session,
): void {
  const { subscriptions } = session
  if (subscriptions === undefined) return
  // They are not deleted from the map one by one, because the map would be rebuilt several times.
  const leaving = { session, rest: subscriptions.entries(), presence: toPresence(session) }
  if (subscriptions.size > 0) state.subscriptions.counts.subscribers--
  session.subscriptions = undefined
  if (subscriptions.size <= maxAtOnce) return void takeOut(state, leaving, Infinity)
  if (state.subscriptions.exclusiveHolders.size > 0)
    for (const filter of subscriptions.keys()) releaseExclusive(state, session, filter)
  state.subscriptions.endingSessions.push(leaving)
}

/** Removes the next slice of the session that ended first. */
export function continueRemovingSubscriptions(state: Parts<'outputs' | 'peers' | 'router' | 'subscriptions'>): void {
  const first = state.subscriptions.endingSessions.peek()
  if (first !== undefined && takeOut(state, first, filtersInSlice) === 'all') state.subscriptions.endingSessions.shift()
}

function takeOut(
  state: Parts<'outputs' | 'peers' | 'router' | 'subscriptions'>,
  { session, rest, presence }: EndingSession,
  max: number,
): 'all' | 'some' {
  for (let left = max; left > 0; left--) {
    const next = rest.next()
    if (next.done === true) return 'all'
    const [filter, before] = next.value
    state.subscriptions.countFilter(filter, -1)
    state.router.unsubscribe(filter, session)
    releaseExclusive(state, session, filter)
    updateInterest(state.peers, presence, filter, { before, after: undefined })
  }
  return 'some'
}
