// Fields of SELECT, FOREACH and DO: what they put into the output and into aliases.

import {
  formatNumber,
  getKey,
  isNumber,
  type MapBuilder,
  type RuleValue,
  setKey,
  type Step,
  writePath,
} from '../../values/index.ts'
import type { Expression, Field, Path } from '../sql/sql-syntax.ts'
import type { Compilation } from './compilation.ts'
import { compileExpression, compileSteps } from './compile-expression.ts'
import type { Evaluate, Frame } from './frame.ts'
import type { Scope, Slot } from './scope.ts'

/** Adds one field to the output. */
export type WriteField = (frame: Frame, output: MapBuilder) => void

/** A field that was compiled. Which aliases are written is known when the whole statement was compiled. */
export type PendingField = () => WriteField

type ExpressionField = Extract<Field, { kind: 'expression' }>

export function compileField(field: Field, scope: Scope, compilation: Compilation): PendingField {
  if (field.kind === 'all') return compileAll(scope)
  const evaluate = compileExpression(field.expression, scope, compilation)
  const target = field.alias ?? toTargetPath(field.expression, compilation.sql)
  const steps = compileSteps(target, scope, compilation)
  // A path without alias means the same afterwards as before.
  const slot = field.alias === undefined ? undefined : scope.addAlias(target.root)
  return () => {
    const writeOutput =
      target.segments.length === 0 ? createOutputWriter(target.root) : createNestedOutputWriter(target.root)
    const writeSlot = slot?.isRead === true ? createSlotWriter(slot) : undefined
    return (frame, output) => {
      const value = evaluate(frame)
      if (value === undefined) return
      const path = steps(frame)
      writeOutput(output, path, value, frame)
      writeSlot?.(path, value, frame)
    }
  }
}

function compileAll(scope: Scope): PendingField {
  const everything = scope.createReaderOfAll()
  return () => (frame, output) => {
    for (const [name, value] of Object.entries(everything(frame))) setKey(output, name, value)
  }
}

type OutputWriter = (output: MapBuilder, path: readonly Step[], value: RuleValue, frame: Frame) => void

function createOutputWriter(name: string): OutputWriter {
  return (output, _path, value) => setKey(output, name, value)
}

function createNestedOutputWriter(name: string): OutputWriter {
  return (output, path, value, frame) => {
    setKey(output, name, writePath(getKey(output, name), path, value, frame.budget))
  }
}

function createSlotWriter(slot: Slot): (path: readonly Step[], value: RuleValue, frame: Frame) => void {
  return (path, value, frame) => {
    frame.slots[slot.index] = path.length === 0 ? value : writePath(slot.read(frame), path, value, frame.budget)
  }
}

/** Longest name of a field that has neither alias nor path. */
const maxFieldNameLength = 64

/** Returns the path of a field without alias: the path itself, the text itself, or for others the SQL of the field. */
function toTargetPath(expression: Expression, sql: string): Path {
  if (expression.kind === 'path') return expression
  if (expression.kind === 'slice') return expression.path
  if (expression.kind === 'literal' && typeof expression.value === 'string') return toNamePath(expression.value)
  if (expression.kind === 'literal' && isNumber(expression.value)) return toNamePath(formatNumber(expression.value))
  const written = sql.slice(expression.start, expression.end).replaceAll(/\s+/g, ' ')
  return toNamePath(written.slice(0, maxFieldNameLength).toWellFormed())
}

function toNamePath(root: string): Path {
  return { root, segments: [] }
}

/** The array of FOREACH: its value is kept for the items. */
export interface CompiledArray {
  readonly evaluate: Evaluate
  /** Name of the items. */
  readonly itemName: string
  /** Makes the whole array available to WHERE under the alias. */
  readonly createAliasWriter: () => (frame: Frame, value: RuleValue) => void
}

export function compileArrayField(field: ExpressionField, scope: Scope, compilation: Compilation): CompiledArray {
  const evaluate = compileExpression(field.expression, scope, compilation)
  if (field.alias === undefined) return { evaluate, itemName: 'item', createAliasWriter: () => () => {} }
  const slot = scope.addAlias(field.alias.root)
  const createPending = () => (frame: Frame, value: RuleValue) => {
    frame.slots[slot.index] = value
  }
  return { evaluate, itemName: field.alias.root, createAliasWriter: createPending }
}
