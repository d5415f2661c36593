// Keywords of JSON Schema that look at the value alone.

import { Regex } from '../../regex/index.ts'
import {
  toComparable,
  equals,
  isArray,
  isInteger,
  isMap,
  isNumber,
  getKind,
  RuleError,
  type RuleMap,
  type RuleNumber,
  type RuleValue,
} from '../../values/index.ts'
import {
  type CheckRun,
  hasType,
  isMultiple,
  type JsonCheck,
  type JsonTypeName,
  jsonTypes,
  createProblem,
  toScalarKey,
} from './json-check.ts'

/** The schema and the position in which a keyword is compiled. */
export interface KeywordPlace {
  /** All keywords beside it. */
  readonly schema: RuleMap
  /** Draft 4 has boolean limits, and 1.0 is not an integer in it. */
  readonly isDraft4: boolean
  /** Compiles the schema below keys of this one. */
  readonly inner: (keys: readonly (string | number)[], schema: RuleValue) => JsonCheck
  /** Compiles what `$ref` refers to. */
  readonly compileReference: (target: string) => JsonCheck
  /** The error for this keyword, or for what is below it. */
  readonly error: (summary: string, below?: readonly (string | number)[]) => Error
}

/** Compiles one keyword; undefined: it means nothing here. */
export type KeywordCompiler = (keywordValue: RuleValue, context: KeywordPlace) => JsonCheck | undefined

/** Characters of a value that a problem shows. */
const maxShown = 60

function describeValue(value: RuleValue): string {
  if (isNumber(value)) return String(toComparable(value))
  return typeof value === 'string' ? JSON.stringify(value.slice(0, maxShown)) : getKind(value)
}

function createTypeCheck(keywordValue: RuleValue, { isDraft4, error }: KeywordPlace): JsonCheck {
  const names = isArray(keywordValue) ? keywordValue : [keywordValue]
  const types = names.filter((name): name is JsonTypeName => jsonTypes.includes(name as JsonTypeName))
  if (types.length < names.length || types.length === 0) throw error(`a type is one of ${jsonTypes.join(', ')}`)
  const wanted = types.join(' or ')
  return (value) =>
    types.some((type) => hasType(value, type, isDraft4))
      ? undefined
      : createProblem(`must be ${wanted}, not ${getKind(value)}`)
}

function createEnumCheck(keywordValue: RuleValue, { error }: KeywordPlace): JsonCheck {
  if (!isArray(keywordValue) || keywordValue.length === 0) throw error('expected an array of values')
  const scalars = new Set(keywordValue.flatMap((value) => toScalarKey(value) ?? []))
  const others = keywordValue.filter((value) => toScalarKey(value) === undefined)
  const choice = keywordValue.slice(0, 10).map(describeValue).join(', ')
  return (value, { budget }) => {
    const key = toScalarKey(value)
    const isOne = key === undefined ? others.some((other) => equals(value, other, budget)) : scalars.has(key)
    return isOne ? undefined : createProblem(`must be one of ${choice}`)
  }
}

function createConstCheck(keywordValue: RuleValue): JsonCheck {
  return (value, { budget }) =>
    equals(value, keywordValue, budget) ? undefined : createProblem(`must be ${describeValue(keywordValue)}`)
}

function requireNumber(keywordValue: RuleValue, { error }: KeywordPlace): RuleNumber {
  if (!isNumber(keywordValue)) throw error('expected a number')
  return keywordValue
}

function createLimitKeyword(
  holds: (value: number | bigint, limit: number | bigint) => boolean,
  comparison: string,
): KeywordCompiler {
  return (keywordValue, context) => {
    const bound = toComparable(requireNumber(keywordValue, context))
    return (value) =>
      !isNumber(value) || holds(toComparable(value), bound)
        ? undefined
        : createProblem(`must be ${comparison} ${bound}, not ${describeValue(value)}`)
  }
}

const atLeast = createLimitKeyword((value, bound) => value >= bound, 'at least')
const atMost = createLimitKeyword((value, bound) => value <= bound, 'at most')
const above = createLimitKeyword((value, bound) => value > bound, 'more than')
const below = createLimitKeyword((value, bound) => value < bound, 'less than')

/** In draft 4, a boolean beside `minimum` or `maximum` excludes the limit itself. */
function excludeLimit(keyword: 'minimum' | 'maximum', check: KeywordCompiler): KeywordCompiler {
  return (keywordValue, context) => {
    if (typeof keywordValue !== 'boolean') return check(keywordValue, context)
    const known = context.schema[keyword]
    return keywordValue && known !== undefined ? check(known, context) : undefined
  }
}

function multipleOf(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const divisor = toComparable(requireNumber(keywordValue, context))
  if (divisor <= 0) throw context.error('expected a number above 0')
  return (value, { budget }) => {
    if (!isNumber(value)) return undefined
    budget.countSteps(4)
    return isMultiple(toComparable(value), divisor)
      ? undefined
      : createProblem(`must be a multiple of ${divisor}, not ${describeValue(value)}`)
  }
}

