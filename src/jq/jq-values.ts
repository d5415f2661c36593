// Operations of jq on values: arithmetic, order, members, paths. jq uses the values of the rule language: integers are exact.

import {
  type Budget,
  calculate,
  toComparable,
  encodeJson,
  isArray,
  isInteger,
  isMap,
  isNumber,
  isText,
  type MapBuilder,
  RuleError,
  type RuleMap,
  type RuleNumber,
  type RuleValue,
  setKey,
  requireString,
  toFloat,
} from '../values/index.ts'
import { splitCodePoints } from './code-points.ts'
import type { JqOperator } from './model/jq-syntax.ts'

const typeRanks = { null: 0, false: 1, true: 2, number: 3, string: 4, array: 5, object: 6 } as const

export function getJqType(value: RuleValue): 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object' {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'boolean') return 'boolean'
  if (isNumber(value)) return 'number'
  if (isText(value)) return 'string'
  return isArray(value) ? 'array' : 'object'
}

export function isTruthy(value: RuleValue): boolean {
  return value !== null && value !== undefined && value !== false
}

/** Returns the type and the beginning of the value, for error messages. */
export function describeValue(value: RuleValue, budget: Budget): string {
  const json = encodeJson(value ?? null, budget)
  return `${getJqType(value)} (${json.length > 20 ? `${json.slice(0, 17)}...` : json})`
}

/** Returns an integer if the value is one: `4 / 2` is 2. */
export function makeFiniteNumber(value: number): RuleNumber {
  if (!Number.isFinite(value)) throw new RuleError('jq: the result is not a finite number')
  return Number.isSafeInteger(value) ? value + 0 : calculate('+', value, 0.5 - 0.5)
}

/** The order of jq: null, false, true, numbers, texts, arrays, objects. */
export function compareValues(left: RuleValue, right: RuleValue, budget: Budget): number {
  budget.countSteps(1)
  const byType = getRank(left) - getRank(right)
  if (byType !== 0) return byType
  if (isNumber(left) && isNumber(right)) return compareSimple(toComparable(left), toComparable(right))
  if (isText(left) && isText(right)) {
    budget.countRead(left.length)
    return compareSimple(requireString(left, 'jq: a text'), requireString(right, 'jq: a text'))
  }
  if (isArray(left) && isArray(right)) {
    for (let at = 0; at < left.length && at < right.length; at++) {
      const result = compareValues(left[at], right[at], budget)
      if (result !== 0) return result
    }
    return left.length - right.length
  }
  return isMap(left) && isMap(right) ? orderMaps(left, right, budget) : 0
}

function orderMaps(left: RuleMap, right: RuleMap, budget: Budget): number {
  const [leftKeys, rightKeys] = [sortKeys(left), sortKeys(right)]
  const byKeys = compareValues(leftKeys, rightKeys, budget)
  if (byKeys !== 0) return byKeys
  for (const key of leftKeys) {
    const result = compareValues(left[key], right[key], budget)
    if (result !== 0) return result
  }
  return 0
}

function getRank(value: RuleValue): number {
  if (typeof value === 'boolean') return value ? typeRanks.true : typeRanks.false
  return typeRanks[getJqType(value) as Exclude<ReturnType<typeof getJqType>, 'boolean'>]
}

function compareSimple<T extends number | bigint | string>(left: T, right: T): number {
  return left < right ? -1 : left > right ? 1 : 0
}

export function sortKeys(map: RuleMap): string[] {
  return Object.keys(map).toSorted()
}

export function computeOperation(operator: JqOperator, left: RuleValue, right: RuleValue, budget: Budget): RuleValue {
  switch (operator) {
    case '+':
      return add(left, right, budget)
    case '-':
      return subtract(left, right, budget)
    case '*':
      return multiply(left, right, budget)
    case '/':
      return divide(left, right, budget)
    case '%':
      return computeRemainder(left, right, budget)
    case '==':
      return compareValues(left, right, budget) === 0
    case '!=':
      return compareValues(left, right, budget) !== 0
    case '<':
      return compareValues(left, right, budget) < 0
    case '<=':
      return compareValues(left, right, budget) <= 0
    case '>':
      return compareValues(left, right, budget) > 0
    case '>=':
      return compareValues(left, right, budget) >= 0
    default:
      throw operator satisfies never
  }
}

function throwOperandError(participle: string, left: RuleValue, right: RuleValue, budget: Budget): never {
  throw new RuleError(`jq: ${describeValue(left, budget)} and ${describeValue(right, budget)} cannot be ${participle}`)
}

/** `+` of jq. */
export function add(left: RuleValue, right: RuleValue, budget: Budget): RuleValue {
  if (left === null) return right
  if (right === null) return left
  if (isNumber(left) && isNumber(right)) return calculate('+', left, right)
  if (isText(left) && isText(right)) {
    budget.countCreated(left.length + right.length)
    return requireString(left, 'jq: a text') + requireString(right, 'jq: a text')
  }
  if (isArray(left) && isArray(right)) {
    budget.countCreated(8 * (left.length + right.length))
    return [...left, ...right]
  }
  if (!isMap(left) || !isMap(right)) return throwOperandError('added', left, right, budget)
  return mergeMaps(left, right, budget)
}

