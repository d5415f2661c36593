// Checks and converts the arguments of functions.

import {
  type Budget,
  toBytes,
  isArray,
  isInteger,
  isMap,
  isNumber,
  isText,
  getKind,
  RuleError,
  type RuleMap,
  type RuleText,
  type RuleValue,
  tryDecodeJson,
} from '../../values/index.ts'
import type { Parameter } from './rule-function.ts'

const wanted = {
  text: 'a text',
  bytes: 'a text',
  integer: 'an integer',
  number: 'a number',
  array: 'an array',
  map: 'a map',
} as const

/** Returns the argument as the implementation gets it. Throws RuleError for another kind. */
export function convertArgument(value: RuleValue, parameter: Parameter, name: string, budget: Budget): RuleValue {
  switch (parameter.kind) {
    case 'any':
      return value
    case 'text':
    case 'bytes':
      if (isText(value)) return requireTextArgument(value, parameter, name, budget)
      break
    case 'integer':
      if (isInteger(value)) return value
      break
    case 'number':
      if (isNumber(value)) return value
      break
    case 'array':
      if (isArray(value)) return countArray(value, budget)
      break
    case 'map': {
      const map = mapArgument(value, budget)
      if (map !== undefined) return map
      break
    }
    default:
      throw parameter.kind satisfies never
  }
  throw new RuleError(`${name}: ${parameter.name} must be ${wanted[parameter.kind]}, not ${getKind(value)}`)
}

function requireTextArgument(value: RuleText, parameter: Parameter, name: string, budget: Budget): RuleText {
  budget.countRead(value.length)
  if (parameter.kind === 'bytes') return toBytes(value)
  if (typeof value === 'string') return value
  throw new RuleError(`${name}: ${parameter.name} is not valid UTF-8`)
}

function countArray(value: readonly RuleValue[], budget: Budget): readonly RuleValue[] {
  budget.countRead(value.length)
  return value
}

function mapArgument(value: RuleValue, budget: Budget): RuleMap | undefined {
  if (isMap(value)) return value
  if (!isText(value)) return undefined
  budget.countCreated(value.length)
  const opened = tryDecodeJson(value)
  return isMap(opened) ? opened : undefined
}

/** Returns an integer argument as a number. Throws if it is outside of the range. */
export function requireInteger(value: RuleValue, subject: string, min: number, max: number): number {
  if (typeof value === 'number' && value >= min && value <= max) return value
  throw new RuleError(`${subject} must be from ${min} to ${max}`)
}

/** Returns one of the words that an option can be. */
export function requireOption<T extends string>(value: RuleValue, subject: string, options: readonly T[]): T {
  const found = options.find((option) => option === value)
  if (found !== undefined) return found
  throw new RuleError(`${subject} must be one of: ${options.join(', ')}`)
}
