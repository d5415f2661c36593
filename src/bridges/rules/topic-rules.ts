// Finds the rules of a topic and the resulting topics. The result is cached with the topic.

import { brokerNameTopic } from '../../core/index.ts'
import type { QoS, Topic, TopicFilter, TopicRoute, TopicTable } from '../../protocol/index.ts'
import { toForwardMapping, toSubscriptionMapping, type ForwardRule, type SubscriptionRule } from './bridge-rules.ts'
import { TopicMapping } from './topic-mapping.ts'

/** One message on the other side. */
export interface Part {
  /** Undefined: the rule's result is not a valid topic. */
  readonly topic: Topic | undefined
  /** Undefined: as published. */
  readonly qos: QoS | undefined
  /** Undefined: as received. */
  readonly retain: boolean | undefined
  /** Slot of its rule, see `forward-slots.ts`; 0 for received messages. */
  readonly place: number
}

class CachedParts implements TopicRoute {
  readonly isTopicRoute = true
  readonly rules: TopicRules
  /** Version of the open topics, which are accepted without a rule. */
  readonly version: number
  readonly parts: readonly Part[]

  constructor(rules: TopicRules, version: number, parts: readonly Part[]) {
    this.rules = rules
    this.version = version
    this.parts = parts
  }
}

/** Topics that are accepted unchanged if no rule matches. */
export interface OpenTopics {
  /** Grows when they may have changed. */
  readonly version: number
  matches(topic: string): boolean
}

const noOpenTopics: OpenTopics = { version: 0, matches: () => false }
const unchanged = new TopicMapping({ filter: '#', target: '', prefix: '', suffix: '' })

interface Rule {
  readonly mapping: TopicMapping
  readonly qos: QoS | undefined
  readonly retain: boolean | undefined
  /** The rule itself names a topic below `$`. */
  readonly isForOwnTopics: boolean
  readonly place: number
}

const openRule: Rule = { mapping: unchanged, qos: undefined, retain: undefined, isForOwnTopics: false, place: 0 }

/** The rules of one direction at one time. */
export class TopicRules {
  readonly #rules: readonly Rule[]
  readonly #topics: TopicTable
  readonly #maxTopicLevels: number
  readonly #isFirstOnly: boolean
  readonly #open: OpenTopics

  constructor(
    rules: readonly Rule[],
    options: { topics: TopicTable; maxTopicLevels: number; isFirstOnly: boolean; open?: OpenTopics | undefined },
  ) {
    this.#rules = rules
    this.#topics = options.topics
    this.#maxTopicLevels = options.maxTopicLevels
    this.#isFirstOnly = options.isFirstOnly
    this.#open = options.open ?? noOpenTopics
  }

  /** In the order of the rules. `topic` is of a table that only this object uses. */
  findParts(topic: Topic): readonly Part[] {
    const known = topic.route
    const { version } = this.#open
    if (known instanceof CachedParts && known.rules === this && known.version === version) return known.parts
    const parts = this.#find(topic)
    topic.route = new CachedParts(this, version, parts)
    return parts
  }

  #find(topic: Topic): readonly Part[] {
    // Names of brokers are sent to bridges, and are not messages.
    if (topic.name === brokerNameTopic) return []
    const matching = this.#rules.filter(({ mapping }) => mapping.matches(topic.name))
    const chosen = this.#isFirstOnly ? matching.slice(0, 1) : matching
    if (chosen.length === 0 && this.#open.matches(topic.name)) chosen.push(openRule)
    return chosen.map(({ mapping, qos, retain, isForOwnTopics, place }) => {
      const name = mapping.map(topic.name, this.#maxTopicLevels)
      const isAllowed = name !== undefined && (isForOwnTopics || !name.startsWith('$'))
      return { topic: isAllowed ? this.#topics.internName(name) : undefined, qos, retain, place }
    })
  }
}

type Where = { readonly topics: TopicTable; readonly maxTopicLevels: number }

/** All matching rules apply. `slots`: of each rule. */
export function createForwardTopicRules(
  rules: readonly ForwardRule[],
  where: Where,
  slots: readonly number[],
): TopicRules {
  const made = rules.map((rule, index) => {
    const mapping = toForwardMapping(rule)
    return {
      mapping: new TopicMapping(mapping),
      qos: rule.qos,
      retain: rule.retain,
      isForOwnTopics: isForOwnTopics(mapping),
      place: slots[index] ?? 0,
    }
  })
  return new TopicRules(made, { ...where, isFirstOnly: false })
}

/** The first matching rule applies, otherwise `open`. */
export function createSubscriptionTopicRules(
  rules: readonly SubscriptionRule[],
  where: Where,
  open: OpenTopics | undefined,
): TopicRules {
  const made = rules.map((rule) => {
    const mapping = toSubscriptionMapping(rule)
    return {
      mapping: new TopicMapping(mapping),
      qos: undefined,
      retain: rule.retain,
      isForOwnTopics: isForOwnTopics(mapping),
      place: 0,
    }
  })
  return new TopicRules(made, { ...where, isFirstOnly: true, open })
}

function isForOwnTopics({ filter, target, prefix }: ReturnType<typeof toForwardMapping>): boolean {
  return `${prefix}${target === '' ? filter : target}`.startsWith('$')
}

export interface LocalSubscriptionRequest {
  readonly qos: QoS
  /** Messages published with a lower QoS are raised to this one, so that they are stored on disk. */
  readonly raisesTo: QoS
}

/** Returns the required local subscriptions. `retriesQoS0`: QoS 0 messages are queued as well. */
export function toLocalSubscriptions(
  rules: readonly ForwardRule[],
  retriesQoS0: boolean,
): Map<TopicFilter, LocalSubscriptionRequest> {
  const wanted = new Map<TopicFilter, LocalSubscriptionRequest>()
  for (const { localFilter, qos } of rules) {
    const filter = localFilter as TopicFilter
    const before = wanted.get(filter) ?? { qos: 0, raisesTo: 0 }
    const raisesTo = selectHigherQoS(before.raisesTo, selectHigherQoS(qos ?? 0, retriesQoS0 ? 1 : 0))
    wanted.set(filter, { qos: selectHigherQoS(before.qos, selectHigherQoS(qos ?? 2, raisesTo)), raisesTo })
  }
  return wanted
}

function selectHigherQoS(one: QoS, other: QoS): QoS {
  return one > other ? one : other
}
