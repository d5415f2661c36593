// Evaluates a jq program. Each filter calls `emit` for each of its outputs; no list of outputs is built unless the program needs one.
// Calls of functions are in `jq-calls.ts`, assignments in `jq-assignments.ts`; both run filters through `JqRunner`.
// The budget of the rule ends a program that runs too long, and a limit on the depth ends one that recurs too deeply.
//
// `path(f)`, assignments and deletions need the path at which a value is in the input. They run their filter with an empty path, and each
// output then has its path. In other filters `path` is undefined.

import {
  type Budget,
  isArray,
  isMap,
  isNumber,
  createLimitError,
  negate,
  RuleError,
  type RuleValue,
} from '../values/index.ts'
import { maxJqDepth } from './model/jq-limits.ts'
import { assign } from './jq-assignments.ts'
import { callFunction } from './jq-calls.ts'
import { bindPattern, buildObject, interpolate } from './jq-combinations.ts'
import { formatText } from './jq-formats.ts'
import { appendKey, type JqPath } from './jq-paths.ts'
import type { JqEmit, JqRunner } from './jq-runner.ts'
import { Break, createFunctionScope, JqError, type JqLibrary, findLabel, Passing, type Scope } from './jq-scope.ts'
import type { JqNode } from './model/jq-syntax.ts'
import { isTruthy, readMember, computeOperation, describeValue, readSlice } from './jq-values.ts'

type ControlKind = 'call' | 'define' | 'bind' | 'reduce' | 'foreach' | 'if' | 'try' | 'label' | 'break' | 'assign'

export class JqEvaluation implements JqRunner {
  readonly budget: Budget
  readonly library: JqLibrary
  #depth = 0

  constructor(budget: Budget, library: JqLibrary) {
    this.budget = budget
    this.library = library
  }

