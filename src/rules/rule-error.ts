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

/** What one evaluation may still do. */
export class Budget {
  #steps = maxSteps
  #bytes = maxCreatedBytes

  /** Counts work. Throws if the evaluation has done too much. */
  step(count: number): void {
    this.#steps -= count
    if (this.#steps < 0) throw limitError('the rule does too much work for one message', 'maxSteps', maxSteps)
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
