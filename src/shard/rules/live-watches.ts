// Messages for a page that looks at topics. A watch is a topic filter in the match plan, as a rule is; without one nothing of this
// costs anything. What a watch has no room for is left out and counted: no publisher and no subscriber waits for a page.

import type { MatchedRule, Message, RuleActions, RuleHook, RuleTrigger, RuleTriggerKind } from '../../core/index.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import type { LiveBatch, LiveMessage } from '../messages/live-batch.ts'

type Rules = readonly (readonly [filter: TopicFilter, rule: MatchedRule])[]
type SetRules = (rules: Rules, triggers: ReadonlySet<RuleTriggerKind>) => void

/** Messages that wait for the node to take them. */
const maxWaiting = 200
/** A watch that nobody asked for so long has ended: its node-side part is gone. */
const abandonedMs = 10_000
const noSpools: readonly string[] = []

interface Watch extends MatchedRule {
  readonly filter: TopicFilter
  readonly maxBytes: number
  messages: LiveMessage[]
  leftOut: number
  lastAskedMs: number
}

export interface WatchQuery {
  readonly watch: string
  readonly filter: TopicFilter
  /** Of a payload. */
  readonly maxBytes: number
}

export class LiveWatches implements RuleHook {
  readonly #next: RuleHook
  readonly #setRules: SetRules
  readonly #watches = new Map<string, Watch>()
  #rules: Rules = []
  #triggers: ReadonlySet<RuleTriggerKind> = new Set()

  /** `next`: runs the rules that are no watches. */
  constructor(next: RuleHook, setRules: SetRules) {
    this.#next = next
    this.#setRules = setRules
  }

  /** Those of the configuration. */
  setRules(rules: Rules, triggers: ReadonlySet<RuleTriggerKind>): void {
    this.#rules = rules
    this.#triggers = triggers
    this.#tell()
  }

  run(matched: readonly MatchedRule[], message: Message, actions: RuleActions): void {
    if (this.#watches.size === 0) return this.#next.run(matched, message, actions)
    const rules: MatchedRule[] = []
    for (const rule of matched) {
      const watch = this.#watches.get(rule.id)
      if (watch === rule) note(watch, message)
      else rules.push(rule)
    }
    if (rules.length > 0) this.#next.run(rules, message, actions)
  }

  runTriggers(triggers: readonly RuleTrigger[], actions: RuleActions): number {
    return this.#next.runTriggers(triggers, actions)
  }

  noteLost(lost: ReadonlyMap<RuleTriggerKind, number>): void {
    this.#next.noteLost(lost)
  }

  /** Gives what has come since the last time. The first time begins the watch. */
  take({ watch: id, filter, maxBytes }: WatchQuery, nowMs: number): LiveBatch {
    const known = this.#watches.get(id)
    this.#endAbandoned(nowMs)
    if (known === undefined) {
      const watch = { id, filter, maxBytes, spools: noSpools, messages: [], leftOut: 0, lastAskedMs: nowMs }
      this.#watches.set(id, watch)
      this.#tell()
      return { messages: [], leftOut: 0 }
    }
    const { messages, leftOut } = known
    known.messages = []
    known.leftOut = 0
    known.lastAskedMs = nowMs
    return { messages, leftOut }
  }

  end(id: string): void {
    if (this.#watches.delete(id)) this.#tell()
  }

  #endAbandoned(nowMs: number): void {
    for (const [id, { lastAskedMs }] of this.#watches) if (nowMs - lastAskedMs > abandonedMs) this.end(id)
  }

  #tell(): void {
    const watches = [...this.#watches.values()].map((watch) => [watch.filter, watch] as const)
    this.#setRules([...this.#rules, ...watches], this.#triggers)
  }
}

/** The bytes of the message belong to a chunk that is reused: they are copied. */
function note(watch: Watch, message: Message): void {
  if (watch.messages.length >= maxWaiting) {
    watch.leftOut += 1
    return
  }
  const payload = message.payload()
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
