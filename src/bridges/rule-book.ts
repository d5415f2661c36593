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
  /** Of its rule, see `forward-slots.ts`; 0 for what comes in. */
  readonly place: number
}

class CachedParts implements TopicRoute {
  readonly isTopicRoute = true
  readonly rules: RuleBook
  /** Of what the bridge lets in beside its rules. */
  readonly version: number
  readonly parts: readonly Part[]

  constructor(rules: RuleBook, version: number, parts: readonly Part[]) {
    this.rules = rules
    this.version = version
    this.parts = parts
  }
}

/** Topics that come in as they are where no rule is for them. */
export interface OpenTopics {
  /** Grows whenever they may be others. */
  readonly version: number
  matches(topic: string): boolean
}

const noOpenTopics: OpenTopics = { version: 0, matches: () => false }
const unchanged = new TopicMapping({ filter: '#', target: '', prefix: '', suffix: '' })

interface Rule {
  readonly mapping: TopicMapping
  readonly qos: QoS | undefined
  readonly retain: boolean | undefined
  /** The rule itself says that it brings something below `$`. */
  readonly isForOwnTopics: boolean
  readonly place: number
}

const openRule: Rule = { mapping: unchanged, qos: undefined, retain: undefined, isForOwnTopics: false, place: 0 }

/** The rules of one direction, as they are at one time. */
export class RuleBook {
  readonly #rules: readonly Rule[]
  readonly #topics: TopicTable
  readonly #maxTopicLevels: number
  readonly #isFirstOnly: boolean
  readonly #open: OpenTopics

  constructor(
    rules: readonly Rule[],
    how: { topics: TopicTable; maxTopicLevels: number; isFirstOnly: boolean; open?: OpenTopics | undefined },
  ) {
    this.#rules = rules
    this.#topics = how.topics
    this.#maxTopicLevels = how.maxTopicLevels
    this.#isFirstOnly = how.isFirstOnly
    this.#open = how.open ?? noOpenTopics
  }

  /** In the order of the rules. `topic` is of a table that nobody else keeps anything with. */
  partsFor(topic: Topic): readonly Part[] {
    const known = topic.route
    const { version } = this.#open
    if (known instanceof CachedParts && known.rules === this && known.version === version) return known.parts
    const parts = this.#find(topic)
    topic.route = new CachedParts(this, version, parts)
    return parts
  }

  #find(topic: Topic): readonly Part[] {
    // Names of brokers are said to bridges, and are nobody's messages.
    if (topic.name === brokerNameTopic) return []
    const matching = this.#rules.filter(({ mapping }) => mapping.matches(topic.name))
    const chosen = this.#isFirstOnly ? matching.slice(0, 1) : matching
    if (chosen.length === 0 && this.#open.matches(topic.name)) chosen.push(openRule)
    return chosen.map(({ mapping, qos, retain, isForOwnTopics, place }) => {
      const name = mapping.map(topic.name, this.#maxTopicLevels)
      const isAllowed = name !== undefined && (isForOwnTopics || !name.startsWith('$'))
      return { topic: isAllowed ? this.#topics.named(name) : undefined, qos, retain, place }
    })
  }
}

type Where = { readonly topics: TopicTable; readonly maxTopicLevels: number }

/** Every rule that matches counts. `places`: of each. */
export function forwardBook(rules: readonly ForwardRule[], where: Where, slots: readonly number[]): RuleBook {
  const made = rules.map((rule, index) => {
    const mapping = mappingOfForward(rule)
    return {
      mapping: new TopicMapping(mapping),
      qos: rule.qos,
      retain: rule.retain,
      isForOwnTopics: isForOwnTopics(mapping),
      place: slots[index] ?? 0,
    }
  })
  return new RuleBook(made, { ...where, isFirstOnly: false })
}

/** The first rule that matches counts, and where none does `open`. */
export function subscriptionBook(
  rules: readonly SubscriptionRule[],
  where: Where,
  open: OpenTopics | undefined,
): RuleBook {
  const made = rules.map((rule) => {
    const mapping = mappingOfSubscription(rule)
    return {
      mapping: new TopicMapping(mapping),
      qos: undefined,
      retain: rule.retain,
      isForOwnTopics: isForOwnTopics(mapping),
      place: 0,
    }
  })
  return new RuleBook(made, { ...where, isFirstOnly: true, open })
}

function isForOwnTopics({ filter, target, prefix }: ReturnType<typeof mappingOfForward>): boolean {
  return `${prefix}${target === '' ? filter : target}`.startsWith('$')
}

export interface LocalSubscriptionRequest {
  readonly qos: QoS
  /** What is published with less is to be raised to so much, so that it waits on disk like the rest. */
  readonly raisesTo: QoS
}

/** What the session here is to be subscribed to. `retriesQoS0`: QoS 0 waits for the remote broker, too. */
export function localSubscriptions(
  rules: readonly ForwardRule[],
  retriesQoS0: boolean,
): Map<TopicFilter, LocalSubscriptionRequest> {
  const wanted = new Map<TopicFilter, LocalSubscriptionRequest>()
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
