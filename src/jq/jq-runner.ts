// The part of the evaluation that runs filters, for the files that evaluate single kinds of expressions.

import type { Budget, RuleValue } from '../values/index.ts'
import type { JqPath } from './jq-paths.ts'
import type { JqLibrary, Scope } from './jq-scope.ts'
import type { JqNode } from './model/jq-syntax.ts'

export type JqEmit = (value: RuleValue, path: JqPath | undefined) => void

/** What an expression is evaluated with. */
export interface JqFrame {
  readonly input: RuleValue
  readonly path: JqPath | undefined
  readonly scope: Scope | undefined
  readonly emit: JqEmit
}

export interface JqRunner {
  readonly budget: Budget
  readonly library: JqLibrary
  run(node: JqNode, input: RuleValue, path: JqPath | undefined, scope: Scope | undefined, emit: JqEmit): void
  emitValues(node: JqNode, input: RuleValue, scope: Scope | undefined, emit: (value: RuleValue) => void): void
  findFirst(filter: JqNode, input: RuleValue, scope: Scope | undefined): RuleValue
  collectPaths(node: JqNode, input: RuleValue, scope: Scope | undefined): JqPath[]
}
