// Writes values as JSON. The budget limits the length: a small value that refers to one array many times can have a huge text.

import { createLimitError, RuleError } from './errors/rule-error.ts'
import type { Budget } from './budget.ts'
import { maxValueDepth } from './value-limits.ts'
import { formatJsonNumber, isNumber } from './numbers.ts'
import { toBuffer, isArray, isMap, RuleBits, type RuleValue } from './value.ts'

/** Levels that a rule can add to a value by an alias with a path (`AS a.b.c`), beyond the depth of parsed JSON. */
const maxAddedDepth = 256
const maxWrittenDepth = maxValueDepth + maxAddedDepth

/**
 * Returns a value as JSON. Members with the value undefined are omitted; undefined in an array becomes null. Bytes that are not
 * valid UTF-8 are written as `{"$base64":"…"}`.
 */
export function encodeJson(value: RuleValue, budget: Budget): string {
  const pieces: string[] = []
  write(value, pieces, budget, 0)
  return pieces.join('')
}

function write(value: RuleValue, pieces: string[], budget: Budget, depth: number): void {
  if (depth > maxWrittenDepth) throw createLimitError('the value is nested too deeply', 'maxValueDepth', maxValueDepth)
  if (isArray(value)) writeArray(value, pieces, budget, depth)
  else if (isMap(value)) writeMap(value, pieces, budget, depth)
  else {
    const text = encodeScalar(value)
    budget.countCreated(text.length)
    pieces.push(text)
  }
}

function encodeScalar(value: RuleValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (isNumber(value)) return formatJsonNumber(value)
  if (value instanceof Uint8Array) return `{"$base64":"${toBuffer(value).toString('base64')}"}`
  if (value instanceof RuleBits) throw new RuleError('a sequence of bits has no JSON form: use whole bytes')
  return value === true ? 'true' : value === false ? 'false' : 'null'
}

function writeArray(array: readonly RuleValue[], pieces: string[], budget: Budget, depth: number): void {
  budget.countCreated(array.length + 2)
  pieces.push('[')
  for (const [index, item] of array.entries()) {
    if (index > 0) pieces.push(',')
    write(item, pieces, budget, depth + 1)
  }
  pieces.push(']')
}

function writeMap(map: Readonly<Record<string, RuleValue>>, pieces: string[], budget: Budget, depth: number): void {
  budget.countCreated(2)
  pieces.push('{')
  let separator = ''
  for (const [key, member] of Object.entries(map)) {
    if (member === undefined) continue
    budget.countCreated(key.length + 4)
    pieces.push(separator, JSON.stringify(key), ':')
    separator = ','
    write(member, pieces, budget, depth + 1)
  }
  pieces.push('}')
}
