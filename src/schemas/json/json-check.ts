// The checks of a compiled JSON Schema, which run on a value one after the other.

import {
  type Budget,
  toComparable,
  isArray,
  isInteger,
  isMap,
  isNumber,
  isText,
  maxValueDepth,
  RuleFloat,
  type RuleValue,
} from '../../values/index.ts'
import { checkValueDepth } from '../model/compiled-schema.ts'

/** Why a value is refused, and where: the keys that lead there, the last one first. */
export interface JsonProblem {
  readonly summary: string
  readonly keys: (string | number)[]
}

/** Returns why the value is refused, or undefined. */
export type JsonCheck = (value: RuleValue, run: CheckRun) => JsonProblem | undefined

/** Returns a problem of the value itself. */
export function createProblem(summary: string): JsonProblem {
  return { summary, keys: [] }
}

/** One check of one value. */
export class CheckRun {
  readonly budget: Budget
  #depth = 0

  constructor(budget: Budget) {
    this.budget = budget
  }

  /** Runs a check one level deeper: references can lead in circles. */
  runDeeper(check: JsonCheck, value: RuleValue): JsonProblem | undefined {
    this.budget.countSteps(1)
    checkValueDepth(++this.#depth, 2 * maxValueDepth)
    const found = check(value, this)
    this.#depth--
    return found
  }

  passes(check: JsonCheck, value: RuleValue): boolean {
    return this.runDeeper(check, value) === undefined
  }

  /** Runs a check on a member of the value. */
  checkMember(key: string | number, check: JsonCheck, value: RuleValue): JsonProblem | undefined {
    const found = this.runDeeper(check, value)
    found?.keys.push(key)
    return found
  }
}

export const jsonTypes = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'] as const
export type JsonTypeName = (typeof jsonTypes)[number]

/** Whether the value has the type. From draft 6 on, 1.0 is an integer. */
export function hasType(value: RuleValue, type: JsonTypeName, isDraft4: boolean): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'boolean':
      return typeof value === 'boolean'
    case 'object':
      return isMap(value)
    case 'array':
      return isArray(value)
    case 'number':
      return isNumber(value)
    case 'string':
      return isText(value)
    case 'integer':
      return isInteger(value) || (!isDraft4 && value instanceof RuleFloat)
    default:
      throw type satisfies never
  }
}

/** Returns a text that is the same for equal numbers, texts and words; undefined for arrays and maps. */
export function toScalarKey(value: RuleValue): string | undefined {
  if (isNumber(value)) {
    const number = toComparable(value)
    return `n${typeof number === 'number' && Number.isInteger(number) ? BigInt(number) : number}`
  }
  if (typeof value === 'string') return `s${value}`
  return typeof value === 'boolean' || value === null ? `w${value}` : undefined
}

/** Decimals as an exact fraction: digits and how many of them are behind the point. */
function toDecimal(value: number | bigint): { readonly digits: bigint; readonly decimals: number } {
  if (typeof value === 'bigint') return { digits: value, decimals: 0 }
  const [mantissa, exponent = '0'] = String(value).split('e')
  const [whole, fraction = ''] = mantissa.split('.')
  const decimals = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return decimals < 0 ? { digits: digits * 10n ** BigInt(-decimals), decimals: 0 } : { digits, decimals }
}

/** Whether a number is a multiple, as the decimals that both are written with: 0.3 is a multiple of 0.1. */
export function isMultiple(value: number | bigint, divisor: number | bigint): boolean {
  if (
    typeof value === 'number' &&
    typeof divisor === 'number' &&
    Number.isSafeInteger(value) &&
    Number.isSafeInteger(divisor)
  ) {
    return value % divisor === 0
  }
  const [left, right] = [toDecimal(value), toDecimal(divisor)]
  const decimals = Math.max(left.decimals, right.decimals)
  const scaleDigits = ({ digits, decimals: own }: typeof left): bigint => digits * 10n ** BigInt(decimals - own)
  return scaleDigits(left) % scaleDigits(right) === 0n
}
