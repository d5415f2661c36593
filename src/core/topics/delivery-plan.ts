// Who gets a message on one topic: the subscriptions that match it, gathered by subscriber.
//
//   'a/b' ──match──► a/b: { 7: qos 0 }   a/+: { 7: qos 2, id 4 }   #: { 3: qos 1 }   $share/w/a/#: { 5, 6 }
//                          └──────────┬──────────┘                    │                    │
//   recipients:   7: qos 2, identifiers [4]                  3: qos 1                      │
//   groups:       w on a/# ◄───────────────────────────────────────────────────────────────┘
//
// A plan is a picture of one moment and is never changed. The groups in it are the living ones: who joins or leaves a
// group that goes on is seen without a new plan.

import type { QoS, TopicName } from '../../protocol/index.ts'
import type { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import type { SubscriptionTrie } from './subscription-trie.ts'

/** What several subscriptions of one subscriber come to for one message. */
export interface EffectiveOptions {
  /** The highest of all [MQTT-3.3.5-1] [MQTT5-3.3.4-2]. */
  readonly qos: QoS
  /** If any asks for it. */
  readonly retainAsPublished: boolean
  /** Those of every subscription that has one, equal ones as often as they were given [MQTT5-3.3.4-3, -4]. */
  readonly identifiers: readonly number[] | undefined
}

/** One subscriber of a plan. It gets one copy, however many of its subscriptions match. */
export class Recipient<S extends object> implements EffectiveOptions {
  readonly subscriber: S
  qos: QoS
  retainAsPublished: boolean
  identifiers: number[] | undefined
  /** At least one of its matching subscriptions is not for its own messages. */
  hasNoLocal: boolean
  /** Without the no-local subscriptions. Only there if there are both kinds: else it is this or nothing. */
  #forOwnMessages: EffectiveOptions | undefined

  constructor(subscriber: S, options: SubscriptionOptions) {
    this.subscriber = subscriber
    this.qos = options.qos
    this.retainAsPublished = options.retainAsPublished
    this.identifiers = options.identifier === undefined ? undefined : [options.identifier]
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
    if (options.noLocal) {
      if (!this.hasNoLocal) this.#forOwnMessages = effectiveCopy(this)
      this.hasNoLocal = true
    } else if (this.hasNoLocal) {
      this.#forOwnMessages = combined(this.#forOwnMessages, options)
    }
    const all = combined(this, options)
    this.qos = all.qos
    this.retainAsPublished = all.retainAsPublished
    this.identifiers = all.identifiers
  }
}

interface Combined {
  qos: QoS
  retainAsPublished: boolean
  identifiers: number[] | undefined
}

function effectiveCopy(from: EffectiveOptions): Combined {
  return { qos: from.qos, retainAsPublished: from.retainAsPublished, identifiers: from.identifiers?.slice() }
}

function combined(earlier: EffectiveOptions | undefined, options: SubscriptionOptions): Combined {
  const own = options.identifier === undefined ? undefined : [options.identifier]
  if (earlier === undefined) {
    return { qos: options.qos, retainAsPublished: options.retainAsPublished, identifiers: own }
  }
  return {
    qos: options.qos > earlier.qos ? options.qos : earlier.qos,
    retainAsPublished: earlier.retainAsPublished || options.retainAsPublished,
    identifiers: own === undefined ? earlier.identifiers?.slice() : [...(earlier.identifiers ?? []), ...own],
  }
}

/** All recipients of a topic, each once, and all shared subscriptions, of each of which one member gets the message. */
export class DeliveryPlan<S extends object> {
  readonly recipients: readonly Recipient<S>[]
  readonly groups: readonly SharedGroup<S>[]

  constructor(recipients: readonly Recipient<S>[], groups: readonly SharedGroup<S>[]) {
    this.recipients = recipients
    this.groups = groups
  }

  /** Nobody gets it. */
  get isEmpty(): boolean {
    return this.recipients.length === 0 && this.groups.length === 0
  }
}

/** The plan as the subscriptions are now. */
export function makePlan<S extends object>(trie: SubscriptionTrie<S>, topic: TopicName): DeliveryPlan<S> {
  const recipients: Recipient<S>[] = []
  const groups: SharedGroup<S>[] = []
  // Within one filter a subscriber stands once, so the first audience needs no looking for repeats.
  let known: Map<S, Recipient<S>> | undefined

  trie.match(topic, (audience) => {
    if (known === undefined && recipients.length > 0) known = new Map(recipients.map((one) => [one.subscriber, one]))
    audience.forEach((subscriber, options) => {
      const recipient = known?.get(subscriber)
      if (recipient !== undefined) {
        recipient.include(options)
        return
      }
      const newcomer = new Recipient(subscriber, options)
      recipients.push(newcomer)
      known?.set(subscriber, newcomer)
    })
    audience.forEachGroup((group) => groups.push(group))
  })
  return new DeliveryPlan(recipients, groups)
}
