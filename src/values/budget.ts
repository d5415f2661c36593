// The budget that ends an evaluation that takes too long or grows too large.

import { createLimitError, RuleError } from './errors/rule-error.ts'
import { maxCreatedBytes, maxSteps } from './value-limits.ts'

/**
 * The maximum work of one evaluation. It is counted in steps and not measured as time, so whether a rule is stopped for a message does not
 * depend on the machine, on its load, or on how long the process has run.
 */
export interface EvaluationLimit {
  /** Each millisecond stands for `stepsPerMs` steps. More than `maxSteps` are not possible. */
  readonly maxEvaluationMs: number
}

/** A step takes 5 to 50 ns. */
const stepsPerMs = maxSteps / 20

/** The limit of a part of an evaluation. */
interface PartLimit {
  /** The part is stopped when fewer steps than this remain. */
  readonly minSteps: number
  readonly message: string
  readonly outer: PartLimit | undefined
}

/** The remaining steps and bytes of one evaluation. */
export class Budget {
  #steps: number
  #bytes = maxCreatedBytes
  /** `#checkLimits` is called when fewer steps than this remain. */
  #checkBelow = 0
  readonly #limit: EvaluationLimit | undefined
  #part: PartLimit | undefined

  /** Without a limit, an evaluation has `maxSteps` steps. */
  constructor(limit?: EvaluationLimit) {
    this.#limit = limit
    this.#steps = limit === undefined ? maxSteps : Math.min(maxSteps, limit.maxEvaluationMs * stepsPerMs)
  }

  /** Counts steps. Throws if the evaluation has no steps left. */
  countSteps(count: number): void {
    this.#steps -= count
    if (this.#steps < this.#checkBelow) this.#checkLimits()
  }

  #checkLimits(): void {
    if (this.#steps < 0) throw this.#createLimitError()
    for (let part = this.#part; part !== undefined; part = part.outer)
      if (this.#steps < part.minSteps) throw new RuleError(part.message, 'limit')
  }

  #createLimitError(): RuleError {
    const subject = 'the rule does too much work for one message'
    const maxMs = this.#limit?.maxEvaluationMs
    if (maxMs === undefined || maxMs * stepsPerMs >= maxSteps) return createLimitError(subject, 'maxSteps', maxSteps)
    const steps = `${maxMs * stepsPerMs} steps`
    return new RuleError(
      `${subject}: limit rule_engine.max_evaluation_time is ${maxMs} ms, which are ${steps}`,
      'limit',
    )
  }

  /** Runs a part of the evaluation that has its own limit. */
  runWithin<Result>(maxMs: number, message: string, work: () => Result): Result {
    const outer = this.#part
    const checkBelow = this.#checkBelow
    const minSteps = this.#steps - maxMs * stepsPerMs
    this.#part = { minSteps, message, outer }
    this.#checkBelow = Math.max(checkBelow, minSteps)
    try {
      return work()
    } finally {
      this.#part = outer
      this.#checkBelow = checkBelow
    }
  }

  /** Counts the work of reading `length` characters or elements. */
  countRead(length: number): void {
    this.countSteps(1 + length / 16)
  }

  /** Counts created bytes and the work of writing them. Call it before the value is created. */
  countCreated(bytes: number): void {
    this.#bytes -= bytes
    if (this.#bytes < 0) throw createLimitError('the rule creates too much data', 'maxCreatedBytes', maxCreatedBytes)
    this.countSteps(1 + bytes / 16)
  }
}
