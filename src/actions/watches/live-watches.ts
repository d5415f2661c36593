// Messages for a dashboard page that shows topics. A watch is a topic filter in the match plan, like a rule, and without
// a watch, messages have no extra cost. Messages beyond the limits of a watch are dropped and counted: publishers and
// subscribers never wait for it.

import type {
  CountedTopic,
  MatchedRule,
  Message,
  RuleActions,
  RuleHook,
  RuleTrigger,
  RuleTriggerKind,
} from '../../core/index.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import type { LiveBatch, LiveMessage } from './live-batch.ts'

type Rules = readonly (readonly [filter: TopicFilter, rule: MatchedRule])[]
type SetRules = (
  rules: Rules,
  triggers: ReadonlySet<RuleTriggerKind>,
  countedTopics: ReadonlyMap<string, CountedTopic>,
) => void

/** Maximum messages that wait for the node. */
const maxWaiting = 200
/** A watch without a query for this time has ended, because the node does not use it any more. */
const abandonedMs = 10_000
const noQueues: readonly string[] = []

interface Watch extends MatchedRule {
  readonly filter: TopicFilter
  readonly maxBytes: number
  messages: LiveMessage[]
  leftOut: number
  lastTakenAtMs: number
}

export interface WatchQuery {
  readonly watch: string
  readonly filter: TopicFilter
  /** Maximum bytes of a payload. */
  readonly maxBytes: number
}

export class LiveWatches implements RuleHook {
  readonly #next: RuleHook
  readonly #setRules: SetRules
  readonly #watches = new Map<string, Watch>()
  #rules: Rules = []
  #triggers: ReadonlySet<RuleTriggerKind> = new Set()
  #countedTopics: ReadonlyMap<string, CountedTopic> = new Map()

  /** `next`: runs the configured rules. */
  constructor(next: RuleHook, setRules: SetRules) {
    this.#next = next
    this.#setRules = setRules
  }

  /** Rules of the configuration. */
  setRules(
    rules: Rules,
    triggers: ReadonlySet<RuleTriggerKind>,
    countedTopics: ReadonlyMap<string, CountedTopic>,
  ): void {
    this.#rules = rules
    this.#triggers = triggers
    this.#countedTopics = countedTopics
    this.#applyRules()
  }

  run(matched: readonly MatchedRule[], message: Message, actions: RuleActions): number {
    if (this.#watches.size === 0) return this.#next.run(matched, message, actions)
    const rules: MatchedRule[] = []
    for (const rule of matched) {
      const watch = this.#watches.get(rule.id)
      if (watch === rule) recordMessage(watch, message)
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

  /** Returns the messages since the last call. The first call starts the watch. */
  take({ watch: id, filter, maxBytes }: WatchQuery, nowMs: number): LiveBatch {
    const known = this.#watches.get(id)
    this.#endAbandoned(nowMs)
    if (known === undefined) {
      const watch = { id, filter, maxBytes, actionQueues: noQueues, messages: [], leftOut: 0, lastTakenAtMs: nowMs }
      this.#watches.set(id, watch)
      this.#applyRules()
      return { messages: [], leftOut: 0 }
    }
    const { messages, leftOut } = known
    known.messages = []
    known.leftOut = 0
    known.lastTakenAtMs = nowMs
    return { messages, leftOut }
  }

  end(id: string): void {
    if (this.#watches.delete(id)) this.#applyRules()
  }

  #endAbandoned(nowMs: number): void {
    for (const [id, { lastTakenAtMs }] of this.#watches) if (nowMs - lastTakenAtMs > abandonedMs) this.end(id)
  }

  #applyRules(): void {
    const watches = [...this.#watches.values()].map((watch) => [watch.filter, watch] as const)
    this.#setRules([...this.#rules, ...watches], this.#triggers, this.#countedTopics)
  }
}

/** The bytes of the message are in a chunk that is used again, so they are copied. */
function recordMessage(watch: Watch, message: Message): void {
  if (watch.messages.length >= maxWaiting) {
    watch.leftOut += 1
    return
  }
  const payload = message.readPayload()
  watch.messages.push({
    topic: message.topic.name,
    qos: message.qos,
    retain: message.retain,
    size: payload.length,
    payload: new Uint8Array(payload.subarray(0, watch.maxBytes)),
    publisher: message.publisher,
    atMs: message.publishedAtMs,
  })
}
