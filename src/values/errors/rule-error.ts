// Errors of the evaluation of a rule.

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
export function createLimitError(subject: string, limit: string, maximum: number): RuleError {
  return new RuleError(`${subject}: limit ${limit} is ${maximum}`, 'limit')
}
