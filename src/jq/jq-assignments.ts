// Assignments of jq: `=`, `|=` and the operators that compute a new value from the old one.

import type { RuleValue } from '../values/index.ts'
import { deletePaths, getPath, type JqPath, setPath } from './jq-paths.ts'
import type { JqFrame, JqRunner } from './jq-runner.ts'
import type { Scope } from './jq-scope.ts'
import type { JqNode } from './model/jq-syntax.ts'
import { isTruthy, computeOperation } from './jq-values.ts'

type Assignment = Extract<JqNode, { kind: 'assign' }>

/** Emits the input with other values at the paths of the left side: once for each output of the right side. */
export function assign(runner: JqRunner, { operator, left, right }: Assignment, frame: JqFrame): void {
  const { input, scope, emit } = frame
  const paths = runner.collectPaths(left, input, scope)
  if (operator === '|=') return emit(update(runner, right, paths, frame), undefined)
  runner.emitValues(right, input, scope, (value) => {
    let result = input
    for (const path of paths) {
      const old = getPath(result, path, runner.budget)
      result = setPath(result, path, computeAssignedValue(runner, operator, old, value), runner.budget)
    }
    emit(result, undefined)
  })
}

function computeAssignedValue(
  { budget }: JqRunner,
  operator: Exclude<Assignment['operator'], '|='>,
  old: RuleValue,
  right: RuleValue,
): RuleValue {
  if (operator === '=') return right
  if (operator === '//') return isTruthy(old) ? old : right
  return computeOperation(operator, old, right, budget)
}

/** Implements `|=`: the first output replaces the value at each path; without an output the value is deleted. */
function update(
  runner: JqRunner,
  filter: JqNode,
  paths: readonly JqPath[],
  { input, scope }: { readonly input: RuleValue; readonly scope: Scope | undefined },
): RuleValue {
  const { budget } = runner
  let result = input
  const gone: JqPath[] = []
  for (const path of paths) {
    const first = runner.findFirst(filter, getPath(result, path, budget), scope)
    if (first === undefined) gone.push(path)
    else result = setPath(result, path, first, budget)
  }
  return deletePaths(result, gone, budget)
}
