// Metrics of topics. A registered topic is an entry of the match plan, as a rule is, so that messages of other topics have
// no extra cost. Outgoing messages are counted where deliveries are recorded for rules.

import {
  CountedTopic,
  type MatchedRule,
  type Message,
  type RuleActions,
  type RuleHook,
  type RuleTrigger,
  type RuleTriggerKind,
} from '../../core/index.ts'
import { parseTopicFilter, type TopicFilter } from '../../protocol/index.ts'
import type { TopicCounts, TopicMetricsReport } from '../plan/rule-reports.ts'

type Rules = readonly (readonly [filter: TopicFilter, rule: MatchedRule])[]
type SetRules = (
  rules: Rules,
  triggers: ReadonlySet<RuleTriggerKind>,
  countedTopics: ReadonlyMap<string, CountedTopic>,
) => void

/** Number of seconds over which rates are averaged. */
const rateSeconds = 5

interface Registered {
  readonly topic: CountedTopic
  readonly createdAtMs: number
  resetAtMs: number | undefined
  /** Values of the counters after each of the last seconds, oldest first. */
  history: TopicCounts[]
}

export class TopicMetrics implements RuleHook {
  readonly #next: RuleHook
  readonly #setRules: SetRules
  readonly #registered = new Map<string, Registered>()
  #rules: Rules = []
  #triggers: ReadonlySet<RuleTriggerKind> = new Set()
  #seconds: NodeJS.Timeout | undefined

  /** `next`: runs the rules. */
  constructor(next: RuleHook, setRules: SetRules) {
    this.#next = next
    this.#setRules = setRules
  }

  /** Sets the configured rules. */
  setRules(rules: Rules, triggers: ReadonlySet<RuleTriggerKind>): void {
    this.#rules = rules
    this.#triggers = triggers
    this.#applyRules()
  }

  /** Replaces the counted topics. Topics that remain keep their counters. */
  configure(topics: readonly string[], nowMs: number): void {
    const wanted = new Set(topics)
    for (const topic of this.#registered.keys()) if (!wanted.has(topic)) this.#registered.delete(topic)
    for (const topic of wanted) {
      if (this.#registered.has(topic)) continue
      const counted = new CountedTopic(topic)
      const history = [readCounts(counted)]
      this.#registered.set(topic, { topic: counted, createdAtMs: nowMs, resetAtMs: undefined, history })
    }
    clearInterval(this.#seconds)
    if (wanted.size > 0) this.#seconds = setInterval(() => this.recordSecond(), 1_000).unref()
    this.#applyRules()
  }

  run(matched: readonly MatchedRule[], message: Message, actions: RuleActions): number {
    if (this.#registered.size === 0) return this.#next.run(matched, message, actions)
    const rules: MatchedRule[] = []
    for (const rule of matched) {
      if (rule instanceof CountedTopic) rule.published[message.qos]++
      else rules.push(rule)
    }
    return rules.length === 0 ? 0 : this.#next.run(rules, message, actions)
  }

  runTriggers(triggers: readonly RuleTrigger[], actions: RuleActions): number {
    return this.#next.runTriggers(triggers, actions)
  }

  recordLost(lost: ReadonlyMap<RuleTriggerKind, number>): void {
    this.#next.recordLost(lost)
  }

  listReports(): readonly TopicMetricsReport[] {
    return [...this.#registered.values()].map(({ topic, createdAtMs, resetAtMs, history }) => {
      const counts = readCounts(topic)
      const [oldest = counts] = history
      const newest = history.at(-1) ?? counts
      const seconds = Math.max(1, history.length - 1)
      const rates = counts.map((_, index) => ((newest[index] ?? 0) - (oldest[index] ?? 0)) / seconds)
      return { topic: topic.id, createdAtMs, resetAtMs, counts, rates }
    })
  }

  /** Resets the counters of a topic; undefined: of all topics. */
  reset(topic: string | undefined, nowMs: number): void {
    for (const registered of this.#registered.values()) {
      if (topic !== undefined && registered.topic.id !== topic) continue
      registered.topic.reset()
      registered.resetAtMs = nowMs
      registered.history = [readCounts(registered.topic)]
    }
  }

  /** Called once per second. */
  recordSecond(): void {
    for (const registered of this.#registered.values()) {
      registered.history.push(readCounts(registered.topic))
      if (registered.history.length > rateSeconds + 1) registered.history.shift()
    }
  }

  stop(): void {
    clearInterval(this.#seconds)
  }

  #applyRules(): void {
    const counted = new Map([...this.#registered].map(([name, { topic }]) => [name, topic]))
    const entries = [...counted].flatMap(([name, topic]) => {
      const filter = parseTopicFilter(name)
      return filter === undefined ? [] : [[filter, topic] as const]
    })
    this.#setRules([...this.#rules, ...entries], this.#triggers, counted)
  }
}

/** In the order of `topicCountNames`. */
function readCounts({ published, sent, dropped }: CountedTopic): TopicCounts {
  return [...published, ...sent, dropped]
}
