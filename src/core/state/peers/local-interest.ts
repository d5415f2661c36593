// The filters of this shard's sessions: how many sessions have each filter, and which of this information the peers have.
//
//   'a/#' ── plain { 0: 12, 1: 3, 2: 0 }  stored { 0: 0, 1: 3, 2: 0 }      sent: version 41
//
// Peers need to know whether there are subscribers, but not how many: a further subscriber is not sent to them. For shared
// subscriptions they need the numbers, because messages are distributed in proportion to them.

import { splitExclusiveFilter, type QoS, type TopicFilter } from '../../../protocol/index.ts'
import type { Interest } from '../../model/peer-messages.ts'
import { LargeMap, type LargeMapWalk } from '../../topics/index.ts'

/** Part of one session in the interest in a filter. */
export interface InterestPart {
  readonly qos: QoS
  readonly isStored: boolean
  /** The client of the session is connected. */
  readonly isPresent: boolean
  /** The queue of the session is full, and the peers were informed. */
  readonly isFull: boolean
}

/** The fields that are equal for all filters of a session. */
export type SessionPresence = Omit<InterestPart, 'qos'>

export class InterestCount {
  readonly filter: TopicFilter
  readonly isShared: boolean
  readonly #all = [0, 0, 0]
  readonly #stored = [0, 0, 0]
  /** Connected members of a shared subscription. */
  present = 0
  /** Number of sessions with a full queue. */
  full = 0
  /** The interest that was sent to the peers; undefined: none. */
  sent: Interest | undefined = undefined
  sentVersion = 0

  constructor(filter: TopicFilter) {
    this.filter = filter
    this.isShared = filter.startsWith('$share/')
  }

  get members(): number {
    return sum(this.#all)
  }

  get storedMembers(): number {
    return sum(this.#stored)
  }

  add(part: InterestPart, change: 1 | -1): void {
    this.#all[part.qos] += change
    if (part.isStored) this.#stored[part.qos] += change
    if (part.isPresent && this.isShared) this.present += change
    if (part.isFull) this.full += change
  }

  /**
   * The shard cannot store a message for the filter. For a shared subscription: no member has space, so that publishers need not wait for
   * one full member.
   */
  get isFull(): boolean {
    return this.full > 0 && (!this.isShared || this.full >= this.members)
  }

  /** Undefined: no subscriber. */
  get interest(): Interest | undefined {
    if (this.members === 0) return undefined
    return {
      filter: this.filter,
      members: this.isShared ? this.present : this.members,
      storedMembers: this.storedMembers,
      storedQoS: findHighestQoS(this.#stored),
      qos: findHighestQoS(this.#all),
      isFull: this.isFull,
    }
  }

  /** Returns whether the interest differs from what was sent to the peers, in a way that matters to them. */
  get hasChanged(): boolean {
    const { sent, interest } = this
    if (sent === undefined || interest === undefined) return sent !== interest
    if (sent.qos !== interest.qos || sent.storedQoS !== interest.storedQoS) return true
    if (sent.isFull !== interest.isFull) return true
    if (this.isShared) return sent.members !== interest.members || sent.storedMembers !== interest.storedMembers
    return sent.storedMembers > 0 !== interest.storedMembers > 0
  }
}

export class LocalInterest {
  readonly #counts = new LargeMap<InterestCount>()
  readonly #changes = new Set<InterestCount>()
  #mustSendVersion = false
  /** The last version that was sent. */
  version = 0

  /** Returns whether there are changes to send, or a barrier waits for the confirmation of a version. */
  get hasChanges(): boolean {
    return this.#mustSendVersion || this.#changes.size > 0
  }

  /** Adds (1) or removes (-1) a session's part in a filter. */
  change(filter: TopicFilter, part: InterestPart, change: 1 | -1): void {
    let count = this.#counts.get(filter)
    if (count === undefined) {
      count = new InterestCount(filter)
      this.#counts.set(filter, count)
    }
    count.add(part, change)
    this.#recordChange(count)
  }

  /** The client of a session with these filters connected (1) or disconnected (-1). It matters for shared subscriptions only. */
  changePresence(filters: Iterable<TopicFilter>, change: 1 | -1): void {
    for (const filter of filters) {
      const count = filter.startsWith('$share/') ? this.#counts.get(filter) : undefined
      if (count === undefined) continue
      count.present += change
      this.#recordChange(count)
    }
  }

  /** The queue of a session with these filters became full (1), or has space again (-1). */
  changeFullness(filters: Iterable<TopicFilter>, change: 1 | -1): void {
    for (const filter of filters) {
      const count = this.#counts.get(splitExclusiveFilter(filter) ?? filter)
      if (count === undefined) continue
      count.full += change
      this.#recordChange(count)
    }
  }

  find(filter: TopicFilter): InterestCount | undefined {
    return this.#counts.get(filter)
  }

  /**
   * Returns the version with which the peers get the current state of the filter; the next one if that is not sent yet.
   */
  findVersion(filter: TopicFilter): number {
    const count = this.#counts.get(filter)
    if (count === undefined) return 0
    return this.#changes.has(count) ? this.nextVersion() : count.sentVersion
  }

  /** Returns the next version, which is now sent even if it contains no change. */
  nextVersion(): number {
    this.#mustSendVersion = true
    return this.version + 1
  }

  /** Returns the changes, which are sent with `version`. */
  takeChanges(): Interest[] {
    this.version++
    this.#mustSendVersion = false
    const changes: Interest[] = []
    for (const count of this.#changes) {
      const { interest } = count
      count.sent = interest
      count.sentVersion = this.version
      changes.push(interest ?? createEmptyInterest(count.filter))
      if (interest === undefined) this.#counts.delete(count.filter)
    }
    this.#changes.clear()
    return changes
  }

  /** Walks over all filters, for a new peer. */
  walk(): LargeMapWalk<InterestCount> {
    return this.#counts.walk()
  }

  #recordChange(count: InterestCount): void {
    if (count.hasChanged) {
      this.#changes.add(count)
      return
    }
    this.#changes.delete(count)
    if (count.members === 0) this.#counts.delete(count.filter)
  }
}

/** The interest of the only shard of a node. There is no peer that needs it, so it uses no memory. */
export class NoInterest extends LocalInterest {
  override change(): void {}
  override changePresence(): void {}
  override changeFullness(): void {}
}

function createEmptyInterest(filter: TopicFilter): Interest {
  return { filter, members: 0, storedMembers: 0, storedQoS: 0, qos: 0, isFull: false }
}

function sum(counts: readonly number[]): number {
  return counts[0] + counts[1] + counts[2]
}

function findHighestQoS(counts: readonly number[]): QoS {
  if (counts[2] > 0) return 2
  return counts[1] > 0 ? 1 : 0
}
