// Errors of the evaluation of a rule, and the budget that ends an evaluation that takes too long or grows too large.

import { maxCreatedBytes, maxSteps } from './limits.ts'

export type RuleErrorKind =
  /** The rule cannot process this message: a wrong type, a payload that is not JSON, a division by zero. */
  | 'evaluation'
  /** A limit was reached. The message contains its name. */
  | 'limit'
  /** An error in the rule engine or in a host function. */
  | 'internal'

/** Ends the evaluation of one rule for one message. */
export class RuleError extends Error {
  override readonly name = 'RuleError'
  readonly kind: RuleErrorKind

  constructor(message: string, kind: RuleErrorKind = 'evaluation') {
    super(message)
    this.kind = kind
  }
}

/** Returns the error for a reached limit: what was too large, and the name and value of the limit. */
export function limitError(subject: string, limit: string, maximum: number): RuleError {
  return new RuleError(`${subject}: limit ${limit} is ${maximum}`, 'limit')
}

/** Measures how long an evaluation takes. */
export interface EvaluationClock {
  /** CPU time of this thread, in milliseconds. Time for which the thread waits is not included. */
  threadMs(): number
  /** Maximum time of one evaluation. */
  readonly maxEvaluationMs: number
}

/** Steps between two readings of the clock; they take less than 100 µs. */
const stepsBetweenClockReads = 2_048

/** Time limit of a part of an evaluation. */
interface PartLimit {
  /** Undefined: the clock was not read yet. */
  startMs: number | undefined
  readonly maxMs: number
  readonly message: string
  readonly outer: PartLimit | undefined
}

/** The remaining steps, bytes and time of one evaluation. */
export class Budget {
  #steps = maxSteps
  #bytes = maxCreatedBytes
  /** `#checkLimits` is called when fewer steps than this remain. */
  #checkBelow: number
  readonly #clock: EvaluationClock | undefined
  #startMs: number | undefined
  #part: PartLimit | undefined

  /** Without a clock, only steps and bytes are limited. Most evaluations end before the first reading of the clock. */
  constructor(clock?: EvaluationClock) {
    this.#clock = clock
    this.#checkBelow = clock === undefined ? 0 : maxSteps - stepsBetweenClockReads
  }

  /** Counts steps. Throws if the evaluation has no steps or no time left. */
  step(count: number): void {
    this.#steps -= count
    if (this.#steps < this.#checkBelow) this.#checkLimits()
  }

  #checkLimits(): void {
    if (this.#steps < 0) throw limitError('the rule does too much work for one message', 'maxSteps', maxSteps)
    if (this.#clock === undefined) return
    this.#checkBelow = Math.max(0, this.#steps - stepsBetweenClockReads)
    const nowMs = this.#clock.threadMs()
    const { maxEvaluationMs } = this.#clock
    this.#startMs ??= nowMs
    if (nowMs - this.#startMs > maxEvaluationMs) {
      const limit = `limit rule_engine.max_evaluation_time is ${maxEvaluationMs} ms`
      throw new RuleError(`the rule takes too long for one message: ${limit}`, 'limit')
    }
    for (let part = this.#part; part !== undefined; part = part.outer) {
      part.startMs ??= nowMs
      if (nowMs - part.startMs > part.maxMs) throw new RuleError(part.message, 'limit')
    }
  }

  /** Runs a part of the evaluation that has its own time limit. */
  within<Result>(maxMs: number, message: string, work: () => Result): Result {
    if (this.#clock === undefined) return work()
    const outer = this.#part
    this.#part = { startMs: undefined, maxMs, message, outer }
    this.#checkBelow = Math.max(this.#checkBelow, this.#steps - stepsBetweenClockReads)
    try {
      return work()
    } finally {
      this.#part = outer
    }
  }

  /** Counts the work of reading `length` characters or elements. */
  read(length: number): void {
    this.step(1 + length / 16)
  }

  /** Counts created bytes and the work of writing them. Call it before the value is created. */
  create(bytes: number): void {
    this.#bytes -= bytes
    if (this.#bytes < 0) throw limitError('the rule creates too much data', 'maxCreatedBytes', maxCreatedBytes)
    this.step(1 + bytes / 16)
  }
}
