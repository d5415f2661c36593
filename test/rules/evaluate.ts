// Shorthands for tests: SQL in, JSON out.

import assert from 'node:assert/strict'
import {
  compileRule,
  toEventFields,
  RuleCompileError,
  RuleEvent,
  testRule,
  toJsonText,
  type HostFunctions,
} from '../../src/rules/index.ts'
import type { RuleMap } from '../../src/values/index.ts'
import { sampleHost } from './sample-host.ts'

/** The output of a rule as JSON, `no match`, or `error: ` with the message. */
export function outputOf(sql: string, context: RuleMap = {}, host: HostFunctions = sampleHost()): string {
  const result = testRule(sql, context, host)
  if (result.outcome === 'no-match') return 'no match'
  if (result.outcome === 'failed') return `error: ${result.error.message}`
  return toJsonText(result.output)
}

/** The value of an expression as JSON, `undefined`, or `error: ` with the message. */
export function valueOf(expression: string, context: RuleMap = {}, host?: HostFunctions): string {
  const output = outputOf(`SELECT ${expression} AS v FROM "t/#"`, context, host)
  if (output === '{}') return 'undefined'
  return output.startsWith('{"v":') ? output.slice(5, -1) : output
}

/** Expressions with their values; a pattern stands for the message of an error. */
export type Examples = readonly (readonly [expression: string, expected: string | RegExp, context?: RuleMap])[]

export function checkExamples(examples: Examples): void {
  for (const [expression, expected, context] of examples) {
    const value = valueOf(expression, context)
    if (typeof expected === 'string') assert.equal(value, expected, expression)
    else {
      assert.ok(value.startsWith('error: '), `${expression} is ${value}, not an error`)
      assert.match(value, expected, expression)
    }
  }
}

/** The compile error of SQL that is not a rule. */
export function compileErrorOf(sql: string): RuleCompileError {
  try {
    compileRule(sql)
  } catch (error) {
    assert.ok(error instanceof RuleCompileError, String(error))
    return error
  }
  throw new assert.AssertionError({ message: `compiles: ${sql}` })
}

/** A message with these columns. */
export function messageWith(columns: RuleMap): RuleEvent {
  return new RuleEvent(toEventFields('message.publish', { topic: 't/a', ...columns }))
}
