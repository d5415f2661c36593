// Exact integers and floats: arithmetic, parsing and formatting.

import { createLimitError, RuleError } from './errors/rule-error.ts'
import { maxIntegerBits } from './value-limits.ts'
import { getKind, RuleFloat, type RuleNumber, type RuleValue } from './value.ts'

const largestInteger = 1n << BigInt(maxIntegerBits)

/** Returns a float. Throws for infinity and NaN: they have no value in the rule language. */
export function makeFloat(value: number): RuleNumber {
  if (!Number.isFinite(value)) throw new RuleError('the result is not a finite number')
  return Number.isInteger(value) ? new RuleFloat(value) : value
}

export function makeInteger(value: bigint): number | bigint {
  if (value > largestInteger || value < -largestInteger) {
    throw createLimitError('integer too large', 'maxIntegerBits', maxIntegerBits)
  }
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value
}

/** Returns an integer from a finite number that has an integer value. */
export function makeIntegerFromNumber(value: number): number | bigint {
  // Adding zero turns -0 into 0.
  return Number.isSafeInteger(value) ? value + 0 : makeInteger(BigInt(value))
}

export function isNumber(value: RuleValue): value is RuleNumber {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof RuleFloat
}

export function isInteger(value: RuleValue): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value))
}

/** Returns the value for comparisons. JavaScript compares number and bigint exactly. */
export function toComparable(value: RuleNumber): number | bigint {
  return value instanceof RuleFloat ? value.value : value
}

/** Returns the nearest float. Throws if an integer is too large for a float. */
export function toFloat(value: RuleNumber): number {
  const float = Number(toComparable(value))
  if (!Number.isFinite(float)) throw new RuleError('the integer is too large for a float')
  return float
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | 'div' | 'mod'

export function calculate(operator: ArithmeticOperator, left: RuleNumber, right: RuleNumber): RuleNumber {
  if (operator === '/') return divide(left, right)
  if (isInteger(left) && isInteger(right)) return calculateIntegers(operator, left, right)
  const [a, b] = [toFloat(left), toFloat(right)]
  switch (operator) {
    case '+':
      return makeFloat(a + b)
    case '-':
      return makeFloat(a - b)
    case '*':
      return makeFloat(a * b)
    default:
      throw new RuleError(`${operator} requires integers, not ${getKind(left)} and ${getKind(right)}`)
  }
}

function divide(left: RuleNumber, right: RuleNumber): RuleNumber {
  const divisor = toFloat(right)
  if (divisor === 0) throw new RuleError('division by zero')
  return makeFloat(toFloat(left) / divisor)
}

function calculateIntegers(
  operator: Exclude<ArithmeticOperator, '/'>,
  left: number | bigint,
  right: number | bigint,
): RuleNumber {
  if (typeof left === 'number' && typeof right === 'number') {
    const result = calculateSafe(operator, left, right)
    if (Number.isSafeInteger(result)) return result + 0
  }
  return makeInteger(calculateExact(operator, BigInt(left), BigInt(right)))
}

function calculateSafe(operator: Exclude<ArithmeticOperator, '/'>, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case 'div':
      return right === 0 ? throwDivisionByZero() : Math.trunc(left / right)
    case 'mod':
      return right === 0 ? throwDivisionByZero() : left % right
    default:
      throw operator satisfies never
  }
}

function calculateExact(operator: Exclude<ArithmeticOperator, '/'>, left: bigint, right: bigint): bigint {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case 'div':
      return right === 0n ? throwDivisionByZero() : left / right
    case 'mod':
      return right === 0n ? throwDivisionByZero() : left % right
    default:
      throw operator satisfies never
  }
}

function throwDivisionByZero(): never {
  throw new RuleError('division by zero')
}

export function negate(value: RuleNumber): RuleNumber {
  if (value instanceof RuleFloat) return new RuleFloat(-value.value)
  return typeof value === 'bigint' ? makeInteger(-value) : Number.isInteger(value) ? 0 - value : -value
}

const integerText = /^[+-]?\d+$/
const floatText = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const maxIntegerDigits = Math.ceil(maxIntegerBits * Math.log10(2))

/** Returns the number that `text` spells, or undefined. `1` is an integer, `1.0` and `1e3` are floats. */
export function parseNumber(text: string): RuleNumber | undefined {
  if (integerText.test(text)) {
    if (text.length <= 15) return Number(text) + 0
    const digits = text.replace(/^\+/, '')
    if (digits.length > maxIntegerDigits + 1)
      throw createLimitError('integer too large', 'maxIntegerBits', maxIntegerBits)
    return makeInteger(BigInt(digits))
  }
  if (!floatText.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? makeFloat(value) : undefined
}

/** Returns a number as text: floats with one to ten decimals. */
export function formatNumber(value: RuleNumber): string {
  return isInteger(value) ? String(value) : formatFloat(toFloat(value), 10)
}

/** Returns a float with at most `decimals` decimals, without trailing zeros but with at least one decimal. */
export function formatFloat(value: number, decimals: number): string {
  const sign = Object.is(value, -0) ? '-' : ''
  // Above 1e21, toFixed switches to the exponent form, and every float is an integer.
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}.0`
  const fixed = sign + value.toFixed(decimals)
  if (!fixed.includes('.')) return `${fixed}.0`
  // Not /0+$/, which takes quadratic time for zeros that do not end the text.
  let end = fixed.length
  while (fixed[end - 1] === '0') end--
  return fixed.slice(0, end).replace(/\.$/, '.0')
}

/** Returns a number as JSON: the shortest text that is read back as the same value and type. */
export function formatJsonNumber(value: RuleNumber): string {
  if (!(value instanceof RuleFloat)) return String(value)
  const text = Object.is(value.value, -0) ? '-0' : String(value.value)
  return text.includes('e') ? text : `${text}.0`
}
