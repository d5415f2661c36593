// Calls of jq functions: first those that the program or the library defines in jq, then those that decide themselves how often they run
// their arguments, then those that are computed from the values of their arguments (`jq-functions.ts`).

import { isArray, isNumber, RuleError, type RuleValue, toFloat } from '../values/index.ts'
import { emitCombinations } from './jq-combinations.ts'
import { jqFunctions } from './jq-functions.ts'
import { getPath, type JqPath } from './jq-paths.ts'
import type { JqEmit, JqFrame, JqRunner } from './jq-runner.ts'
import { type Closure, type FunctionScope, JqError, noNames, type Scope } from './jq-scope.ts'
import type { JqNode } from './model/jq-syntax.ts'
import { isTruthy, describeValue } from './jq-values.ts'

type Call = Extract<JqNode, { kind: 'call' }>

/** Calls a function by its name and number of arguments. */
export function callFunction(runner: JqRunner, call: Call, frame: JqFrame): void {
  const { name, args } = call
  const found = findFunction(runner, call, frame.scope)
  if (found !== undefined) return applyFunction(runner, found, args, frame)
  if (callSpecial(runner, call, frame)) return
  const native = jqFunctions.get(`${name}/${args.length}`)
  if (native === undefined) throw new RuleError(`jq: there is no function ${name}/${args.length}`)
  const { input, scope, emit } = frame
  emitCombinations(runner, args, input, scope, [], (values) => emit(native(input, values, runner.budget), undefined))
}

function findFunction(
  { budget, library }: JqRunner,
  { name, args }: Call,
  scope: Scope | undefined,
): FunctionScope | undefined {
  for (let at = scope; at !== undefined; at = at.outer) {
    budget.countSteps(0.125)
    if (at.kind === 'function' && at.name === name && at.closure.parameters.length === args.length) return at
  }
  return library.get(`${name}/${args.length}`)
}

function applyFunction(
  runner: JqRunner,
  { closure, outer, name }: FunctionScope,
  args: readonly JqNode[],
  { input, path, scope, emit }: JqFrame,
): void {
  const start: Scope | undefined = closure.scope ?? { kind: 'function', name, closure, outer }
  const bindFrom = (index: number, inner: Scope | undefined): void => {
    const parameter = closure.parameters[index]
    const arg = args[index]
    if (parameter === undefined || arg === undefined) return runner.run(closure.body, input, path, inner, emit)
    // An argument uses the names of its caller. If the caller has none, it must not use those of the definition.
    const bound: Closure = { parameters: [], body: arg, scope: scope ?? noNames }
    if (!parameter.startsWith('$'))
      return bindFrom(index + 1, { kind: 'function', name: parameter, closure: bound, outer: inner })
    runner.emitValues(arg, input, scope, (value) => {
      const asFunction: Scope = { kind: 'function', name: parameter.slice(1), closure: bound, outer: inner }
      bindFrom(index + 1, { kind: 'variable', name: parameter.slice(1), value, outer: asFunction })
    })
  }
  bindFrom(0, start)
}

/** Calls a function that is not computed from the values of its arguments alone. Returns false if the name is not such a function. */
function callSpecial(runner: JqRunner, call: Call, frame: JqFrame): boolean {
  const { name, args } = call
  const { input, path, scope, emit } = frame
  const [first] = args
  if (name === 'empty' && first === undefined) return true
  if (name === 'error' && args.length <= 1) {
    if (first === undefined) throw new JqError(input, runner.budget)
    runner.emitValues(first, input, scope, (value) => {
      throw new JqError(value, runner.budget)
    })
  } else if (name === 'path' && args.length === 1 && first !== undefined) {
    for (const found of runner.collectPaths(first, input, scope)) emit(found, undefined)
  } else if (name === 'getpath' && args.length === 1 && first !== undefined) {
    runner.emitValues(first, input, scope, (keys) => {
      if (!isArray(keys)) throw new RuleError('jq: getpath takes an array of keys')
      emit(getPath(input, keys, runner.budget), path && [...path, ...keys])
    })
  } else if (name === 'range' && args.length >= 1 && args.length <= 3) {
    emitCombinations(runner, args, input, scope, [], (values) => emitRange(runner, values, emit))
  } else return callLoop(runner, call, frame)
  return true
}

/**
 * Calls `recurse(f)`, `repeat(f)`, `while(c; f)` or `until(c; f)`: depth first, without a stack frame for each round. Returns false if the name is
 * none of these.
 */
function callLoop(runner: JqRunner, { name, args }: Call, { input, path, scope, emit }: JqFrame): boolean {
  const isConditional = (name === 'while' || name === 'until') && args.length === 2
  const update = args.at(-1)
  const isPlain = (name === 'recurse' || name === 'repeat') && args.length === 1
  if (update === undefined || (!isConditional && !isPlain)) return false
  const condition = isConditional ? args[0] : undefined
  const waiting: { readonly value: RuleValue; readonly path: JqPath | undefined }[] = [{ value: input, path }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path: at } = next
    const holds = condition === undefined || isTruthy(runner.findFirst(condition, value, scope) ?? null)
    if (name === 'until' ? holds : condition === undefined || holds) emit(value, at)
    if (condition !== undefined && holds === (name === 'until')) continue
    const found: typeof waiting = []
    runner.run(update, value, at, scope, (item, itemPath) => {
      runner.budget.countCreated(16)
      found.push({ value: item, path: itemPath })
    })
    waiting.push(...found.toReversed())
  }
  return true
}

function emitRange({ budget }: JqRunner, values: readonly RuleValue[], emit: JqEmit): void {
  const numbers = values.map((value) => {
    if (isNumber(value)) return toFloat(value)
    throw new RuleError(`jq: range takes numbers, not ${describeValue(value, budget)}`)
  })
  const [from, to, by] =
    numbers.length === 1 ? [0, numbers[0] ?? 0, 1] : [numbers[0] ?? 0, numbers[1] ?? 0, numbers[2] ?? 1]
  if (by === 0) return
  for (let at = from; by > 0 ? at < to : at > to; at += by) {
    budget.countSteps(1)
    emit(at, undefined)
  }
}
