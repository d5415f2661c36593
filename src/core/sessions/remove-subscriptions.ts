// The subscriptions of a session that has ended leave the routes, a slice at a time where they are very many: one of a million
// takes ten seconds, and the shard serves its clients between two slices.
//
// Until they are out nothing comes of them: whoever is not there and not stored is offered nothing, and is no member that a shared
// group would choose. What it held exclusively is free at once.

import type { BrokerState, EndingSession } from '../state/broker-state.ts'
import type { Session } from '../state/sessions/session.ts'
import { releaseExclusive } from '../peers/exclusive-subscriptions.ts'
import { updateInterest, presenceOf } from '../peers/update-interest.ts'

/** A session with more is taken out in slices. */
const mostAtOnce = 1_000
/** Some 3 ms. */
const filtersInSlice = 256

/** The session ends, and has none of them any more. */
export function removeSubscriptions(state: BrokerState, session: Session): void {
  const { subscriptions } = session
  if (subscriptions === undefined) return
  // One by one they are not taken out of the map, which would then be made anew several times.
  const leaving = { session, rest: subscriptions.entries(), standing: presenceOf(session) }
  if (subscriptions.size > 0) state.subscriptionCounts.subscribers--
  session.subscriptions = undefined
  if (subscriptions.size <= mostAtOnce) return void takeOut(state, leaving, Infinity)
  if (state.exclusiveHolders.size > 0)
    for (const filter of subscriptions.keys()) releaseExclusive(state, session, filter)
  state.endingSessions.push(leaving)
}

/** The next slice, of the session that has ended first. */
export function continueRemovingSubscriptions(state: BrokerState): void {
  const first = state.endingSessions.peek()
  if (first !== undefined && takeOut(state, first, filtersInSlice) === 'all') state.endingSessions.shift()
}

function takeOut(state: BrokerState, { session, rest, standing }: EndingSession, most: number): 'all' | 'some' {
  for (let left = most; left > 0; left--) {
    const next = rest.next()
    if (next.done === true) return 'all'
    const [filter, before] = next.value
    state.countFilter(filter, -1)
    state.router.unsubscribe(filter, session)
    releaseExclusive(state, session, filter)
    updateInterest(state, standing, filter, { before, after: undefined })
  }
  return 'some'
}
