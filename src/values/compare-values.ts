// Equality and order of values. Nested values are compared within a budget: see json-encode.ts.

import { createLimitError, RuleError } from './errors/rule-error.ts'
import type { Budget } from './budget.ts'
import { maxValueDepth } from './value-limits.ts'
import { toComparable, isInteger, isNumber, parseNumber } from './numbers.ts'
import { toBytes, getKey, isArray, isMap, isText, getKind, RuleBits, type RuleText, type RuleValue } from './value.ts'

export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>='

/**
 * The comparison of the language: undefined equals only itself and everything else with it is false; a number and a
 * text are compared as numbers; boolean or null and a text are compared as texts.
 */
export function compare(operator: ComparisonOperator, left: RuleValue, right: RuleValue, budget: Budget): boolean {
  if (typeof left === 'number' && typeof right === 'number') return isFulfilled(operator, left - right)
  if (left === undefined || right === undefined) {
    return left === right && (operator === '=' || operator === '<=' || operator === '>=')
  }
  if (isNumber(left) && isText(right)) return isFulfilled(operator, compareOrder(left, requireNumber(right), budget, 0))
  if (isText(left) && isNumber(right)) return isFulfilled(operator, compareOrder(requireNumber(left), right, budget, 0))
  if (isText(left) && isWord(right)) return isFulfilled(operator, compareOrder(left, String(right), budget, 0))
  if (isWord(left) && isText(right)) return isFulfilled(operator, compareOrder(String(left), right, budget, 0))
  if (operator === '=') return equals(left, right, budget)
  if (operator === '<>') return !equals(left, right, budget)
  return isFulfilled(operator, compareOrder(left, right, budget, 0))
}

function isFulfilled(operator: ComparisonOperator, sign: number): boolean {
  switch (operator) {
    case '=':
      return sign === 0
    case '<>':
      return sign !== 0
    case '<':
      return sign < 0
    case '<=':
      return sign <= 0
    case '>':
      return sign > 0
    case '>=':
      return sign >= 0
    default:
      throw operator satisfies never
  }
}

function isWord(value: RuleValue): value is boolean | null {
  return typeof value === 'boolean' || value === null
}

function requireNumber(text: RuleText): RuleValue {
  const value = typeof text === 'string' ? parseNumber(text) : undefined
  if (value === undefined) throw new RuleError('a number is compared with a text that is not a number')
  return value
}

/** Equality without conversion: 1 equals 1.0, but not '1'. */
export function equals(left: RuleValue, right: RuleValue, budget: Budget): boolean {
  return isSameValue(left, right, { isStrict: false, budget }, 0)
}

/** Equality of value and type: 1 does not equal 1.0. */
export function equalsStrictly(left: RuleValue, right: RuleValue, budget: Budget): boolean {
  return isSameValue(left, right, { isStrict: true, budget }, 0)
}

interface EqualityMode {
  readonly isStrict: boolean
  readonly budget: Budget
}

function isSameValue(left: RuleValue, right: RuleValue, mode: EqualityMode, depth: number): boolean {
  if (left === right) return true
  if (typeof left !== 'object' && typeof right !== 'object') {
    return isNumber(left) && isNumber(right) && isSameNumber(left, right, mode)
  }
  mode.budget.countSteps(2)
  checkDepth(depth)
  if (isNumber(left) && isNumber(right)) return isSameNumber(left, right, mode)
  if (isText(left) && isText(right)) return orderTexts(left, right, mode.budget) === 0
  if (isArray(left) && isArray(right)) {
    return left.length === right.length && left.every((item, at) => isSameValue(item, right[at], mode, depth + 1))
  }
  if (isMap(left) && isMap(right)) {
    const keys = Object.keys(left)
    if (keys.length !== Object.keys(right).length) return false
    return keys.every((key) => Object.hasOwn(right, key) && isSameValue(left[key], getKey(right, key), mode, depth + 1))
  }
  return left instanceof RuleBits && right instanceof RuleBits && orderBits(left, right) === 0
}

