// Retained messages that a session is still to be given, for each of its subscriptions in their order. A client may subscribe
// to a hundred thousand filters with one packet, so nothing that is done for one of them looks at the others.

import { bareFilter, type TopicFilter, type TopicName } from '../../../protocol/index.ts'
import type { PeerNumber } from '../../model/peer-messages.ts'
import type { RetainedMessage } from '../../model/retained-message.ts'
import { type RetainedCursor, type SubscriptionOptions, SubscriptionTrie } from '../../topics/index.ts'

/** Of several shards: how far each had come when it learned of the subscription. See retained-from-peers.ts. */
export interface RetainedMarks {
  /** By shard: how many numbered messages it had sent to each; undefined: it has not said. */
  readonly sentBy: (readonly number[] | undefined)[]
  isComplete: boolean
}

/**
 * Where retained messages are: here, or with another shard. `begunAfter`: how many publications topics had been given when
 * it began; only where this shard is the only one, as the marks say it otherwise.
 */
export type RetainedSource =
  | {
      readonly cursor: RetainedCursor<RetainedMessage>
      readonly marks: RetainedMarks | undefined
      readonly begunAfter: number
    }
  | { readonly owner: PeerNumber; marks: RetainedMarks; question: number; isAsked: boolean; hasBegun: boolean }

/** Retained messages that a new subscription is still to be given. */
export interface RetainedReplay {
  readonly filter: TopicFilter
  readonly options: SubscriptionOptions
  readonly source: RetainedSource
  /** Found, and not yet taken by the session. */
  found: RetainedMessage[]
  isAtEnd: boolean
}

/** Places of scans that are over are given back when they are more than those that are not, and so many more. */
const mostEmptyPlaces = 1_024

export class RetainedReplayQueue {
  /** Those that were dropped stay in their places until it is their turn. */
  #inOrder: RetainedReplay[] = []
  #first = 0
  #count = 0
  readonly #byFilter = new Map<TopicFilter, RetainedReplay[]>()
  /** The same by what the filters match. */
  readonly #byTopic = new SubscriptionTrie<RetainedReplay[], true>()

  get isEmpty(): boolean {
    return this.#count === 0
  }

  add(scan: RetainedReplay): void {
    const { filter } = scan
    if (this.#inOrder.length > 2 * this.#count + mostEmptyPlaces) this.#closeUp()
    this.#count += 1
    this.#inOrder.push(scan)
    const known = this.#byFilter.get(filter)
    if (known !== undefined) return void known.push(scan)
    const scans = [scan]
    this.#byFilter.set(filter, scans)
    this.#byTopic.add(bareFilter(filter), scans, true)
  }

  /** The one whose turn it is. */
  get first(): RetainedReplay | undefined {
    for (;;) {
      const scan = this.#inOrder[this.#first]
      if (scan === undefined || this.#isThere(scan)) return scan
      this.#first += 1
    }
  }

  /** It has found everything. */
  end(scan: RetainedReplay): void {
    const { filter } = scan
    const scans = this.#byFilter.get(filter)
    const place = scans?.indexOf(scan) ?? -1
    if (scans === undefined || place === -1) return
    this.#count -= 1
    scans.splice(place, 1)
    if (scans.length === 0) this.#forget(filter, scans)
  }

  /** Those of one subscription, which is gone or begins anew. */
  drop(filter: TopicFilter): readonly RetainedReplay[] {
    const dropped = this.#byFilter.get(filter)
    if (dropped === undefined) return []
    this.#count -= dropped.length
    this.#forget(filter, dropped)
    return dropped
  }

  *all(): Generator<RetainedReplay> {
    for (const scans of this.#byFilter.values()) yield* scans
  }

  /** Whether a topic of this name is among what is still to be given. */
  awaits(name: TopicName): boolean {
    return this.#byTopic.audiencesFor(name).length > 0
  }

  #isThere(scan: RetainedReplay): boolean {
    return this.#byFilter.get(scan.filter)?.includes(scan) === true
  }

  #forget(filter: TopicFilter, scans: RetainedReplay[]): void {
    this.#byFilter.delete(filter)
    this.#byTopic.remove(bareFilter(filter), scans)
  }

  #closeUp(): void {
    this.#inOrder = this.#inOrder.slice(this.#first).filter((scan) => this.#isThere(scan))
    this.#first = 0
  }
}
