// The subscribers of one shared subscription, `$share/name/filter`: each message goes to one of them [MQTT5-4.8.2-1..5].
//
//   #turn ──► member ──► member ──► member ──┐
//               ▲                            │     a ring in the order of arrival; a newcomer stands in
//               └────────────────────────────┘     front of `#turn`, so that it is the last of this round
//
// A ring and not an array: whoever leaves is taken out in one step, wherever it stands, and nobody loses a turn.

import type { TopicFilter } from '../../protocol/index.ts'
import type { SubscriptionOptions } from './subscription-options.ts'

/** One subscriber of a group and what it asked for. */
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

/** The members of one group on one filter, and whose turn it is. */
export class SharedGroup<S extends object, O = SubscriptionOptions> {
  /** The share name: what stands between `$share/` and the next slash. */
  readonly name: string
  /** The filter behind the share name. */
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

  /** 0, 1, 2, ...: for who deals by numbers. Of this group alone, or groups that are served in turn would fall into step. */
  nextTurn(): number {
    return this.#dealt++
  }

  get size(): number {
    return this.#seats.size
  }

  /** The members in the order in which they came. */
  members(): Iterable<SharedMember<S, O>> {
    return this.#seats.values()
  }

  /** True if the subscriber is new here; one that is not keeps its place and gets the new options. */
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

  /** True if the subscriber was a member. */
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
   * The next member in turn that `isEligible`; undefined if none is. It asks each member at most once, so its cost grows
   * with the number of members in a row that are not eligible.
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
