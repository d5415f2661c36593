// Who gets a message on one topic: the subscriptions that match it, gathered by subscriber.
//
//   'a/b' ──match──► a/b: { 7: qos 0 }   a/+: { 7: qos 2, id 4 }   #: { 3: qos 1 }   $share/w/a/#: { 5, 6 }
//                          └──────────┬──────────┘                    │                    │
//   recipients:   7: qos 2, identifiers [4]                  3: qos 1                      │
//   groups:       w on a/# ◄───────────────────────────────────────────────────────────────┘
//
// A plan is a picture of one moment and is never changed. The groups in it are the living ones: who joins or leaves a
// group that goes on is seen without a new plan.

import type { QoS } from '../../protocol/index.ts'
import type { Interest } from '../model/peer-messages.ts'
import type { MatchedRule } from '../model/rule-hook.ts'
import { peerMatchesOf, crossShardGroupsOf, type PeerMatch, type CrossShardGroup } from './peer-matches.ts'
import type { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import type { FilterSubscribers } from './subscription-trie.ts'

/** What several subscriptions of one subscriber come to for one message. */
export interface EffectiveOptions {
  /** The highest of all [MQTT-3.3.5-1] [MQTT5-3.3.4-2]. */
  readonly qos: QoS
  /** If any asks for it. */
  readonly retainAsPublished: boolean
  /** Those of every subscription that has one, equal ones as often as they were given [MQTT5-3.3.4-3, -4]. */
  readonly identifiers: readonly number[] | undefined
  /** The highest of all. */
  readonly raisesTo: QoS
}

/**
 * Grows by one subscription after the other, in place: a session may have thousands that overlap, and a copy for each
 * would make the cost quadratic.
 */
class GatheredOptions implements EffectiveOptions {
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

  gather(options: SubscriptionOptions): void {
    if (options.qos > this.qos) this.qos = options.qos
    if (options.retainAsPublished) this.retainAsPublished = true
    if (options.raisesTo > this.raisesTo) this.raisesTo = options.raisesTo
    if (options.identifier === undefined) return
    if (this.identifiers === undefined) this.identifiers = [options.identifier]
    else this.identifiers.push(options.identifier)
  }
}

/** One subscriber of a plan. It gets one copy, however many of its subscriptions match. */
export class MatchedSubscriber<S extends object> extends GatheredOptions {
  readonly subscriber: S
  /** At least one of its matching subscriptions is not for its own messages. */
  hasNoLocal: boolean
  /** Without the no-local subscriptions. Only there if there are both kinds: else it is this or nothing. */
  #forOwnMessages: GatheredOptions | undefined

  constructor(subscriber: S, options: SubscriptionOptions) {
    super(effective(options))
    this.subscriber = subscriber
    this.hasNoLocal = options.noLocal
    this.#forOwnMessages = undefined
  }

  /** It gets no message of its own through this plan. */
  get allNoLocal(): boolean {
    return this.hasNoLocal && this.#forOwnMessages === undefined
  }

  /** Undefined where the message is its own and no subscription wants those [MQTT5-3.8.3-3]. */
  effectiveFor(publisherIsSelf: boolean): EffectiveOptions | undefined {
    return publisherIsSelf && this.hasNoLocal ? this.#forOwnMessages : this
  }

  /** One more subscription of the same subscriber. Only while the plan is being made. */
  include(options: SubscriptionOptions): void {
    if (options.noLocal && !this.hasNoLocal) {
      this.#forOwnMessages = new GatheredOptions(this)
      this.hasNoLocal = true
    } else if (!options.noLocal && this.hasNoLocal) {
      if (this.#forOwnMessages === undefined) this.#forOwnMessages = new GatheredOptions(effective(options))
      else this.#forOwnMessages.gather(options)
    }
    this.gather(options)
  }
}

function effective({ qos, retainAsPublished, identifier, raisesTo }: SubscriptionOptions): EffectiveOptions {
  return { qos, retainAsPublished, identifiers: identifier === undefined ? undefined : [identifier], raisesTo }
}

/**
 * All recipients of a topic, each once, and all shared subscriptions, of each of which one member gets the message; and
 * what leads to other shards (`P`).
 */
export class DeliveryPlan<S extends object, P extends object = object> {
  readonly recipients: readonly MatchedSubscriber<S>[]
  /** Those of which only sessions here are members. */
  readonly groups: readonly SharedGroup<S>[]
  readonly peers: readonly PeerMatch<P>[]
  readonly spanning: readonly CrossShardGroup<S, P>[]
  /** Rules whose topic filters match; undefined: none. */
  readonly rules: readonly MatchedRule[] | undefined

  constructor(
    recipients: readonly MatchedSubscriber<S>[],
    groups: readonly SharedGroup<S>[],
    elsewhere: { peers: readonly PeerMatch<P>[]; spanning: readonly CrossShardGroup<S, P>[] } = nothingElsewhere,
    rules?: readonly MatchedRule[],
  ) {
    this.recipients = recipients
    this.groups = groups
    this.peers = elsewhere.peers
    this.spanning = elsewhere.spanning
    this.rules = rules
  }

  /** Nobody gets it. */
  get isEmpty(): boolean {
    return this.recipients.length === 0 && this.groups.length === 0 && !this.leadsElsewhere
  }

  /** Other shards want it, or may. */
  get leadsElsewhere(): boolean {
    return this.peers.length > 0 || this.spanning.length > 0
  }
}

const nobody: readonly never[] = []
const nothingElsewhere = { peers: nobody, spanning: nobody } as const

/**
 * A plan for the audiences of all filters that match a topic, without those that `admits` says no to; and for those on
 * other shards.
 */
export function makePlan<S extends object, P extends object>(
  audiences: readonly FilterSubscribers<S>[],
  admits: (subscriber: S) => boolean,
  peerAudiences: readonly FilterSubscribers<P, Interest>[] = nobody,
  rules?: readonly MatchedRule[],
): DeliveryPlan<S, P> {
  const recipients: MatchedSubscriber<S>[] = []
  const groups: SharedGroup<S>[] = []
  // Within one filter a subscriber stands once, so the first audience needs no looking for repeats.
  let known: Map<S, MatchedSubscriber<S>> | undefined

  for (const audience of audiences) {
    if (known === undefined && recipients.length > 0) known = new Map(recipients.map((one) => [one.subscriber, one]))
    audience.forEach((subscriber, options) => {
      const recipient = known?.get(subscriber)
      if (recipient !== undefined) {
        recipient.include(options)
        return
      }
      if (!admits(subscriber)) return
      const newcomer = new MatchedSubscriber(subscriber, options)
      recipients.push(newcomer)
      known?.set(subscriber, newcomer)
    })
    audience.forEachGroup((group) => groups.push(group))
  }
  if (peerAudiences.length === 0)
    return new DeliveryPlan<S, P>(trimmed(recipients), trimmed(groups), nothingElsewhere, rules)
  const spanning = crossShardGroupsOf(peerAudiences, groups)
  const groupsHere = groups.filter((group) => !spanning.some(({ local }) => local === group))
  return new DeliveryPlan(
    trimmed(recipients),
    trimmed(groupsHere),
    { peers: peerMatchesOf(peerAudiences), spanning },
    rules,
  )
}

/** An array that was pushed to has room for 17, and there may be a million plans of one recipient. */
function trimmed<T>(list: T[]): readonly T[] {
  return list.length === 0 ? nobody : list.slice()
}
