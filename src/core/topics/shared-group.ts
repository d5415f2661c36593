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

class Seat<S, O> implements SharedMember<S, O> {
  readonly subscriber: S
  options: O
  previous: Seat<S, O>
  next: Seat<S, O>

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
  readonly #seats: Map<S, Seat<S, O>> = new Map()
  #turn: Seat<S, O> | undefined = undefined
  #dealt = 0

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
    return this.#dealt++
  }

  get size(): number {
    return this.#seats.size
  }

  /** The members in the order of their arrival. */
  members(): Iterable<SharedMember<S, O>> {
    return this.#seats.values()
  }

  /** Returns true if the subscriber is new; an existing member keeps its place and gets the new options. */
  add(subscriber: S, options: O): boolean {
    const seated = this.#seats.get(subscriber)
    if (seated !== undefined) {
      seated.options = options
      return false
    }
    const seat = new Seat(subscriber, options)
    this.#seats.set(subscriber, seat)
    if (this.#turn === undefined) this.#turn = seat
    else insertBefore(this.#turn, seat)
    return true
  }

  /** Returns true if the subscriber was a member. */
  remove(subscriber: S): boolean {
    const seat = this.#seats.get(subscriber)
    if (seat === undefined) return false
    this.#seats.delete(subscriber)
    if (this.#turn === seat) this.#turn = seat.next === seat ? undefined : seat.next
    seat.previous.next = seat.next
    seat.next.previous = seat.previous
    return true
  }

  /**
   * Returns the next member that `isEligible`; undefined if there is none. Each member is checked at most once, so the
   * cost grows with the number of consecutive members that are not eligible.
   */
  pick(isEligible: (subscriber: S) => boolean): SharedMember<S, O> | undefined {
    let seat = this.#turn
    if (seat === undefined) return undefined
    for (let asked = 0; asked < this.#seats.size; asked += 1) {
      if (isEligible(seat.subscriber)) {
        this.#turn = seat.next
        return seat
      }
      seat = seat.next
    }
    return undefined
  }
}

function insertBefore<S, O>(seat: Seat<S, O>, newcomer: Seat<S, O>): void {
  newcomer.previous = seat.previous
  newcomer.next = seat
  seat.previous.next = newcomer
  seat.previous = newcomer
}
