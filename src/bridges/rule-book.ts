// Which rules a topic comes under, and what it becomes by each. Found once for each topic and kept with it.

import type { QoS, Topic, TopicFilter, TopicRoute, TopicTable } from '../protocol/index.ts'
import { mappingOfForward, mappingOfSubscription, type ForwardRule, type SubscriptionRule } from './rules.ts'
import { TopicMapping } from './topic-mapping.ts'

/** One message more on the other side. */
export interface Part {
  /** Undefined: what the rule makes of it is no topic. */
  readonly topic: Topic | undefined
  /** At most so much. */
  readonly qos: QoS
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
  readonly qos: QoS
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
      qos: rule.qos ?? 2,
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
      qos: 2 as const,
      retain: undefined,
      isForOwnTopics: isForOwnTopics(mapping),
    }
  })
  return new RuleBook(made, { ...where, isFirstOnly: true })
}

function isForOwnTopics({ filter, target, prefix }: ReturnType<typeof mappingOfForward>): boolean {
  return `${prefix}${target === '' ? filter : target}`.startsWith('$')
}

/** What the session here is to be subscribed to, with the QoS of each. */
export function wantedHere(rules: readonly ForwardRule[]): Map<TopicFilter, QoS> {
  const wanted = new Map<TopicFilter, QoS>()
  for (const { localFilter, qos = 2 } of rules) {
    const filter = localFilter as TopicFilter
    const before = wanted.get(filter) ?? 0
    wanted.set(filter, qos > before ? qos : before)
  }
  return wanted
}
