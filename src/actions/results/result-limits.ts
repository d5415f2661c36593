// Bounds of the results of one message. FOREACH without DO puts all columns into each result, so a message of some kilobytes could have results
// of many megabytes, and each rule and action multiplies them.

import { maxMessageResultBytes, maxMessageResults, maxSingleResultBytes, type RuleEvent } from '../../rules/index.ts'
import { measureValue, createLimitError, type RuleError, type RuleMap } from '../../values/index.ts'

/** A result of this size, or of some times the size of its message, does not count as amplified. */
const ordinaryBytes = 65_536
const ordinaryPayloads = 4

/** The results of the message for which rules run: those of all rules, also of rules that they trigger. */
export class MessageResults {
  #count = 0
  #bytes = 0
  #singleBytes = 0

  reset(): void {
    this.#count = 0
    this.#bytes = 0
    this.#singleBytes = 0
  }

  /** Adds the outputs of a rule, which each of its actions gets. Returns an error if there are too many; none is added then. */
  add(outputs: readonly RuleMap[], actions: number, event: Pick<RuleEvent, 'readColumn'>): RuleError | undefined {
    const factor = Math.max(1, actions)
    const count = this.#count + outputs.length * factor
    if (outputs.length <= 1) {
      this.#count = count
      return this.#addSingle(outputs[0], factor, event)
    }
    if (count > maxMessageResults)
      return createLimitError('too many results of one message', 'maxMessageResults', maxMessageResults)
    const limit = maxMessageResultBytes - this.#bytes
    const bytes = measureValue(outputs, limit / factor) * factor
    if (bytes > limit)
      return createLimitError(
        'the results of one message are too large',
        'maxMessageResultBytes',
        maxMessageResultBytes,
      )
    this.#count = count
    this.#bytes += bytes
    return undefined
  }

  #addSingle(output: RuleMap | undefined, factor: number, event: Pick<RuleEvent, 'readColumn'>): RuleError | undefined {
    if (output === undefined || measureValue(output, ordinaryBytes) <= ordinaryBytes) return undefined
    const payload = event.readColumn('payload')
    const payloadBytes = typeof payload === 'string' || payload instanceof Uint8Array ? payload.length : 0
    const ordinary = Math.max(ordinaryBytes, payloadBytes * ordinaryPayloads)
    const limit = maxSingleResultBytes - this.#singleBytes
    const bytes = (measureValue(output, ordinary + limit / factor) - ordinary) * factor
    if (bytes <= 0) return undefined
    if (bytes > limit)
      return createLimitError('the results of one message are too large', 'maxSingleResultBytes', maxSingleResultBytes)
    this.#singleBytes += bytes
    return undefined
  }
}