function isSameNumber(left: RuleValue, right: RuleValue, mode: EqualityMode): boolean {
  if (!isNumber(left) || !isNumber(right)) return false
  if (mode.isStrict && isInteger(left) !== isInteger(right)) return false
  return compareScalars(toComparable(left), toComparable(right)) === 0
}

function checkDepth(depth: number): void {
  if (depth > 2 * maxValueDepth)
    throw createLimitError('the value is nested too deeply', 'maxValueDepth', maxValueDepth)
}

const ranks = { integer: 0, float: 0, boolean: 1, null: 1, undefined: 1, map: 2, array: 3, bits: 4, text: 4 } as const

/** Total order over all kinds: numbers, words (false, null, true, undefined), maps, arrays, texts. */
function compareOrder(left: RuleValue, right: RuleValue, budget: Budget, depth: number): number {
  budget.countSteps(1)
  checkDepth(depth)
  const byKind = ranks[getKind(left)] - ranks[getKind(right)]
  if (byKind !== 0) return byKind
  if (isNumber(left) && isNumber(right)) return compareScalars(toComparable(left), toComparable(right))
  if (isText(left) && isText(right)) return orderTexts(left, right, budget)
  if (isArray(left) && isArray(right)) return orderArrays(left, right, budget, depth)
  if (isMap(left) && isMap(right)) return orderMaps(left, right, budget, depth)
  if (left instanceof RuleBits || right instanceof RuleBits) return orderBits(toBits(left), toBits(right))
  return isWord(left) && isWord(right) ? compareScalars(String(left), String(right)) : 0
}

function compareScalars<T extends number | bigint | string>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0
}

function orderArrays(left: readonly RuleValue[], right: readonly RuleValue[], budget: Budget, depth: number): number {
  const shared = Math.min(left.length, right.length)
  for (let at = 0; at < shared; at++) {
    const result = compareOrder(left[at], right[at], budget, depth + 1)
    if (result !== 0) return result
  }
  return left.length - right.length
}

/** The smaller map is first, then the keys decide, then the values. */
function orderMaps(
  left: Readonly<Record<string, RuleValue>>,
  right: Readonly<Record<string, RuleValue>>,
  budget: Budget,
  depth: number,
): number {
  const leftKeys = Object.keys(left).toSorted()
  const rightKeys = Object.keys(right).toSorted()
  budget.countRead(leftKeys.length + rightKeys.length)
  if (leftKeys.length !== rightKeys.length) return leftKeys.length - rightKeys.length
  const byKeys = orderArrays(leftKeys, rightKeys, budget, depth)
  if (byKeys !== 0) return byKeys
  const listValues = (map: Readonly<Record<string, RuleValue>>): RuleValue[] => leftKeys.map((key) => map[key])
  return orderArrays(listValues(left), listValues(right), budget, depth)
}

const surrogate = /[\ud800-\udfff]/

/** Order of the bytes. It is the order of UTF-16 units if neither text has a character above U+FFFF. */
function orderTexts(left: RuleText, right: RuleText, budget: Budget): number {
  budget.countRead(Math.min(left.length, right.length))
  if (typeof left === 'string' && typeof right === 'string') {
    if (left === right) return 0
    if (!surrogate.test(left) && !surrogate.test(right)) return compareScalars(left, right)
  }
  return Buffer.compare(toBytes(left), toBytes(right))
}

function orderBits(left: RuleBits, right: RuleBits): number {
  return Buffer.compare(left.bytes, right.bytes) || left.length - right.length
}

function toBits(value: RuleValue): RuleBits {
  if (value instanceof RuleBits) return value
  const bytes = isText(value) ? toBytes(value) : new Uint8Array()
  return new RuleBits(bytes, bytes.length * 8)
}
