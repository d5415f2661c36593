// The receivers of messages on one topic: the matching subscriptions, collected by subscriber.
//
//   'a/b' ──match──► a/b: { 7: qos 0 }   a/+: { 7: qos 2, id 4 }   #: { 3: qos 1 }   $share/w/a/#: { 5, 6 }
//                          └──────────┬──────────┘                    │                    │
//   localMatches: 7: qos 2, identifiers [4]                  3: qos 1                      │
//   groups:       w on a/# ◄───────────────────────────────────────────────────────────────┘
//
// A plan is a snapshot and never changes. It refers to the groups themselves, so a change of members in a group that still exists is
// visible without a new plan.

import type { QoS } from '../../protocol/index.ts'
import type { Interest } from '../model/peer-messages.ts'
import type { MatchedRule } from '../model/rule-hook.ts'
import { combinePeerMatches, listCrossShardGroups, type PeerMatch, type CrossShardGroup } from './peer-matches.ts'
import type { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import type { FilterSubscribers } from './filter-subscribers.ts'

/** The combined options of all matching subscriptions of one subscriber. */
export interface EffectiveOptions {
  /** The highest QoS [MQTT-3.3.5-1] [MQTT5-3.3.4-2]. */
  readonly qos: QoS
  /** True if at least one subscription has Retain As Published. */
  readonly retainAsPublished: boolean
  /** The identifiers of all subscriptions that have one, with duplicates [MQTT5-3.3.4-3, -4]. */
  readonly identifiers: readonly number[] | undefined
  /** The highest value of all subscriptions, see `SubscriptionOptions`. */
  readonly raisesTo: QoS
}

/**
 * Subscriptions are added one by one in place: a session may have thousands that overlap, and copies would make the
 * cost quadratic.
 */
class CombinedOptions implements EffectiveOptions {
  qos: QoS
  retainAsPublished: boolean
  identifiers: number[] | undefined
  raisesTo: QoS

  constructor(first: EffectiveOptions) {
    this.qos = first.qos
    this.retainAsPublished = first.retainAsPublished
    this.identifiers = first.identifiers?.slice()
    this.raisesTo = first.raisesTo
  }

  combine(options: SubscriptionOptions): void {
    if (options.qos > this.qos) this.qos = options.qos
    if (options.retainAsPublished) this.retainAsPublished = true
    if (options.raisesTo > this.raisesTo) this.raisesTo = options.raisesTo
    if (options.identifier === undefined) return
    if (this.identifiers === undefined) this.identifiers = [options.identifier]
    else this.identifiers.push(options.identifier)
  }
}

/** One subscriber of a plan. It gets one copy, whatever the number of matching subscriptions. */
export class MatchedSubscriber<S extends object> extends CombinedOptions {
  readonly subscriber: S
  /** At least one of its matching subscriptions has No Local. */
  hasNoLocal: boolean
  /** Options without the No Local subscriptions. Set only if there are both kinds. */
  #forOwnMessages: CombinedOptions | undefined

  constructor(subscriber: S, options: SubscriptionOptions) {
    super(toEffectiveOptions(options))
    this.subscriber = subscriber
    this.hasNoLocal = options.noLocal
    this.#forOwnMessages = undefined
  }

  /** Returns whether the subscriber receives none of its own messages through this plan. */
  get allNoLocal(): boolean {
    return this.hasNoLocal && this.#forOwnMessages === undefined
  }

  /** Undefined if the subscriber published the message and all its subscriptions have No Local [MQTT5-3.8.3-3]. */
  selectEffective(publisherIsSelf: boolean): EffectiveOptions | undefined {
    return publisherIsSelf && this.hasNoLocal ? this.#forOwnMessages : this
  }

  /** Adds a subscription of the same subscriber. Called only while the plan is made. */
  include(options: SubscriptionOptions): void {
    if (options.noLocal && !this.hasNoLocal) {
      this.#forOwnMessages = new CombinedOptions(this)
      this.hasNoLocal = true
    } else if (!options.noLocal && this.hasNoLocal) {
      if (this.#forOwnMessages === undefined) this.#forOwnMessages = new CombinedOptions(toEffectiveOptions(options))
      else this.#forOwnMessages.combine(options)
    }
    this.combine(options)
  }
}

function toEffectiveOptions({ qos, retainAsPublished, identifier, raisesTo }: SubscriptionOptions): EffectiveOptions {
  return { qos, retainAsPublished, identifiers: identifier === undefined ? undefined : [identifier], raisesTo }
}

/**
 * The receivers of a topic: sessions of this shard, each once; shared subscriptions, of which one member each gets the message; and
 * peers (`P`).
 */
export class DeliveryPlan<S extends object, P extends object = object> {
  /** Sessions of this shard with non-shared subscriptions that match. */
  readonly localMatches: readonly MatchedSubscriber<S>[]
  /** Shared subscriptions with members on this shard only. */
  readonly groups: readonly SharedGroup<S>[]
  readonly peerMatches: readonly PeerMatch<P>[]
  readonly crossShardGroups: readonly CrossShardGroup<S, P>[]
  /** Rules whose filters match; undefined: none. */
  readonly rules: readonly MatchedRule[] | undefined

  constructor(
    localMatches: readonly MatchedSubscriber<S>[],
    groups: readonly SharedGroup<S>[],
    onPeers: {
      peerMatches: readonly PeerMatch<P>[]
      crossShardGroups: readonly CrossShardGroup<S, P>[]
    } = noPeerMatches,
    rules?: readonly MatchedRule[],
  ) {
    this.localMatches = localMatches
    this.groups = groups
    this.peerMatches = onPeers.peerMatches
    this.crossShardGroups = onPeers.crossShardGroups
    this.rules = rules
  }

  /** Returns whether there is no receiver. */
  get isEmpty(): boolean {
    return this.localMatches.length === 0 && this.groups.length === 0 && !this.hasPeers
  }

  /** Returns whether peers have, or may have, receivers. */
  get hasPeers(): boolean {
    return this.peerMatches.length > 0 || this.crossShardGroups.length > 0
  }
}

/** Which subscribers receive messages of one topic. */
export interface Admission<S> {
  /** Returns whether the subscriber may receive the topic. */
  readonly admits: (subscriber: S) => boolean
  /** Returns whether the subscription, with its first wildcard at `wildcardStart` > 0, does not match the topic as its client sees it. */
  readonly hides: (subscriber: S, wildcardStart: number) => boolean
}

const noSubscribers: readonly never[] = []
const noPeerMatches = { peerMatches: noSubscribers, crossShardGroups: noSubscribers } as const

/**
 * Makes a plan from the subscribers of all matching filters, without those that `admits` excludes, and from the
 * interest of peers. `hides` excludes subscriptions that are filters of a client's own topics: see `Admission`.
 */
export function makePlan<S extends object, P extends object>(
  subscriberLists: readonly FilterSubscribers<S>[],
  { admits, hides }: Admission<S>,
  peerSubscribers: readonly FilterSubscribers<P, Interest>[] = noSubscribers,
  rules?: readonly MatchedRule[],
): DeliveryPlan<S, P> {
  const localMatches: MatchedSubscriber<S>[] = []
  const groups: SharedGroup<S>[] = []
  // A filter contains each subscriber once, so the first filter needs no check for duplicates.
  let known: Map<S, MatchedSubscriber<S>> | undefined

  for (const filterSubscribers of subscriberLists) {
    if (known === undefined && localMatches.length > 0)
      known = new Map(localMatches.map((one) => [one.subscriber, one]))
    const { wildcardStart } = filterSubscribers
    filterSubscribers.forEach((subscriber, options) => {
      if (wildcardStart > 0 && hides(subscriber, wildcardStart)) return
      const match = known?.get(subscriber)
      if (match !== undefined) {
        match.include(options)
        return
      }
      if (!admits(subscriber)) return
      const added = new MatchedSubscriber(subscriber, options)
      localMatches.push(added)
      known?.set(subscriber, added)
    })
    filterSubscribers.walkGroups((group) => groups.push(group))
  }
  if (peerSubscribers.length === 0)
    return new DeliveryPlan<S, P>(copyTrimmed(localMatches), copyTrimmed(groups), noPeerMatches, rules)
  const crossShardGroups = listCrossShardGroups(peerSubscribers, groups)
  const groupsHere = groups.filter((group) => !crossShardGroups.some(({ local }) => local === group))
  return new DeliveryPlan(
    copyTrimmed(localMatches),
    copyTrimmed(groupsHere),
    { peerMatches: combinePeerMatches(peerSubscribers), crossShardGroups },
    rules,
  )
}

/**
 * Returns a copy without spare capacity. An array that was extended by `push` has memory for 17 entries, and there may be a million
 * plans with one subscriber.
 */
function copyTrimmed<T>(list: T[]): readonly T[] {
  return list.length === 0 ? noSubscribers : list.slice()
}