  run(node: JqNode, input: RuleValue, path: JqPath | undefined, scope: Scope | undefined, emit: JqEmit): void {
    this.budget.countSteps(1)
    if (++this.#depth > maxJqDepth)
      throw createLimitError('jq: filters run too deeply within each other', 'maxJqDepth', maxJqDepth)
    try {
      this.#runNode(node, input, path, scope, emit)
    } finally {
      this.#depth--
    }
  }

  #runNode(node: JqNode, input: RuleValue, path: JqPath | undefined, scope: Scope | undefined, emit: JqEmit): void {
    switch (node.kind) {
      case 'identity':
        return emit(input, path)
      case 'literal':
        return emit(node.value, undefined)
      case 'variable':
        return emit(this.#findVariable(node.name, scope), undefined)
      case 'format':
        return emit(formatText(node.format, input, this.budget), undefined)
      case 'text':
        return interpolate(this, node, { place: 0, text: '', input, scope, emit })
      case 'index':
      case 'slice':
      case 'iterate':
        return this.#runAccess(node, input, path, scope, emit)
      case 'pipe':
        return this.run(node.left, input, path, scope, (value, at) => this.run(node.right, value, at, scope, emit))
      case 'comma':
        this.run(node.left, input, path, scope, emit)
        return this.run(node.right, input, path, scope, emit)
      case 'alternative':
        return this.#runAlternative(node, input, path, scope, emit)
      case 'and':
      case 'or':
        return this.#runLogic(node, input, scope, emit)
      case 'operation':
        return this.emitValues(node.right, input, scope, (right) =>
          this.emitValues(node.left, input, scope, (left) =>
            emit(computeOperation(node.operator, left, right, this.budget), undefined),
          ),
        )
      case 'negate':
        return this.emitValues(node.of, input, scope, (value) => {
          if (!isNumber(value)) throw new RuleError(`jq: ${describeValue(value, this.budget)} cannot be negated`)
          emit(negate(value), undefined)
        })
      case 'array':
        return emit(node.of === undefined ? [] : this.collect(node.of, input, scope), undefined)
      case 'object':
        return buildObject(this, node.members, { place: 0, built: {}, input, scope, emit })
      default:
        return this.#runControl(node, input, path, scope, emit)
    }
  }

  #runControl(
    node: Extract<JqNode, { kind: ControlKind }>,
    input: RuleValue,
    path: JqPath | undefined,
    scope: Scope | undefined,
    emit: JqEmit,
  ): void {
    switch (node.kind) {
      case 'call':
        return callFunction(this, node, { input, path, scope, emit })
      case 'define':
        return this.run(node.rest, input, path, createFunctionScope(node.function, scope), emit)
      case 'bind':
        return this.emitValues(node.source, input, scope, (value) =>
          bindPattern(this, node.pattern, value, scope, (inner) => this.run(node.body, input, path, inner, emit)),
        )
      case 'reduce':
      case 'foreach':
        return this.#runFold(node, input, path, scope, emit)
      case 'if':
        return this.emitValues(node.condition, input, scope, (holds) =>
          this.run(isTruthy(holds) ? node.yes : node.no, input, path, scope, emit),
        )
      case 'try':
        return this.#runTry(node, input, path, scope, emit)
      case 'label':
        return this.#runLabel({ kind: 'label', name: node.name, outer: scope }, (inner) =>
          this.run(node.body, input, path, inner, emit),
        )
      case 'break':
        throw new Break(findLabel(node.name, scope))
      case 'assign':
        return assign(this, node, { input, path, scope, emit })
      default:
        throw node satisfies never
    }
  }

  /** Runs a filter and emits its outputs without paths. */
  emitValues(node: JqNode, input: RuleValue, scope: Scope | undefined, emit: (value: RuleValue) => void): void {
    this.run(node, input, undefined, scope, emit)
  }

  collect(node: JqNode, input: RuleValue, scope: Scope | undefined): RuleValue[] {
    const items: RuleValue[] = []
    this.emitValues(node, input, scope, (value) => {
      this.budget.countCreated(8)
      items.push(value)
    })
    return items
  }

  /** Returns the paths of the outputs of a filter. Throws RuleError if one of them is not a part of the input. */
  collectPaths(node: JqNode, input: RuleValue, scope: Scope | undefined): JqPath[] {
    const paths: JqPath[] = []
    this.run(node, input, [], scope, (value, path) => {
      if (path === undefined)
        throw new RuleError(`jq: ${describeValue(value, this.budget)} is not a part of the input: it has no path`)
      this.budget.countCreated(8 * (path.length + 1))
      paths.push(path)
    })
    return paths
  }

  #runAccess(
    node: Extract<JqNode, { kind: 'index' | 'slice' | 'iterate' }>,
    input: RuleValue,
    path: JqPath | undefined,
    scope: Scope | undefined,
    emit: JqEmit,
  ): void {
    this.run(node.of, input, path, scope, (value, at) => {
      if (node.kind === 'iterate') return this.#iterate(value, at, emit)
      if (node.kind === 'index')
        return this.emitValues(node.key, input, scope, (key) => {
          if (isMap(key)) return emit(readSlice(value, key['start'], key['end'], this.budget), appendKey(at, key))
          emit(readMember(value, key, this.budget), appendKey(at, key))
        })
      const none: JqNode = { kind: 'literal', value: null }
      this.emitValues(node.to ?? none, input, scope, (end) =>
        this.emitValues(node.from ?? none, input, scope, (start) =>
          emit(readSlice(value, start, end, this.budget), appendKey(at, { start, end })),
        ),
      )
    })
  }

  #iterate(value: RuleValue, path: JqPath | undefined, emit: JqEmit): void {
    if (isArray(value)) for (const [at, item] of value.entries()) emit(item, path && [...path, at])
    else if (isMap(value)) for (const key of Object.keys(value)) emit(value[key], path && [...path, key])
    else throw new RuleError(`jq: ${describeValue(value, this.budget)} has no elements`)
  }

  #runAlternative(
    { left, right }: { readonly left: JqNode; readonly right: JqNode },
    input: RuleValue,
    path: JqPath | undefined,
    scope: Scope | undefined,
    emit: JqEmit,
  ): void {
    let hasOne = false
    this.#runCatching(
      (guarded) =>
        this.run(left, input, path, scope, (value, at) => {
          if (!isTruthy(value)) return
          hasOne = true
          guarded(() => emit(value, at))
        }),
      () => {},
    )
    if (!hasOne) this.run(right, input, path, scope, emit)
  }

  #runLogic(
    node: Extract<JqNode, { left: JqNode; kind: 'pipe' | 'comma' | 'alternative' | 'and' | 'or' }>,
    input: RuleValue,
    scope: Scope | undefined,
    emit: JqEmit,
  ): void {
    const decides = node.kind === 'or'
    this.emitValues(node.left, input, scope, (left) => {
      if (isTruthy(left) === decides) return emit(decides, undefined)
      this.emitValues(node.right, input, scope, (right) => emit(isTruthy(right), undefined))
    })
  }

  #runFold(
    node: Extract<JqNode, { kind: 'reduce' | 'foreach' }>,
    input: RuleValue,
    path: JqPath | undefined,
    scope: Scope | undefined,
    emit: JqEmit,
  ): void {
    this.run(node.init, input, path, scope, (init, initPath) => {
      let state = { value: init, path: initPath }
      this.emitValues(node.source, input, scope, (item) =>
        bindPattern(this, node.pattern, item, scope, (inner) => {
          let last = { value: null as RuleValue, path: undefined as JqPath | undefined }
          this.run(node.update, state.value, state.path, inner, (value, at) => {
            last = { value, path: at }
            if (node.kind === 'foreach') this.run(node.extract, value, at, inner, emit)
          })
          state = last
        }),
      )
      if (node.kind === 'reduce') emit(state.value, state.path)
    })
  }

  #runTry(
    { body, handler }: Extract<JqNode, { kind: 'try' }>,
    input: RuleValue,
    path: JqPath | undefined,
    scope: Scope | undefined,
    emit: JqEmit,
  ): void {
    this.#runCatching(
      (guarded) => this.run(body, input, path, scope, (value, at) => guarded(() => emit(value, at))),
      (error) => {
        if (handler === undefined) return
        const value = error instanceof JqError ? error.value : error.message.replace(/^jq: /u, '')
        this.run(handler, value, undefined, scope, emit)
      },
    )
  }

  /** Runs `work` and passes its errors to `handle`, except errors in functions that `guarded` runs. Exceeded limits are not handled. */
  #runCatching(work: (guarded: (run: () => void) => void) => void, handle: (error: RuleError) => void): void {
    const depth = this.#depth
    try {
      work((run) => {
        try {
          run()
        } catch (error) {
          throw new Passing(error)
        }
      })
    } catch (error) {
      this.#depth = depth
      if (error instanceof Passing) throw error.error
      if (!(error instanceof RuleError) || error.kind !== 'evaluation') throw error
      handle(error)
    }
  }

  #runLabel(label: Scope, work: (scope: Scope) => void): void {
    const depth = this.#depth
    try {
      work(label)
    } catch (error) {
      this.#depth = depth
      let cause: unknown = error
      while (cause instanceof Passing) cause = cause.error
      if (!(cause instanceof Break) || cause.label !== label) throw error
    }
  }

  /** Returns the first output of a filter; undefined: there is none. */
  findFirst(filter: JqNode, input: RuleValue, scope: Scope | undefined): RuleValue {
    let first: RuleValue
    this.#runLabel({ kind: 'label', name: '', outer: undefined }, (label) =>
      this.emitValues(filter, input, scope, (value) => {
        first = value
        throw new Break(label)
      }),
    )
    return first
  }

  #findVariable(name: string, scope: Scope | undefined): RuleValue {
    for (let at = scope; at !== undefined; at = at.outer) {
      this.budget.countSteps(1)
      if (at.kind === 'variable' && at.name === name) return at.value
    }
    if (name === 'ENV') return {}
    throw new RuleError(`jq: $${name} is not defined`)
  }
}
