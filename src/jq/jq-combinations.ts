// jq expressions with several filters: texts, objects and calls. They combine each output of a filter with each output of the others.

import { isText, type MapBuilder, RuleError, type RuleValue, setKey, requireString } from '../values/index.ts'
import { formatText } from './jq-formats.ts'
import type { JqRunner } from './jq-runner.ts'
import type { Scope } from './jq-scope.ts'
import type { JqNode, JqPattern } from './model/jq-syntax.ts'
import { readMember, describeValue } from './jq-values.ts'

interface Building {
  readonly place: number
  readonly input: RuleValue
  readonly scope: Scope | undefined
  emit(value: RuleValue, path: undefined): void
}

/** Emits a text for each combination of the outputs of its parts. */
export function interpolate(
  runner: JqRunner,
  node: Extract<JqNode, { kind: 'text' }>,
  building: Building & { readonly text: string },
): void {
  const { place, text } = building
  const part = node.parts[place]
  if (part === undefined) return building.emit(text, undefined)
  if (typeof part === 'string') return interpolate(runner, node, { ...building, place: place + 1, text: text + part })
  runner.emitValues(part, building.input, building.scope, (value) => {
    const shown = formatText(node.format, value, runner.budget)
    runner.budget.countCreated(text.length + shown.length)
    interpolate(runner, node, { ...building, place: place + 1, text: text + shown })
  })
}

/** Emits an object for each combination of the outputs of its keys and values. */
export function buildObject(
  runner: JqRunner,
  members: Extract<JqNode, { kind: 'object' }>['members'],
  building: Building & { readonly built: Readonly<MapBuilder> },
): void {
  const { place, built } = building
  const member = members[place]
  if (member === undefined) return building.emit(built, undefined)
  runner.emitValues(member.key, building.input, building.scope, (key) => {
    if (!isText(key)) throw new RuleError(`jq: ${describeValue(key, runner.budget)} is not a key of an object`)
    runner.emitValues(member.value, building.input, building.scope, (value) => {
      runner.budget.countCreated(8 * (place + 1))
      const next: MapBuilder = { ...built }
      setKey(next, requireString(key, 'jq: a key'), value)
      buildObject(runner, members, { ...building, place: place + 1, built: next })
    })
  })
}

/** Binds the names of a pattern to parts of a value. */
export function bindPattern(
  runner: JqRunner,
  pattern: JqPattern,
  value: RuleValue,
  scope: Scope | undefined,
  then: (scope: Scope | undefined) => void,
): void {
  if (pattern.kind === 'variable') return then({ kind: 'variable', name: pattern.name, value, outer: scope })
  const bindFrom = (index: number, inner: Scope | undefined): void => {
    const next = (found: Scope | undefined): void => bindFrom(index + 1, found)
    if (pattern.kind === 'array') {
      const item = pattern.items[index]
      if (item === undefined) return then(inner)
      return bindPattern(runner, item, readMember(value, index, runner.budget), inner, next)
    }
    const member = pattern.members[index]
    if (member === undefined) return then(inner)
    runner.emitValues(member.key, value, inner, (key) =>
      bindPattern(runner, member.pattern, readMember(value, key, runner.budget), inner, next),
    )
  }
  bindFrom(0, scope)
}

/** Emits each combination of the outputs of the arguments. */
export function emitCombinations(
  runner: JqRunner,
  args: readonly JqNode[],
  input: RuleValue,
  scope: Scope | undefined,
  values: readonly RuleValue[],
  then: (values: readonly RuleValue[]) => void,
): void {
  const arg = args[values.length]
  if (arg === undefined) return then(values)
  runner.emitValues(arg, input, scope, (value) =>
    emitCombinations(runner, args, input, scope, [...values, value], then),
  )
}
