// Observations of one CoAP client: an observation by its token, a subscription of the broker by its filter.
//
//   token ──> Observation ──n:1──> subscription id, filter

import type { TopicFilter } from '../../protocol/index.ts'

export interface Observation {
  readonly filter: TopicFilter
  readonly token: Buffer
  /** Path and query of its request, for further blocks of a notification. */
  readonly target: string
  /** Subscription identifier of its messages. */
  readonly subscriptionId: number
  sequence: number
  confirmedAtMs: number
}

/** Per client. */
const maxObservations = 256

export class CoapObservations {
  readonly #byToken = new Map<string, Observation>()
  readonly #bySubscription = new Map<number, Set<Observation>>()
  readonly #subscriptionIds = new Map<TopicFilter, number>()
  #nextSubscriptionId = 1

  get size(): number {
    return this.#byToken.size
  }

  withToken(token: Buffer): Observation | undefined {
    return this.#byToken.get(token.toString('hex'))
  }

  listOfSubscription(subscriptionId: number): readonly Observation[] {
    return [...(this.#bySubscription.get(subscriptionId) ?? [])]
  }

  isSubscribed(filter: TopicFilter): boolean {
    return this.#subscriptionIds.has(filter)
  }

  /** Replaces the one with this token. Undefined: the limit is reached. */
  add(
    { filter, target }: Pick<Observation, 'filter' | 'target'>,
    token: Buffer,
    nowMs: number,
  ): Observation | undefined {
    const before = this.withToken(token)
    if (before === undefined && this.#byToken.size >= maxObservations) return undefined
    if (before !== undefined) this.delete(before)
    const subscriptionId = this.#subscriptionIds.get(filter) ?? this.#nextSubscriptionId++
    this.#subscriptionIds.set(filter, subscriptionId)
    const observation: Observation = { filter, target, token, subscriptionId, sequence: 2, confirmedAtMs: nowMs }
    this.#byToken.set(token.toString('hex'), observation)
    const observations = this.#bySubscription.get(subscriptionId) ?? new Set()
    this.#bySubscription.set(subscriptionId, observations.add(observation))
    return observation
  }

  /** Returns true if it was the last one of its filter. */
  delete(observation: Observation): boolean {
    const { filter, token, subscriptionId } = observation
    const key = token.toString('hex')
    if (this.#byToken.get(key) !== observation) return false
    this.#byToken.delete(key)
    const observations = this.#bySubscription.get(subscriptionId)
    observations?.delete(observation)
    if (observations !== undefined && observations.size > 0) return false
    this.#bySubscription.delete(subscriptionId)
    this.#subscriptionIds.delete(filter)
    return true
  }

  clear(): void {
    this.#byToken.clear()
    this.#bySubscription.clear()
    this.#subscriptionIds.clear()
  }
}
