// What the sessions of this shard subscribe to, counted by filter, and what of it the peers have been told.
//
//   'a/#' ── plain { 0: 12, 1: 3, 2: 0 }  stored { 0: 0, 1: 3, 2: 0 }      told: version 41
//
// Peers want to know whether there is anybody, not how many: twelve subscribers more change nothing. Only of a shared
// subscription the numbers themselves count, as messages are dealt out by them.

import type { QoS, TopicFilter } from '../../../protocol/index.ts'
import type { Interest } from '../../model/peer-messages.ts'
import { LargeMap, type LargeMapWalk } from '../../topics/index.ts'

/** One session's part in a filter. */
export interface InterestPart {
  readonly qos: QoS
  readonly isStored: boolean
  /** Its client is there. */
  readonly isPresent: boolean
  /** It holds as many messages as it may, as the others are to know. */
  readonly isFull: boolean
}

/** How a session counts, whatever the filter. */
export type SessionPresence = Omit<InterestPart, 'qos'>

export class InterestCount {
  readonly filter: TopicFilter
  readonly isShared: boolean
  readonly #all = [0, 0, 0]
  readonly #stored = [0, 0, 0]
  /** Members whose client is there, of a shared subscription. */
  present = 0
  /** Sessions that are full. */
  full = 0
  /** What peers know; undefined: nothing, which is nobody. */
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

  /** Undefined: nobody. */
  get interest(): Interest | undefined {
    if (this.members === 0) return undefined
    return {
      filter: this.filter,
      members: this.isShared ? this.present : this.members,
      storedMembers: this.storedMembers,
      storedQoS: highest(this.#stored),
      qos: highest(this.#all),
      isFull: this.full > 0 && !this.isShared,
    }
  }

  /** Peers know something else. */
  get hasChanged(): boolean {
    const { sent, interest } = this
    if (sent === undefined || interest === undefined) return sent !== interest
    if (sent.qos !== interest.qos || sent.storedQoS !== interest.storedQoS) return true
    if (this.isShared) return sent.members !== interest.members || sent.storedMembers !== interest.storedMembers
    return sent.storedMembers > 0 !== interest.storedMembers > 0 || sent.isFull !== interest.isFull
  }
}

export class LocalInterest {
  readonly #counts = new LargeMap<InterestCount>()
  readonly #changes = new Set<InterestCount>()
  #isToBeTold = false
  /** Of what was told last. */
  version = 0

  /** There is something to be told, or somebody waits for a sign that everything was seen. */
  get hasChanges(): boolean {
    return this.#isToBeTold || this.#changes.size > 0
  }

  /** A session's part in a filter has come (1) or gone (-1). */
  change(filter: TopicFilter, part: InterestPart, change: 1 | -1): void {
    let count = this.#counts.get(filter)
    if (count === undefined) {
      count = new InterestCount(filter)
      this.#counts.set(filter, count)
    }
    count.add(part, change)
    this.#look(count)
  }

  /** The client of a member of a shared subscription has come or gone. */
  changePresence(filter: TopicFilter, change: 1 | -1): void {
    const count = this.#counts.get(filter)
    if (count === undefined) return
    count.present += change
    this.#look(count)
  }

  /** A session that holds the filter has become full (1), or has room again (-1). */
  changeFullness(filter: TopicFilter, change: 1 | -1): void {
    const count = this.#counts.get(filter)
    if (count === undefined) return
    count.full += change
    this.#look(count)
  }

  of(filter: TopicFilter): InterestCount | undefined {
    return this.#counts.get(filter)
  }

  /** With which version peers know of the filter what is so now. The next one, where they are still to be told. */
  versionOf(filter: TopicFilter): number {
    const count = this.#counts.get(filter)
    if (count === undefined) return 0
    return this.#changes.has(count) ? this.nextVersion() : count.sentVersion
  }

  /** The version that is told next; from now on it will be, even if there is nothing new to say with it. */
  nextVersion(): number {
    this.#isToBeTold = true
    return this.version + 1
  }

  /** What is new, which is told with `version` from here on. */
  takeChanges(): Interest[] {
    this.version++
    this.#isToBeTold = false
    const changes: Interest[] = []
    for (const count of this.#changes) {
      const { interest } = count
      count.sent = interest
      count.sentVersion = this.version
      changes.push(interest ?? nobody(count.filter))
      if (interest === undefined) this.#counts.delete(count.filter)
    }
    this.#changes.clear()
    return changes
  }

  /** Everything, for a peer that knows nothing yet. */
  walk(): LargeMapWalk<InterestCount> {
    return this.#counts.walk()
  }

  #look(count: InterestCount): void {
    if (count.hasChanged) {
      this.#changes.add(count)
      return
    }
    this.#changes.delete(count)
    if (count.members === 0) this.#counts.delete(count.filter)
  }
}

function nobody(filter: TopicFilter): Interest {
  return { filter, members: 0, storedMembers: 0, storedQoS: 0, qos: 0, isFull: false }
}

function sum(counts: readonly number[]): number {
  return counts[0] + counts[1] + counts[2]
}

function highest(counts: readonly number[]): QoS {
  if (counts[2] > 0) return 2
  return counts[1] > 0 ? 1 : 0
}
