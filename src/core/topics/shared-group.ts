// The members of one shared subscription, `$share/name/filter`: each message goes to one of them [MQTT5-4.8.2-1..5].
//
//   #turn ──► member ──► member ──► member ──┐
//               ▲                            │     a ring in the order of arrival; a new member is inserted
//               └────────────────────────────┘     before `#turn`, so that it is the last of this round
//
// A ring instead of an array: any member is removed in one step, and the order of the others stays.

import type { TopicFilter } from '../../protocol/index.ts'
import type { SubscriptionOptions } from './subscription-options.ts'

/** One member of a group and its options. */
export interface SharedMember<S, O = SubscriptionOptions> {
  readonly subscriber: S
  readonly options: O
}

class GroupMember<S, O> implements SharedMember<S, O> {
  readonly subscriber: S
  options: O
  previous: GroupMember<S, O>
  next: GroupMember<S, O>

  constructor(subscriber: S, options: O) {
    this.subscriber = subscriber
    this.options = options
    this.previous = this
    this.next = this
  }
}

/** The members of one group on one filter, and the next one to receive. */
export class SharedGroup<S extends object, O = SubscriptionOptions> {
  /** The share name: the level after `$share/`. */
  readonly name: string
  /** The filter after the share name. */
  readonly filter: TopicFilter
  /** `$share/name/filter`. */
  readonly sharedFilter: TopicFilter
  readonly #members: Map<S, GroupMember<S, O>> = new Map()
  #turn: GroupMember<S, O> | undefined = undefined
  #deliveries = 0

  constructor(name: string, filter: TopicFilter) {
    this.name = name
    this.filter = filter
    this.sharedFilter = `$share/${name}/${filter}` as TopicFilter
  }

  /**
   * Returns 0, 1, 2, ... for selection by numbers. Each group counts separately, otherwise groups that are served
   * alternately would always choose the same members.
   */
  nextTurn(): number {
    return this.#deliveries++
  }

  get size(): number {
    return this.#members.size
  }

  /** The members in the order of their arrival. */
  iterateMembers(): Iterable<SharedMember<S, O>> {
    return this.#members.values()
  }

  /** Returns true if the subscriber is new; an existing member keeps its place and gets the new options. */
  add(subscriber: S, options: O): boolean {
    const seated = this.#members.get(subscriber)
    if (seated !== undefined) {
      seated.options = options
      return false
    }
    const member = new GroupMember(subscriber, options)
    this.#members.set(subscriber, member)
    if (this.#turn === undefined) this.#turn = member
    else insertBefore(this.#turn, member)
    return true
  }

  /** Returns true if the subscriber was a member. */
  remove(subscriber: S): boolean {
    const member = this.#members.get(subscriber)
    if (member === undefined) return false
    this.#members.delete(subscriber)
    if (this.#turn === member) this.#turn = member.next === member ? undefined : member.next
    member.previous.next = member.next
    member.next.previous = member.previous
    return true
  }

  /**
   * Returns the next member that `isEligible`; undefined if there is none. Each member is checked at most once, so the
   * cost grows with the number of consecutive members that are not eligible.
   */
  pick(isEligible: (subscriber: S) => boolean): SharedMember<S, O> | undefined {
    let member = this.#turn
    if (member === undefined) return undefined
    for (let checked = 0; checked < this.#members.size; checked += 1) {
      if (isEligible(member.subscriber)) {
        this.#turn = member.next
        return member
      }
      member = member.next
    }
    return undefined
  }
}

function insertBefore<S, O>(member: GroupMember<S, O>, newcomer: GroupMember<S, O>): void {
  newcomer.previous = member.previous
  newcomer.next = member
  member.previous.next = newcomer
  member.previous = newcomer
}
