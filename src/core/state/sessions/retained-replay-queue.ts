// Pending replays of retained messages, for each subscription of a session in order. A client may subscribe to a
// hundred thousand filters with one packet, so no operation on one of them visits the others.

import { removeFilterPrefix, type TopicFilter, type TopicName } from '../../../protocol/index.ts'
import type { PeerNumber } from '../../model/peer-names.ts'
import type { RetainedMessage } from '../../messages/retained-message.ts'
import { type RetainedCursor, type SubscriptionOptions, SubscriptionTrie } from '../../topics/index.ts'

/** The progress of each shard when it learned of the subscription. See retained-from-peers.ts. */
export interface RetainedMarks {
  /** By shard: numbers of messages that it had sent to each stored shard. Without an entry: not reported yet, or none. */
  readonly sentBy: Map<PeerNumber, ReadonlyMap<PeerNumber, number>>
  isComplete: boolean
}

/** The place of retained messages: this shard, or another. */
export type RetainedSource =
  | { readonly cursor: RetainedCursor<RetainedMessage>; readonly marks: RetainedMarks }
  | { readonly owner: PeerNumber; marks: RetainedMarks; requestId: number; isRequested: boolean; hasBegun: boolean }

/** A replay of retained messages for a new subscription. */
export interface RetainedReplay {
  readonly filter: TopicFilter
  readonly options: SubscriptionOptions
  readonly source: RetainedSource
  /** Found, and not yet taken by the session. */
  found: RetainedMessage[]
  isAtEnd: boolean
}

/** Entries of completed replays are removed when there are this many more of them than of the others. */
const maxEmptyPlaces = 1_024

export class RetainedReplayQueue {
  /** Dropped replays stay in their places until their turn. */
  #inOrder: RetainedReplay[] = []
  #first = 0
  #count = 0
  readonly #byFilter = new Map<TopicFilter, RetainedReplay[]>()
  /** By topics that the filters match. */
  readonly #byTopic = new SubscriptionTrie<RetainedReplay[], true>()
  /** Number of PINGRESP packets to send when no replay is left. */
  pingsAtEnd = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  add(scan: RetainedReplay): void {
    const { filter } = scan
    if (this.#inOrder.length > 2 * this.#count + maxEmptyPlaces) this.#closeUp()
    this.#count += 1
    this.#inOrder.push(scan)
    const known = this.#byFilter.get(filter)
    if (known !== undefined) return void known.push(scan)
    const scans = [scan]
    this.#byFilter.set(filter, scans)
    this.#byTopic.add(removeFilterPrefix(filter), scans, true)
  }

  /** The current replay. */
  get first(): RetainedReplay | undefined {
    for (;;) {
      const scan = this.#inOrder[this.#first]
      if (scan === undefined || this.#isPresent(scan)) return scan
      this.#first += 1
    }
  }

  /** The replay has found all messages. */
  end(scan: RetainedReplay): void {
    const { filter } = scan
    const scans = this.#byFilter.get(filter)
    const place = scans?.indexOf(scan) ?? -1
    if (scans === undefined || place === -1) return
    this.#count -= 1
    scans.splice(place, 1)
    if (scans.length === 0) this.#forget(filter, scans)
  }

  /** Removes the replays of one subscription, which was removed or replaced. */
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

  /** Returns whether a replay may still send the topic of this name. */
  awaitsTopic(name: TopicName): boolean {
    return this.#byTopic.findSubscribers(name).length > 0
  }

  #isPresent(scan: RetainedReplay): boolean {
    return this.#byFilter.get(scan.filter)?.includes(scan) === true
  }

  #forget(filter: TopicFilter, scans: RetainedReplay[]): void {
    this.#byFilter.delete(filter)
    this.#byTopic.remove(removeFilterPrefix(filter), scans)
  }

  #closeUp(): void {
    this.#inOrder = this.#inOrder.slice(this.#first).filter((scan) => this.#isPresent(scan))
    this.#first = 0
  }
}
