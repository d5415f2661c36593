// Exclusive subscriptions, `$exclusive/filter`: no two sessions hold the same one at a time. A session may hold a filter
// exclusively or as everybody does; the later SUBSCRIBE replaces the earlier, of whichever kind it was.
//
//   book:  filter without `$exclusive/` ──► the session that holds it
//
// The book is made of the subscriptions themselves: what is restored with a session is in it again.

import { splitExclusiveFilter, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import type { Session } from '../sessions/session.ts'

/** False: another session has it. True for every filter that is not exclusive. */
export function mayHold(state: BrokerState, session: Session, filter: TopicFilter): boolean {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined) return true
  const holder = state.exclusive.get(bare)
  return holder === undefined || holder === session
}

export function noteHeld(state: BrokerState, session: Session, filter: TopicFilter): void {
  const bare = splitExclusiveFilter(filter)
  if (bare !== undefined) state.exclusive.set(bare, session)
}

export function giveBack(state: BrokerState, session: Session, filter: TopicFilter): void {
  const bare = splitExclusiveFilter(filter)
  if (bare !== undefined && state.exclusive.get(bare) === session) state.exclusive.delete(bare)
}

/** The subscription of the other kind to the same filter, which goes when this one comes; undefined where there is none. */
export function counterpart(session: Session, filter: TopicFilter): TopicFilter | undefined {
  const { subscriptions } = session
  if (subscriptions === undefined || subscriptions.size === 0) return undefined
  const other = splitExclusiveFilter(filter) ?? (`$exclusive/${filter}` as TopicFilter)
  return subscriptions.has(other) ? other : undefined
}