/** Keywords that count something. `countOf` is undefined for values that the keyword ignores. */
function createCountKeyword(
  isMost: boolean,
  unit: string,
  countOf: (value: RuleValue, run: CheckRun) => number | undefined,
): KeywordCompiler {
  return (keywordValue, { error }) => {
    const bound = isNumber(keywordValue) ? Number(toComparable(keywordValue)) : -1
    if (!Number.isInteger(bound) || bound < 0) throw error('expected an integer of at least 0')
    return (value, run) => {
      const found = countOf(value, run)
      if (found === undefined || (isMost ? found <= bound : found >= bound)) return undefined
      return createProblem(`must have at ${isMost ? 'most' : 'least'} ${bound} ${unit}, not ${found}`)
    }
  }
}

/** Characters of Unicode. Bytes that are not text are counted as they are. */
function countCharacters(value: RuleValue, { budget }: CheckRun): number | undefined {
  if (value instanceof Uint8Array) return value.length
  if (typeof value !== 'string') return undefined
  budget.countRead(value.length)
  let length = 0
  for (let at = 0; at < value.length; at += (value.codePointAt(at) ?? 0) > 0xff_ff ? 2 : 1) length++
  return length
}

function countItems(value: RuleValue): number | undefined {
  return isArray(value) ? value.length : undefined
}

function countMembers(value: RuleValue, { budget }: CheckRun): number | undefined {
  if (!isMap(value)) return undefined
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  budget.countRead(8 * keys.length)
  return keys.length
}

/** Returns a test of texts. The expression takes time in proportion to the text. */
export function compilePattern(
  keywordValue: RuleValue,
  context: KeywordPlace,
  below: readonly string[] = [],
): (text: string, run: CheckRun) => boolean {
  if (typeof keywordValue !== 'string') throw context.error('expected a regular expression', below)
  try {
    const regex = new Regex(keywordValue)
    return (text, { budget }) => regex.exec(text, 0, budget, false) !== undefined
  } catch (error) {
    if (!(error instanceof RuleError)) throw error
    throw context.error(`the regular expression cannot be used: ${error.message}`, below)
  }
}

function pattern(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const matches = compilePattern(keywordValue, context)
  return (value, run) =>
    typeof value !== 'string' || matches(value, run)
      ? undefined
      : createProblem(`must match ${describeValue(keywordValue)}`)
}

function uniqueItems(keywordValue: RuleValue, { error }: KeywordPlace): JsonCheck | undefined {
  if (typeof keywordValue !== 'boolean') throw error('expected true or false')
  if (!keywordValue) return undefined
  return (value, { budget }) => {
    if (!isArray(value)) return undefined
    const scalars = new Set<string>()
    const others: RuleValue[] = []
    for (const item of value) {
      budget.countSteps(1 + others.length)
      const key = toScalarKey(item)
      if (key === undefined ? others.some((other) => equals(item, other, budget)) : scalars.has(key))
        return createProblem('must have each item once')
      if (key === undefined) others.push(item)
      else scalars.add(key)
    }
    return undefined
  }
}

/** Returns names of members. */
export function requireNames(keywordValue: RuleValue, { error }: KeywordPlace): readonly string[] {
  if (isArray(keywordValue) && keywordValue.every((name) => typeof name === 'string')) return keywordValue
  throw error('expected an array of names')
}

/** Returns a check that needs members. */
export function createRequiredCheck(names: readonly string[], because = ''): JsonCheck {
  return (value, { budget }) => {
    if (!isMap(value)) return undefined
    budget.countSteps(1 + names.length / 8)
    const missing = names.find((name) => !Object.hasOwn(value, name) || value[name] === undefined)
    return missing === undefined
      ? undefined
      : createProblem(`needs ${JSON.stringify(missing.slice(0, maxShown))}${because}`)
  }
}

export const jsonAssertions: ReadonlyMap<string, KeywordCompiler> = new Map<string, KeywordCompiler>([
  ['type', createTypeCheck],
  ['enum', createEnumCheck],
  ['const', createConstCheck],
  ['minimum', atLeast],
  ['maximum', atMost],
  ['exclusiveMinimum', excludeLimit('minimum', above)],
  ['exclusiveMaximum', excludeLimit('maximum', below)],
  ['multipleOf', multipleOf],
  ['minLength', createCountKeyword(false, 'characters', countCharacters)],
  ['maxLength', createCountKeyword(true, 'characters', countCharacters)],
  ['pattern', pattern],
  ['minItems', createCountKeyword(false, 'items', countItems)],
  ['maxItems', createCountKeyword(true, 'items', countItems)],
  ['uniqueItems', uniqueItems],
  ['minProperties', createCountKeyword(false, 'members', countMembers)],
  ['maxProperties', createCountKeyword(true, 'members', countMembers)],
  ['required', (keywordValue, context) => createRequiredCheck(requireNames(keywordValue, context))],
])

/** Whether an integer is written as one, for `minContains` and `maxContains`. */
export function readCount(keywordValue: RuleValue, context: KeywordPlace, otherwise: number, key: string): number {
  if (keywordValue === undefined) return otherwise
  if (isInteger(keywordValue) && keywordValue >= 0) return Number(keywordValue)
  throw context.error(`${key} must be an integer of at least 0`)
}
