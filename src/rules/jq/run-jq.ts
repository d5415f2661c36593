// jq within rules: programs are compiled and run here, within the budget of the rule, and never wait for anything.

import { limitError, RuleError, type Budget } from '../budget/rule-error.ts'
import type { RuleValue } from '../values/value.ts'
import { maxJqDepth } from '../budget/limits.ts'
import { JqEvaluation } from './evaluate-jq.ts'
import { jqLibrary } from './jq-library.ts'
import type { JqNode } from './jq-syntax.ts'
import { parseJq } from './parse-jq.ts'

/** A program that was compiled. */
export type JqProgram = JqNode

/** Throws RuleError with the place in the program. */
export function compileJq(program: string): JqProgram {
  return parseJq(program)
}

/** All outputs. Throws RuleError. */
export function runJq(program: JqProgram, input: RuleValue, budget: Budget): RuleValue[] {
  try {
    return new JqEvaluation(budget, jqLibrary()).collect(program, input, undefined)
  } catch (error) {
    if (error instanceof RuleError) throw error
    // The stack ends before the depth does where the rule itself is deep.
    if (error instanceof RangeError)
      throw limitError('jq: filters run too deeply within each other', 'maxJqDepth', maxJqDepth)
    throw error
  }
}
