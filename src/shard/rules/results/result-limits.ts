// Bounds of the results of one message. FOREACH without DO puts all columns into each result, so a message of some kilobytes could have results
// of many megabytes, and each rule and action multiplies them.

import {
  maxMessageResultBytes,
  maxMessageResults,
  measureValue,
  limitError,
  type RuleError,
  type RuleMap,
} from '../../../rules/index.ts'

/** The results of the message for which rules run: those of all rules, also of rules that they trigger. */
export class MessageResults {
  #count = 0
  #bytes = 0

  reset(): void {
    this.#count = 0
    this.#bytes = 0
  }

  /** Adds the outputs of a rule, which each of its actions gets. Returns an error if there are too many; none is added then. */
  add(outputs: readonly RuleMap[], actions: number): RuleError | undefined {
    const count = this.#count + outputs.length * Math.max(1, actions)
    // A message with one result has a size that is limited already.
    if (outputs.length <= 1) {
      this.#count = count
      return undefined
    }
    if (count > maxMessageResults)
      return limitError('too many results of one message', 'maxMessageResults', maxMessageResults)
    const limit = maxMessageResultBytes - this.#bytes
    const bytes = measureValue(outputs, limit / Math.max(1, actions)) * Math.max(1, actions)
    if (bytes > limit)
      return limitError('the results of one message are too large', 'maxMessageResultBytes', maxMessageResultBytes)
    this.#count = count
    this.#bytes += bytes
    return undefined
  }
}
