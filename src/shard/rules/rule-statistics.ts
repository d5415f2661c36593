// Counters and rates of one rule in one shard.

import type { RuleCounters, RuleReport } from '../messages/rule-plan.ts'

const secondsInFiveMinutes = 300
const maxErrorLength = 500

export class RuleStatistics {
  counters: RuleCounters = newCounters()
  #rate = 0
  #rateMax = 0
  #rateLast5m = 0
  #matchedBefore = 0
  #lastError = ''

  noteError(text: string): void {
    this.#lastError = text.length > maxErrorLength ? `${text.slice(0, maxErrorLength)}…` : text
  }

  /** A second has passed. */
  noteSecond(): void {
    this.#rate = this.counters.matched - this.#matchedBefore
    this.#matchedBefore = this.counters.matched
    this.#rateMax = Math.max(this.#rateMax, this.#rate)
    this.#rateLast5m += (this.#rate - this.#rateLast5m) / secondsInFiveMinutes
  }

  reset(): void {
    this.counters = newCounters()
    this.#rate = this.#rateMax = this.#rateLast5m = this.#matchedBefore = 0
    this.#lastError = ''
  }

  report(id: string): RuleReport {
    const rates = { rate: this.#rate, rateMax: this.#rateMax, rateLast5m: this.#rateLast5m }
    return { id, counters: { ...this.counters }, ...rates, lastError: this.#lastError }
  }
}

function newCounters(): RuleCounters {
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
