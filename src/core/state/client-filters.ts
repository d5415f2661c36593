// Filters of clients, counted, for bridges that make the same subscriptions at their remote brokers. Nothing is counted unless
// a bridge needs it.
//
//   a session subscribes ──note──> counts by filter ──┐
//   existing sessions    ──walk──> in slices ─────────┴──take──> 'a/#' at QoS 1, 'b' removed
//
// Not counted: filters that start with `$` (topics of the broker and of namespaces), and subscriptions of bridges, of this and
// of other brokers. Otherwise two brokers would keep each other's subscriptions forever.

import { removeFilterPrefix, type QoS, type TopicFilter } from '../../protocol/index.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import type { SubscriptionOptions } from '../topics/index.ts'

/** Maximum filters reported. Further ones are reported when one of these is removed. */
export const maxFiltersReported = 10_000
/** Sessions in one slice of the walk. */
const sessionsAtOnce = 1_000
const subscriptionsAtOnce = 2_000

/** Number of subscriptions by QoS. */
type Holders = [number, number, number]

/** Undefined: no client subscribes to it any more. */
export type FilterChange = readonly [filter: TopicFilter, qos: QoS | undefined]

interface Subscriber {
  readonly clientId: string
  readonly place: number
  readonly subscriptions: ReadonlyMap<TopicFilter, SubscriptionOptions> | undefined
}

interface Subscribers {
  readonly places: number
  at(index: number): Subscriber | undefined
}

export class ClientFilters {
  readonly #holders = new Map<TopicFilter, Holders>()
  readonly #reported = new Map<TopicFilter, QoS>()
  readonly #unreported = new Set<TopicFilter>()
  readonly #changed = new Set<TopicFilter>()
  readonly #maxFilters: number
  /** Sessions at lower indexes are counted; new sessions there are counted when they subscribe. */
  #walkedTo = 0

  constructor(maxFilters: number = maxFiltersReported) {
    this.#maxFilters = maxFilters
  }

  /** All subscriptions that existed at the start are counted. */
  get isComplete(): boolean {
    return this.#walkedTo === Infinity
  }

  /** Number of filters beyond the maximum. */
  get unreported(): number {
    return this.#unreported.size
  }

  /** A subscription was added, changed or removed; `undefined` on the side where there is none. */
  recordChange(
    { clientId, place }: Pick<Subscriber, 'clientId' | 'place'>,
    filter: TopicFilter,
    change: { readonly before: SubscriptionOptions | undefined; readonly after: SubscriptionOptions | undefined },
  ): void {
    if (place >= this.#walkedTo || isInternalClient(clientId)) return
    this.#count(filter, change.before, -1)
    this.#count(filter, change.after, 1)
  }

  /** The session ends and is still at its index. */
  forget(session: Subscriber): void {
    for (const [filter, before] of session.subscriptions ?? [])
      this.recordChange(session, filter, { before, after: undefined })
  }

  /** Counts a slice of the existing subscriptions. */
  walk(subscribers: Subscribers): void {
    let left = subscriptionsAtOnce
    for (let looked = 0; looked < sessionsAtOnce && left > 0; looked++) {
      const place = this.#walkedTo
      if (place >= subscribers.places) return void (this.#walkedTo = Infinity)
      this.#walkedTo = place + 1
      const found = subscribers.at(place)
      for (const [filter, after] of found?.subscriptions ?? []) {
        left--
        if (found !== undefined) this.recordChange(found, filter, { before: undefined, after })
      }
    }
  }

  /** Returns the changes since the last call. */
  take(): FilterChange[] {
    const changes: FilterChange[] = []
    for (const filter of this.#changed) {
      const qos = findHighestQoS(this.#holders.get(filter))
      const reported = this.#reported.get(filter)
      if (qos === undefined) this.#unreported.delete(filter)
      if (qos === reported) continue
      if (qos === undefined) this.#reported.delete(filter)
      else if (reported === undefined && this.#reported.size >= this.#maxFilters) this.#unreported.add(filter)
      else this.#reported.set(filter, qos)
      if (reported !== undefined || this.#reported.has(filter)) changes.push([filter, qos])
    }
    this.#changed.clear()
    for (const filter of this.#unreported) {
      if (this.#reported.size >= this.#maxFilters) break
      const qos = findHighestQoS(this.#holders.get(filter))
      this.#unreported.delete(filter)
      if (qos === undefined) continue
      this.#reported.set(filter, qos)
      changes.push([filter, qos])
    }
    return changes
  }

  /** Returns all reported filters. */
  get all(): FilterChange[] {
    return [...this.#reported]
  }

  #count(filter: TopicFilter, options: SubscriptionOptions | undefined, change: 1 | -1): void {
    // Bridges of other brokers request both options, or the broker sets both for them.
    if (options === undefined || (options.noLocal && options.retainAsPublished)) return
    const bare = removeFilterPrefix(filter)
    if (bare.startsWith('$')) return
    const holders = this.#holders.get(bare) ?? [0, 0, 0]
    holders[options.qos] += change
    if (findHighestQoS(holders) === undefined) this.#holders.delete(bare)
    else this.#holders.set(bare, holders)
    this.#changed.add(bare)
  }
}

function findHighestQoS(holders: Holders | undefined): QoS | undefined {
  if (holders === undefined) return undefined
  if (holders[2] > 0) return 2
  if (holders[1] > 0) return 1
  return holders[0] > 0 ? 0 : undefined
}
