// Counters and rates of one rule on one shard.

import type { FunctionCounters, RuleCounters, RuleReport } from '../plan/rule-reports.ts'
import { RateMeter } from './rate-meter.ts'

const maxErrorLength = 500

/** Outcome of an action for one output. */
export type ActionOutcome = 'success' | 'stored' | 'discarded' | { readonly failure: string }

export class RuleStatistics {
  counters: RuleCounters = createCounters()
  /** Counters by the index of the action. They stay zero for actions that send to a service. */
  functions: FunctionCounters[] = []
  readonly #meter = new RateMeter()
  #lastError = ''

  /** Counts an outcome. Results in an action queue are counted later, by the action that sends them. */
  countOutcome(index: number, outcome: ActionOutcome): void {
    const counters = this.functions[index]
    if (counters === undefined || outcome === 'stored' || outcome === 'discarded') return
    counters.taken++
    if (outcome === 'success') counters.success++
    else counters.failed++
  }

  recordError(text: string): void {
    this.#lastError = text.length > maxErrorLength ? `${text.slice(0, maxErrorLength)}…` : text
  }

  /** Called every second. */
  recordSecond(): void {
    this.#meter.recordSecond(this.counters.matched)
  }

  /** Sets the number of actions. */
  setActionCount(count: number): void {
    if (this.functions.length !== count) this.functions = createFunctionCounters(count)
  }

  reset(): void {
    this.functions = createFunctionCounters(this.functions.length)
    this.counters = createCounters()
    this.#meter.reset()
    this.#lastError = ''
  }

  report(id: string): RuleReport {
    const functions = this.functions.map((one) => ({ ...one }))
    return { id, counters: { ...this.counters }, functions, ...this.#meter.readRates(), lastError: this.#lastError }
  }
}

function createFunctionCounters(count: number): FunctionCounters[] {
  return Array.from({ length: count }, () => ({ taken: 0, success: 0, failed: 0 }))
}

function createCounters(): RuleCounters {
  return {
    matched: 0,
    passed: 0,
    exceptions: 0,
    noResult: 0,
    actionsTotal: 0,
    actionsSuccess: 0,
    actionsFailed: 0,
    actionsDiscarded: 0,
  }
}
