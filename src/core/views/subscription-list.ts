// The filter of subscription lists, and a slice of the matching subscriptions.

import {
  removeFilterPrefix,
  hasWildcard,
  matchesFilter,
  splitSharedFilter,
  type TopicFilter,
} from '../../protocol/index.ts'
import type { BrokerRouter } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import { isOfNamespace } from '../namespaces/namespaced-names.ts'
import type { Session } from '../state/sessions/session.ts'
import { type Slice, SliceBuilder, type SliceWanted, walkChosen, walkSessions } from './walk.ts'

/** Maximum number of subscribers of one topic that are sorted at once; with more, all sessions are visited. */
const maxOrdered = 1_000
/** Subscriptions of one session that are visited between two checks of the clock. */
const rowsBetweenLooks = 64

export interface SubscriptionView {
  readonly clientId: string
  /** With `$share/group/`, and with the mount point of its client. */
  readonly filter: TopicFilter
  readonly qos: number
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly retainHandling: number
}

/** All conditions must hold. */
export interface SubscriptionFilter {
  /** Undefined: subscriptions of all namespaces and of none. */
  readonly namespace?: string | undefined
  /** The name of the session. */
  readonly clientId?: string | undefined
  /** Filter as subscribed; with `group`, also the part of a shared subscription after the group. */
  readonly filter?: string | undefined
  /** Without `$share/group/` and `$exclusive/`. */
  readonly bareFilter?: string | undefined
  readonly qos?: number | undefined
  /** For shared subscriptions. */
  readonly group?: string | undefined
  /** True: shared subscriptions only; false: others only. */
  readonly isShared?: boolean | undefined
  /** A topic that it matches or, with wildcards, a filter that includes it. */
  readonly matching?: string | undefined
  /** Only one of all subscriptions to a topic on all shards, whether shared, exclusive or neither. */
  readonly isOnePerTopic?: boolean | undefined
}

export function listSubscriptions(
  state: Parts<'router' | 'sessions'>,
  filter: SubscriptionFilter,
  wanted: SliceWanted,
): Slice<SubscriptionView> {
  const { sessions } = state
  const builder = new SliceBuilder<SubscriptionView>(wanted)
  const visit = (session: Session, offset: number): number | undefined =>
    addRows(builder, session, { router: state.router, offset, filter, wanted })
  if (filter.clientId === undefined) {
    const chosen = listHolders(state.router, filter)
    const next = chosen === undefined ? walkSessions(sessions, wanted, visit) : walkChosen(chosen, wanted, visit)
    return { rows: builder.rows, passed: builder.passed, next }
  }
  const session = sessions.get(filter.clientId)
  const stoppedAt = session === undefined ? undefined : visit(session, wanted.from.offset)
  const next =
    session === undefined || stoppedAt === undefined ? undefined : { place: session.place, offset: stoppedAt }
  return { rows: builder.rows, passed: builder.passed, next }
}

/**
 * Returns the subscribers of the one requested topic, in the order of walks. Undefined: all sessions must be visited.
 */
function listHolders(router: BrokerRouter, { filter, bareFilter: bare }: SubscriptionFilter): Session[] | undefined {
  const topic = bare ?? (filter === undefined ? undefined : removeFilterPrefix(filter as TopicFilter))
  if (topic === undefined) return undefined
  const filterSubscribers = router.findFilterSubscribers(topic as TopicFilter)
  if (filterSubscribers === undefined) return []
  let subscribers = filterSubscribers.size
  filterSubscribers.walkGroups((group) => void (subscribers += group.size))
  if (subscribers > maxOrdered) return undefined
  const holders = new Set<Session>()
  filterSubscribers.forEach((session) => void holders.add(session))
  filterSubscribers.walkGroups((group) => {
    for (const { subscriber } of group.iterateMembers()) holders.add(subscriber)
  })
  return [...holders].toSorted((one, other) => one.place - other.place)
}

interface RowsWanted {
  readonly router: BrokerRouter
  readonly offset: number
  readonly filter: SubscriptionFilter
  readonly wanted: SliceWanted
}

/** Returns the offset at which it stopped, if it did. */
function addRows(
  builder: SliceBuilder<SubscriptionView>,
  session: Session,
  { router, offset, filter, wanted }: RowsWanted,
): number | undefined {
  const { clientId, subscriptions } = session
  if (filter.namespace !== undefined && !isOfNamespace(clientId, filter.namespace)) return undefined
  let at = 0
  for (const [held, { qos, noLocal, retainAsPublished, retainHandling }] of subscriptions ?? []) {
    if (at++ < offset) continue
    if (!matchesSubscriptionFilter(held, qos, filter)) continue
    if (filter.isOnePerTopic === true && !isFirstOfTopic(router, session, held)) continue
    if (builder.isFull) return at - 1
    builder.addRow(() => ({ clientId, filter: held, qos, noLocal, retainAsPublished, retainHandling }))
    if ((at - offset) % rowsBetweenLooks === 0 && wanted.isOver()) return at
  }
  return undefined
}

function matchesSubscriptionFilter(held: TopicFilter, qos: number, filter: SubscriptionFilter): boolean {
  if (filter.qos !== undefined && qos !== filter.qos) return false
  const isOfGroups = filter.group !== undefined || filter.isShared !== undefined
  const shared = isOfGroups ? splitSharedFilter(held) : undefined
  if (filter.isShared !== undefined && (shared !== undefined) !== filter.isShared) return false
  if (filter.group !== undefined && shared?.group !== filter.group) return false
  const ofGroup = filter.group === undefined ? undefined : shared?.filter
  if (filter.filter !== undefined && held !== filter.filter && ofGroup !== filter.filter) return false
  if (filter.bareFilter !== undefined && removeFilterPrefix(held) !== filter.bareFilter) return false
  return filter.matching === undefined || isMatching(removeFilterPrefix(held), filter.matching)
}

function isMatching(held: TopicFilter, matching: string): boolean {
  return hasWildcard(matching) ? matchesFilter(matching, held) : matchesFilter(held, matching)
}

/** The first shard with subscribers to a topic lists it, for the subscriber that represents all of them. */
function isFirstOfTopic(router: BrokerRouter, session: Session, held: TopicFilter): boolean {
  const bare = removeFilterPrefix(held)
  const first = router.findFilterSubscribers(bare)?.first
  if (first?.subscriber !== session || first.group !== splitSharedFilter(held)?.group) return false
  if (first.group === undefined && held !== bare && session.subscriptions?.has(bare) === true) return false
  return !router.isCountedOnPeers(bare)
}
