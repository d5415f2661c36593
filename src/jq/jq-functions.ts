// Functions of jq that compute one value from values. Functions with filters as arguments are in jq-library.ts.

import {
  type Budget,
  decodeJson,
  encodeJson,
  isArray,
  isMap,
  isNumber,
  isText,
  makeInteger,
  type MapBuilder,
  parseNumber,
  type RuleArray,
  RuleError,
  type RuleValue,
  setKey,
  requireString,
  toFloat,
} from '../values/index.ts'
import { splitCodePoints } from './code-points.ts'
import { toPlainText } from './jq-formats.ts'
import { deletePaths, setPath } from './jq-paths.ts'
import { captureText, matchText, substitute, testText } from './jq-regex.ts'
import {
  getJqType,
  readMember,
  makeFiniteNumber,
  compareValues,
  describeValue,
  sortKeys,
  splitText,
} from './jq-values.ts'

export type JqFunctionRun = (input: RuleValue, args: readonly RuleValue[], budget: Budget) => RuleValue

function requireText(value: RuleValue, budget: Budget): string {
  if (isText(value)) return requireString(value, 'jq: a text')
  throw new RuleError(`jq: ${describeValue(value, budget)} is not text`)
}

function requireArray(value: RuleValue, budget: Budget): RuleArray {
  if (isArray(value)) return value
  throw new RuleError(`jq: ${describeValue(value, budget)} is not an array`)
}

function requireNumber(value: RuleValue, budget: Budget): number {
  if (isNumber(value)) return toFloat(value)
  throw new RuleError(`jq: ${describeValue(value, budget)} is not a number`)
}

function length(value: RuleValue, budget: Budget): RuleValue {
  if (value === null) return 0
  if (isText(value)) return splitCodePoints(requireText(value, budget)).length
  if (isArray(value)) return value.length
  if (isNumber(value)) return makeFiniteNumber(Math.abs(toFloat(value)))
  if (isMap(value)) return Object.keys(value).length
  throw new RuleError(`jq: ${describeValue(value, budget)} has no length`)
}

function keys(value: RuleValue, budget: Budget, isSorted: boolean): RuleValue {
  if (isArray(value)) return value.map((_item, at) => at)
  if (!isMap(value)) throw new RuleError(`jq: ${describeValue(value, budget)} has no keys`)
  budget.countRead(16 * Object.keys(value).length)
  return isSorted ? sortKeys(value) : Object.keys(value)
}

function has(value: RuleValue, key: RuleValue, budget: Budget): boolean {
  if (isMap(value) && isText(key)) return Object.hasOwn(value, requireText(key, budget))
  if (isArray(value) && isNumber(key)) return toFloat(key) >= 0 && toFloat(key) < value.length
  throw new RuleError(`jq: ${describeValue(value, budget)} cannot have ${describeValue(key, budget)}`)
}

function contains(value: RuleValue, part: RuleValue, budget: Budget): boolean {
  budget.countSteps(1)
  if (isMap(value) && isMap(part))
    return Object.keys(part).every((key) => Object.hasOwn(value, key) && contains(value[key], part[key], budget))
  if (isArray(value) && isArray(part)) return part.every((one) => value.some((item) => contains(item, one, budget)))
  if (isText(value) && isText(part)) return requireText(value, budget).includes(requireText(part, budget))
  if (getJqType(value) === getJqType(part)) return compareValues(value, part, budget) === 0
  throw new RuleError(
    `jq: ${describeValue(value, budget)} and ${describeValue(part, budget)} cannot contain each other`,
  )
}

function sortItems(items: RuleArray, budget: Budget): RuleArray {
  budget.countCreated(8 * items.length)
  return items.toSorted((one, other) => compareValues(one, other, budget))
}

/** Groups pairs `[key, value]`, in the order of their keys. */
function groupPairs(pairs: RuleArray, budget: Budget): RuleArray {
  const groups: { key: RuleValue; items: RuleValue[] }[] = []
  for (const pair of sortPairs(pairs, budget)) {
    const [key, value] = requireArray(pair, budget)
    const last = groups.at(-1)
    if (last !== undefined && compareValues(last.key, key, budget) === 0) last.items.push(value)
    else groups.push({ key, items: [value] })
  }
  return groups.map(({ items }) => items)
}

function sortPairs(pairs: RuleArray, budget: Budget): RuleArray {
  budget.countCreated(8 * pairs.length)
  return pairs.toSorted((one, other) => compareValues(readMember(one, 0, budget), readMember(other, 0, budget), budget))
}

