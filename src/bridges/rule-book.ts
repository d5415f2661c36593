// Which rules a topic comes under, and what it becomes by each. Found once for each topic and kept with it.

import { brokerNameTopic } from '../core/index.ts'
import type { QoS, Topic, TopicFilter, TopicRoute, TopicTable } from '../protocol/index.ts'
import { mappingOfForward, mappingOfSubscription, type ForwardRule, type SubscriptionRule } from './rules.ts'
import { TopicMapping } from './topic-mapping.ts'

/** One message more on the other side. */
export interface Part {
  /** Undefined: what the rule makes of it is no topic. */
  readonly topic: Topic | undefined
  /** Undefined: as it was published. */
  readonly qos: QoS | undefined
  /** Undefined: as it came. */
  readonly retain: boolean | undefined
}

class KnownParts implements TopicRoute {
  readonly isTopicRoute = true
  readonly book: RuleBook
  readonly parts: readonly Part[]

  constructor(book: RuleBook, parts: readonly Part[]) {
    this.book = book
    this.parts = parts
  }
}

interface Rule {
  readonly mapping: TopicMapping
  readonly qos: QoS | undefined
  readonly retain: boolean | undefined
  /** The rule itself says that it brings something below `$`. */
  readonly isForOwnTopics: boolean
}

/** The rules of one direction, as they are at one time. */
export class RuleBook {
  readonly #rules: readonly Rule[]
  readonly #topics: TopicTable
  readonly #maxTopicLevels: number
  readonly #isFirstOnly: boolean

  constructor(rules: readonly Rule[], how: { topics: TopicTable; maxTopicLevels: number; isFirstOnly: boolean }) {
    this.#rules = rules
    this.#topics = how.topics
    this.#maxTopicLevels = how.maxTopicLevels
    this.#isFirstOnly = how.isFirstOnly
  }

  /** In the order of the rules. `topic` is of a table that nobody else keeps anything with. */
  partsFor(topic: Topic): readonly Part[] {
    const known = topic.route
    if (known instanceof KnownParts && known.book === this) return known.parts
    const parts = this.#find(topic)
    topic.route = new KnownParts(this, parts)
    return parts
  }

  #find(topic: Topic): readonly Part[] {
    // Names of brokers are said to bridges, and are nobody's messages.
    if (topic.name === brokerNameTopic) return []
    const matching = this.#rules.filter(({ mapping }) => mapping.matches(topic.name))
    const chosen = this.#isFirstOnly ? matching.slice(0, 1) : matching
    return chosen.map(({ mapping, qos, retain, isForOwnTopics }) => {
      const name = mapping.map(topic.name, this.#maxTopicLevels)
      const isAllowed = name !== undefined && (isForOwnTopics || !name.startsWith('$'))
      return { topic: isAllowed ? this.#topics.named(name) : undefined, qos, retain }
    })
  }
}

type Where = { readonly topics: TopicTable; readonly maxTopicLevels: number }

/** Every rule that matches counts. */
export function forwardBook(rules: readonly ForwardRule[], where: Where): RuleBook {
  const made = rules.map((rule) => {
    const mapping = mappingOfForward(rule)
    return {
      mapping: new TopicMapping(mapping),
      qos: rule.qos,
      retain: rule.retain,
      isForOwnTopics: isForOwnTopics(mapping),
    }
  })
  return new RuleBook(made, { ...where, isFirstOnly: false })
}

/** The first rule that matches counts. */
export function subscriptionBook(rules: readonly SubscriptionRule[], where: Where): RuleBook {
  const made = rules.map((rule) => {
    const mapping = mappingOfSubscription(rule)
    return {
      mapping: new TopicMapping(mapping),
      qos: undefined,
      retain: rule.retain,
      isForOwnTopics: isForOwnTopics(mapping),
    }
  })
  return new RuleBook(made, { ...where, isFirstOnly: true })
}

function isForOwnTopics({ filter, target, prefix }: ReturnType<typeof mappingOfForward>): boolean {
  return `${prefix}${target === '' ? filter : target}`.startsWith('$')
}

export interface WantedHere {
  readonly qos: QoS
  /** What is published with less is to be raised to so much, so that it waits on disk like the rest. */
  readonly raisesTo: QoS
}

/** What the session here is to be subscribed to. `retriesQoS0`: QoS 0 waits for the remote broker, too. */
export function wantedHere(rules: readonly ForwardRule[], retriesQoS0: boolean): Map<TopicFilter, WantedHere> {
  const wanted = new Map<TopicFilter, WantedHere>()
  for (const { localFilter, qos } of rules) {
    const filter = localFilter as TopicFilter
    const before = wanted.get(filter) ?? { qos: 0, raisesTo: 0 }
    const raisesTo = higher(before.raisesTo, higher(qos ?? 0, retriesQoS0 ? 1 : 0))
    wanted.set(filter, { qos: higher(before.qos, higher(qos ?? 2, raisesTo)), raisesTo })
  }
  return wanted
}

function higher(one: QoS, other: QoS): QoS {
  return one > other ? one : other
}
