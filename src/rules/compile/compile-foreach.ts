// FOREACH: fields, then WHERE, then INCASE and DO for each item.

import { assert } from '../../protocol/index.ts'
import type { ForeachStatement } from '../sql/sql-syntax.ts'
import { isArray, type MapBuilder, type RuleMap, type RuleValue } from '../../values/index.ts'
import type { Compilation } from './compilation.ts'
import { compileExpression } from './compile-expression.ts'
import { compileArrayField, compileField, type WriteField } from './compile-fields.ts'
import type { CompiledStatement } from './compiled-statement.ts'
import type { Evaluate, Frame } from './frame.ts'
import { Scope } from './scope.ts'

export function compileForeach(statement: ForeachStatement, scope: Scope, compilation: Compilation): CompiledStatement {
  const bindings = statement.fields.slice(0, -1).map((field) => compileField(field, scope, compilation))
  const last = statement.fields.at(-1)
  // The parser refuses everything else.
  assert(last?.kind === 'expression', 'the last field of FOREACH is an expression')
  const array = compileArrayField(last, scope, compilation)
  const where = statement.where === undefined ? undefined : compileExpression(statement.where, scope, compilation)
  const items = compileItems(statement, array.itemName, scope, compilation)
  const writeArray = array.createAliasWriter()
  const fields = bindings.map((finish) => finish())
  const bind = (frame: Frame): RuleValue => {
    const unused: MapBuilder = {}
    for (const write of fields) write(frame, unused)
    const value = array.evaluate(frame)
    writeArray(frame, value)
    return value
  }
  return {
    prepare: bind,
    run: (frame) => {
      const value = bind(frame)
      if (where !== undefined && where(frame) !== true) return undefined
      return isArray(value) ? items(frame, value) : []
    },
  }
}

type RunItems = (frame: Frame, array: readonly RuleValue[]) => readonly RuleMap[]

function compileItems(
  statement: ForeachStatement,
  itemName: string,
  outside: Scope,
  compilation: Compilation,
): RunItems {
  const itemScope = new Scope(outside)
  const item = itemScope.addItem(itemName)
  const inCase: Evaluate | undefined =
    statement.inCase === undefined ? undefined : compileExpression(statement.inCase, itemScope, compilation)
  const fieldScope = new Scope(itemScope)
  const pending = (statement.perItem ?? [{ kind: 'all' as const }]).map((field) =>
    compileField(field, fieldScope, compilation),
  )
  const fields: WriteField[] = pending.map((finish) => finish())
  const aliases = fieldScope.listSlotIndices()
  // The length of the SQL bounds the number of expressions that one item evaluates.
  const itemSteps = 1 + compilation.sql.length / 16
  return (frame, array) => {
    const outputs: RuleMap[] = []
    for (const value of array) {
      frame.budget.countSteps(itemSteps)
      frame.slots[item.index] = value
      for (const index of aliases) frame.slots[index] = undefined
      if (inCase !== undefined && inCase(frame) !== true) continue
      const output: MapBuilder = {}
      for (const write of fields) write(frame, output)
      frame.budget.countCreated(8 * Object.keys(output).length)
      outputs.push(output)
    }
    return outputs
  }
}