function flatten(items: RuleArray, depth: number, budget: Budget): RuleValue[] {
  budget.countCreated(8 * items.length)
  return items.flatMap((item) => (isArray(item) && depth > 0 ? flatten(item, depth - 1, budget) : [item]))
}

function join(items: RuleArray, separator: string, budget: Budget): string {
  const pieces = items.map((item) =>
    item === null ? '' : isArray(item) || isMap(item) ? requireText(item, budget) : toPlainText(item, budget),
  )
  budget.countCreated(pieces.reduce((sum, piece) => sum + piece.length + separator.length, 0))
  return pieces.join(separator)
}

function findIndices(value: RuleValue, target: RuleValue, budget: Budget): RuleValue {
  if (value === null) return null
  if (isArray(value)) {
    const parts = isArray(target) ? target : [target]
    if (parts.length === 0) return null
    return value.flatMap((_item, at) =>
      parts.every((part, offset) => at + offset < value.length && compareValues(value[at + offset], part, budget) === 0)
        ? [at]
        : [],
    )
  }
  const [whole, part] = [requireText(value, budget), requireText(target, budget)]
  if (part === '') return null
  const found: number[] = []
  budget.countCreated(8 * whole.length)
  for (let at = whole.indexOf(part); at !== -1; at = whole.indexOf(part, at + 1)) found.push(at)
  return found
}

function toNumber(value: RuleValue, budget: Budget): RuleValue {
  if (isNumber(value)) return value
  const parsed = parseNumber(requireText(value, budget).trim())
  if (parsed === undefined) throw new RuleError(`jq: ${describeValue(value, budget)} is not a number`)
  return parsed
}

function implode(value: RuleValue, budget: Budget): string {
  const points = requireArray(value, budget).map((point) => requireNumber(point, budget))
  budget.countCreated(4 * points.length)
  if (
    points.some(
      (point) => !Number.isInteger(point) || point < 0 || point > 0x10_ff_ff || (point >= 0xd8_00 && point <= 0xdf_ff),
    )
  )
    throw new RuleError('jq: implode takes code points')
  return points.map((point) => String.fromCodePoint(point)).join('')
}

function transpose(rows: RuleArray, budget: Budget): RuleValue {
  const width = Math.max(0, ...rows.map((row) => requireArray(row, budget).length))
  budget.countCreated(8 * width * rows.length)
  return Array.from({ length: width }, (_, at) => rows.map((row) => requireArray(row, budget)[at] ?? null))
}

function fromObjectEntries(value: RuleValue, budget: Budget): RuleValue {
  const built: MapBuilder = {}
  for (const entry of requireArray(value, budget)) {
    const [key, member] = requireArray(entry, budget)
    setKey(built, requireText(key, budget), member)
  }
  return built
}

const mathFunctions = [
  'floor',
  'ceil',
  'round',
  'sqrt',
  'abs',
  'exp',
  'log',
  'log2',
  'log10',
  'sin',
  'cos',
  'tan',
  'trunc',
] as const