function mergeMaps(left: RuleMap, right: RuleMap, budget: Budget): RuleMap {
  budget.countCreated(8 * (Object.keys(left).length + Object.keys(right).length))
  const both: MapBuilder = { ...left }
  for (const key of Object.keys(right)) setKey(both, key, right[key])
  return both
}

function subtract(left: RuleValue, right: RuleValue, budget: Budget): RuleValue {
  if (isNumber(left) && isNumber(right)) return calculate('-', left, right)
  if (!isArray(left) || !isArray(right)) return throwOperandError('subtracted', left, right, budget)
  return left.filter((item) => !right.some((other) => compareValues(item, other, budget) === 0))
}

function multiply(left: RuleValue, right: RuleValue, budget: Budget): RuleValue {
  if (isNumber(left) && isNumber(right)) return calculate('*', left, right)
  if (isText(left) && isNumber(right)) return repeatText(requireString(left, 'jq: a text'), toFloat(right), budget)
  if (isNumber(left) && isText(right)) return multiply(right, left, budget)
  if (!isMap(left) || !isMap(right)) return throwOperandError('multiplied', left, right, budget)
  return mergeDeep(left, right, budget)
}

function repeatText(text: string, count: number, budget: Budget): RuleValue {
  if (count <= 0) return null
  const times = Math.max(1, Math.floor(count))
  budget.countCreated(text.length * times)
  return text.repeat(times)
}

function mergeDeep(left: RuleMap, right: RuleMap, budget: Budget): RuleMap {
  budget.countCreated(8 * (Object.keys(left).length + Object.keys(right).length))
  const both: MapBuilder = { ...left }
  for (const key of Object.keys(right)) {
    const [mine, theirs] = [Object.hasOwn(left, key) ? left[key] : null, right[key]]
    setKey(both, key, isMap(mine) && isMap(theirs) ? mergeDeep(mine, theirs, budget) : theirs)
  }
  return both
}

function divide(left: RuleValue, right: RuleValue, budget: Budget): RuleValue {
  if (isText(left) && isText(right))
    return splitText(requireString(left, 'jq: a text'), requireString(right, 'jq: a text'), budget)
  if (!isNumber(left) || !isNumber(right)) return throwOperandError('divided', left, right, budget)
  if (isInteger(left) && isInteger(right) && toComparable(right) !== 0 && calculate('mod', left, right) === 0)
    return calculate('div', left, right)
  const result = calculate('/', left, right)
  return makeFiniteNumber(toFloat(result))
}

function computeRemainder(left: RuleValue, right: RuleValue, budget: Budget): RuleValue {
  if (!isNumber(left) || !isNumber(right)) return throwOperandError('divided', left, right, budget)
  return calculate('mod', Math.trunc(toFloat(left)), Math.trunc(toFloat(right)))
}

/** Pieces of a text; of an empty text there are none. */
export function splitText(text: string, separator: string, budget: Budget): RuleValue {
  budget.countCreated(text.length + 8)
  if (text === '') return []
  if (separator === '') return splitCodePoints(text)
  return text.split(separator)
}

/** `.[key]` of jq. */
export function readMember(value: RuleValue, key: RuleValue, budget: Budget): RuleValue {
  budget.countSteps(1)
  if (isText(key) && (isMap(value) || value === null)) {
    const name = requireString(key, 'jq: a key')
    return isMap(value) && Object.hasOwn(value, name) ? (value[name] ?? null) : null
  }
  if (isNumber(key) && (isArray(value) || value === null)) {
    if (value === null) return null
    const at = Math.floor(toFloat(key))
    return value[at < 0 ? value.length + at : at] ?? null
  }
  throw new RuleError(`jq: ${describeValue(value, budget)} has no member ${describeValue(key, budget)}`)
}

/** `.[from:to]`: of arrays, of texts by code points, of null. */
export function readSlice(value: RuleValue, from: RuleValue, to: RuleValue, budget: Budget): RuleValue {
  if (value === null) return null
  const readBound = (position: RuleValue, round: (at: number) => number): number | undefined => {
    if (position === null || position === undefined) return undefined
    if (isNumber(position)) return round(toFloat(position))
    throw new RuleError(`jq: a slice begins and ends at numbers, not ${describeValue(position, budget)}`)
  }
  const [start, end] = [readBound(from, Math.floor), readBound(to, Math.ceil)]
  if (isArray(value)) {
    budget.countCreated(8 * value.length)
    return value.slice(start, end)
  }
  if (!isText(value)) throw new RuleError(`jq: ${describeValue(value, budget)} cannot be sliced`)
  budget.countCreated(8 * value.length)
  return splitCodePoints(requireString(value, 'jq: a text')).slice(start, end).join('')
}
