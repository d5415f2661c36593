// Schemas for tests: functions of rules by a registry, and the codecs alone.

import assert from 'node:assert/strict'
import { type HostFunctions, toJsonText } from '../../src/rules/index.ts'
import {
  compileSchema,
  type SchemaDefinition,
  SchemaError,
  SchemaRegistry,
  type SchemaType,
} from '../../src/schemas/index.ts'
import type { RuleMap, RuleText, RuleValue } from '../../src/values/index.ts'
import { Budget, toBytes } from '../../src/values/index.ts'
import { valueOf } from '../rules/evaluate.ts'
import { sampleHost } from '../rules/sample-host.ts'
import { threadMs } from '../rules/thread-time.ts'

/** A host whose registry has one schema with the name `s`. */
export function hostWith(type: SchemaType, source: string): HostFunctions {
  const registry = new SchemaRegistry([{ name: 's', type, source }])
  return sampleHost({ findSchema: (name) => registry.find(name) })
}

/** The value of an expression with the schema `s`, as JSON, or `error: ` with the message. */
export function valueBy(type: SchemaType, source: string, expression: string, context: RuleMap = {}): string {
  return valueOf(expression, context, hostWith(type, source))
}

export function encodeBy(schema: Omit<SchemaDefinition, 'name'>, value: RuleValue, messageType?: string): Buffer {
  const text: RuleText = compileSchema(schema).encode(value, messageType, new Budget())
  return Buffer.from(toBytes(text))
}

/** The decoded value as JSON. */
export function decodeBy(schema: Omit<SchemaDefinition, 'name'>, data: Uint8Array, messageType?: string): string {
  return toJsonText(compileSchema(schema).decode(data, messageType, new Budget()))
}

/** The message of the error of a text that is not a schema. */
export function faultOf(type: SchemaType, source: string): string {
  try {
    compileSchema({ type, source })
  } catch (error) {
    assert.ok(error instanceof SchemaError, String(error))
    return error.message
  }
  throw new assert.AssertionError({ message: `compiles: ${source.slice(0, 200)}` })
}

/** Generous for a slow machine; work without a limit takes hours or gigabytes. */
const maxMs = 3_000

/** Runs hostile work: it must end soon, and may only throw a rule error. */
export function endsSoon(work: () => string, expected: RegExp): void {
  const startMs = threadMs()
  const value = work()
  assert.match(value, expected)
  const tookMs = threadMs() - startMs
  assert.ok(tookMs < maxMs, `${Math.round(tookMs)} ms`)
}