const functions: Readonly<Record<string, JqFunctionRun>> = {
  'length/0': (input, _args, budget) => length(input, budget),
  'utf8bytelength/0': (input, _args, budget) => Buffer.byteLength(requireText(input, budget)),
  'not/0': (input) => input === null || input === false,
  'keys/0': (input, _args, budget) => keys(input, budget, true),
  'keys_unsorted/0': (input, _args, budget) => keys(input, budget, false),
  'has/1': (input, [key], budget) => has(input, key, budget),
  'contains/1': (input, [part], budget) => contains(input, part, budget),
  'type/0': (input) => getJqType(input),
  'tostring/0': (input, _args, budget) => toPlainText(input, budget),
  'tojson/0': (input, _args, budget) => encodeJson(input ?? null, budget),
  'fromjson/0': (input, _args, budget) => decodeJson(requireText(input, budget)),
  'tonumber/0': (input, _args, budget) => toNumber(input, budget),
  'sort/0': (input, _args, budget) => sortItems(requireArray(input, budget), budget),
  '_sort_pairs/0': (input, _args, budget) =>
    sortPairs(requireArray(input, budget), budget).map((pair) => readMember(pair, 1, budget)),
  '_group_pairs/0': (input, _args, budget) => groupPairs(requireArray(input, budget), budget),
  '_from_pairs/0': (input, _args, budget) => fromObjectEntries(input, budget),
  'reverse/0': (input, _args, budget) =>
    input === null
      ? []
      : isText(input)
        ? splitCodePoints(requireText(input, budget)).toReversed().join('')
        : requireArray(input, budget).toReversed(),
  'flatten/0': (input, _args, budget) => flatten(requireArray(input, budget), Infinity, budget),
  'flatten/1': (input, [depth], budget) => flatten(requireArray(input, budget), requireNumber(depth, budget), budget),
  'join/1': (input, [separator], budget) => join(requireArray(input, budget), requireText(separator, budget), budget),
  'split/1': (input, [separator], budget) =>
    splitText(requireText(input, budget), requireText(separator, budget), budget),
  'ascii_downcase/0': (input, _args, budget) =>
    requireText(input, budget).replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase()),
  'ascii_upcase/0': (input, _args, budget) =>
    requireText(input, budget).replaceAll(/[a-z]+/gu, (letters) => letters.toUpperCase()),
  'startswith/1': (input, [part], budget) => requireText(input, budget).startsWith(requireText(part, budget)),
  'endswith/1': (input, [part], budget) => requireText(input, budget).endsWith(requireText(part, budget)),
  'ltrimstr/1': (input, [part]) =>
    typeof input === 'string' && typeof part === 'string' && input.startsWith(part) ? input.slice(part.length) : input,
  'rtrimstr/1': (input, [part]) =>
    typeof input === 'string' && typeof part === 'string' && part !== '' && input.endsWith(part)
      ? input.slice(0, -part.length)
      : input,
  'trim/0': (input, _args, budget) => requireText(input, budget).trim(),
  'ltrim/0': (input, _args, budget) => requireText(input, budget).trimStart(),
  'rtrim/0': (input, _args, budget) => requireText(input, budget).trimEnd(),
  'explode/0': (input, _args, budget) =>
    splitCodePoints(requireText(input, budget)).map((point) => point.codePointAt(0) ?? 0),
  'implode/0': (input, _args, budget) => implode(input, budget),
  'indices/1': (input, [part], budget) => findIndices(input, part, budget),
  'setpath/2': (input, [path, value], budget) => setPath(input, requireArray(path, budget), value, budget),
  'delpaths/1': (input, [paths], budget) =>
    deletePaths(
      input,
      requireArray(paths, budget).map((path) => requireArray(path, budget)),
      budget,
    ),
  'transpose/0': (input, _args, budget) => transpose(requireArray(input, budget), budget),
  'pow/2': (_input, [base, exponent], budget) =>
    makeFiniteNumber(requireNumber(base, budget) ** requireNumber(exponent, budget)),
  'infinite/0': () => makeFiniteNumber(Number.MAX_VALUE),
  'test/1': (input, [pattern], budget) => testText(requireText(input, budget), pattern, null, budget),
  'test/2': (input, [pattern, flags], budget) => testText(requireText(input, budget), pattern, flags ?? null, budget),
  '_matches/2': (input, [pattern, flags], budget) =>
    matchText(requireText(input, budget), pattern, flags ?? null, budget),
  '_captures/2': (input, [pattern, flags], budget) =>
    captureText(requireText(input, budget), pattern, flags ?? null, budget),
  'sub/2': (input, [pattern, by], budget) =>
    substitute(requireText(input, budget), pattern, '', requireText(by, budget), budget),
  'sub/3': (input, [pattern, by, flags], budget) =>
    substitute(requireText(input, budget), pattern, flags ?? '', requireText(by, budget), budget),
  'gsub/2': (input, [pattern, by], budget) =>
    substitute(requireText(input, budget), pattern, 'g', requireText(by, budget), budget),
  'gsub/3': (input, [pattern, by, flags], budget) =>
    substitute(requireText(input, budget), pattern, `g${requireText(flags, budget)}`, requireText(by, budget), budget),
}

/** By name and number of arguments. */
export const jqFunctions: ReadonlyMap<string, JqFunctionRun> = new Map([
  ...Object.entries(functions),
  ...mathFunctions.map((name): [string, JqFunctionRun] => [
    `${name}/0`,
    (input, _args, budget) => toRoundedValue(Math[name](requireNumber(input, budget))),
  ]),
])

function toRoundedValue(value: number): RuleValue {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? makeInteger(BigInt(value)) : makeFiniteNumber(value)
}
