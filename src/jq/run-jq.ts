// Compiles and runs jq programs, within the budget of the rule.

import { type Budget, createLimitError, RuleError, type RuleValue } from '../values/index.ts'
import { maxJqDepth } from './model/jq-limits.ts'
import { JqEvaluation } from './evaluate-jq.ts'
import { loadJqLibrary } from './jq-library.ts'
import type { JqNode } from './model/jq-syntax.ts'
import { parseJq } from './parse/parse-jq.ts'

/** A program that was compiled. */
export type JqProgram = JqNode

/** Compiles a program. Throws RuleError with the position in the program. */
export function compileJq(program: string): JqProgram {
  return parseJq(program)
}

/** Returns all outputs of the program. Throws RuleError. */
export function runJq(program: JqProgram, input: RuleValue, budget: Budget): RuleValue[] {
  try {
    return new JqEvaluation(budget, loadJqLibrary()).collect(program, input, undefined)
  } catch (error) {
    if (error instanceof RuleError) throw error
    // If the rule itself is deeply nested, the stack overflows before the limit of the depth is reached.
    if (error instanceof RangeError)
      throw createLimitError('jq: filters run too deeply within each other', 'maxJqDepth', maxJqDepth)
    throw error
  }
}
