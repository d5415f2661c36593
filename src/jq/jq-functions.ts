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
  stringOf,
  toFloat,
} from '../values/index.ts'
import { codePointsOf } from './code-points.ts'
import { plainText } from './jq-formats.ts'
import { deletePaths, setPath } from './jq-paths.ts'
import { captureText, matchText, substitute, testText } from './jq-regex.ts'
import { jqTypeOf, memberOf, numberFrom, orderOf, shownValue, sortedKeys, splitText } from './jq-values.ts'

export type JqFunctionRun = (input: RuleValue, args: readonly RuleValue[], budget: Budget) => RuleValue

function text(value: RuleValue, budget: Budget): string {
  if (isText(value)) return stringOf(value, 'jq: a text')
  throw new RuleError(`jq: ${shownValue(value, budget)} is not text`)
}

function array(value: RuleValue, budget: Budget): RuleArray {
  if (isArray(value)) return value
  throw new RuleError(`jq: ${shownValue(value, budget)} is not an array`)
}

function number(value: RuleValue, budget: Budget): number {
  if (isNumber(value)) return toFloat(value)
  throw new RuleError(`jq: ${shownValue(value, budget)} is not a number`)
}

function length(value: RuleValue, budget: Budget): RuleValue {
  if (value === null) return 0
  if (isText(value)) return codePointsOf(text(value, budget)).length
  if (isArray(value)) return value.length
  if (isNumber(value)) return numberFrom(Math.abs(toFloat(value)))
  if (isMap(value)) return Object.keys(value).length
  throw new RuleError(`jq: ${shownValue(value, budget)} has no length`)
}

function keys(value: RuleValue, budget: Budget, isSorted: boolean): RuleValue {
  if (isArray(value)) return value.map((_item, at) => at)
  if (!isMap(value)) throw new RuleError(`jq: ${shownValue(value, budget)} has no keys`)
  budget.read(16 * Object.keys(value).length)
  return isSorted ? sortedKeys(value) : Object.keys(value)
}

function has(value: RuleValue, key: RuleValue, budget: Budget): boolean {
  if (isMap(value) && isText(key)) return Object.hasOwn(value, text(key, budget))
  if (isArray(value) && isNumber(key)) return toFloat(key) >= 0 && toFloat(key) < value.length
  throw new RuleError(`jq: ${shownValue(value, budget)} cannot have ${shownValue(key, budget)}`)
}

function contains(value: RuleValue, part: RuleValue, budget: Budget): boolean {
  budget.step(1)
  if (isMap(value) && isMap(part))
    return Object.keys(part).every((key) => Object.hasOwn(value, key) && contains(value[key], part[key], budget))
  if (isArray(value) && isArray(part)) return part.every((one) => value.some((item) => contains(item, one, budget)))
  if (isText(value) && isText(part)) return text(value, budget).includes(text(part, budget))
  if (jqTypeOf(value) === jqTypeOf(part)) return orderOf(value, part, budget) === 0
  throw new RuleError(`jq: ${shownValue(value, budget)} and ${shownValue(part, budget)} cannot contain each other`)
}

function sorted(items: RuleArray, budget: Budget): RuleArray {
  budget.create(8 * items.length)
  return items.toSorted((one, other) => orderOf(one, other, budget))
}

/** Groups pairs `[key, value]`, in the order of their keys. */
function grouped(pairs: RuleArray, budget: Budget): RuleArray {
  const groups: { key: RuleValue; items: RuleValue[] }[] = []
  for (const pair of sortedPairs(pairs, budget)) {
    const [key, value] = array(pair, budget)
    const last = groups.at(-1)
    if (last !== undefined && orderOf(last.key, key, budget) === 0) last.items.push(value)
    else groups.push({ key, items: [value] })
  }
  return groups.map(({ items }) => items)
}

function sortedPairs(pairs: RuleArray, budget: Budget): RuleArray {
  budget.create(8 * pairs.length)
  return pairs.toSorted((one, other) => orderOf(memberOf(one, 0, budget), memberOf(other, 0, budget), budget))
}

function flatten(items: RuleArray, depth: number, budget: Budget): RuleValue[] {
  budget.create(8 * items.length)
  return items.flatMap((item) => (isArray(item) && depth > 0 ? flatten(item, depth - 1, budget) : [item]))
}

function join(items: RuleArray, separator: string, budget: Budget): string {
  const pieces = items.map((item) =>
    item === null ? '' : isArray(item) || isMap(item) ? text(item, budget) : plainText(item, budget),
  )
  budget.create(pieces.reduce((sum, piece) => sum + piece.length + separator.length, 0))
  return pieces.join(separator)
}

function indices(value: RuleValue, wanted: RuleValue, budget: Budget): RuleValue {
  if (value === null) return null
  if (isArray(value)) {
    const parts = isArray(wanted) ? wanted : [wanted]
    if (parts.length === 0) return null
    return value.flatMap((_item, at) =>
      parts.every((part, offset) => at + offset < value.length && orderOf(value[at + offset], part, budget) === 0)
        ? [at]
        : [],
    )
  }
  const [whole, part] = [text(value, budget), text(wanted, budget)]
  if (part === '') return null
  const found: number[] = []
  budget.create(8 * whole.length)
  for (let at = whole.indexOf(part); at !== -1; at = whole.indexOf(part, at + 1)) found.push(at)
  return found
}

function toNumber(value: RuleValue, budget: Budget): RuleValue {
  if (isNumber(value)) return value
  const parsed = parseNumber(text(value, budget).trim())
  if (parsed === undefined) throw new RuleError(`jq: ${shownValue(value, budget)} is not a number`)
  return parsed
}

function implode(value: RuleValue, budget: Budget): string {
  const points = array(value, budget).map((point) => number(point, budget))
  budget.create(4 * points.length)
  if (
    points.some(
      (point) => !Number.isInteger(point) || point < 0 || point > 0x10_ff_ff || (point >= 0xd8_00 && point <= 0xdf_ff),
    )
  )
    throw new RuleError('jq: implode takes code points')
  return points.map((point) => String.fromCodePoint(point)).join('')
}

function transpose(rows: RuleArray, budget: Budget): RuleValue {
  const width = Math.max(0, ...rows.map((row) => array(row, budget).length))
  budget.create(8 * width * rows.length)
  return Array.from({ length: width }, (_, at) => rows.map((row) => array(row, budget)[at] ?? null))
}

function fromObjectEntries(value: RuleValue, budget: Budget): RuleValue {
  const built: MapBuilder = {}
  for (const entry of array(value, budget)) {
    const [key, member] = array(entry, budget)
    setKey(built, text(key, budget), member)
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
  'utf8bytelength/0': (input, _args, budget) => Buffer.byteLength(text(input, budget)),
  'not/0': (input) => input === null || input === false,
  'keys/0': (input, _args, budget) => keys(input, budget, true),
  'keys_unsorted/0': (input, _args, budget) => keys(input, budget, false),
  'has/1': (input, [key], budget) => has(input, key, budget),
  'contains/1': (input, [part], budget) => contains(input, part, budget),
  'type/0': (input) => jqTypeOf(input),
  'tostring/0': (input, _args, budget) => plainText(input, budget),
  'tojson/0': (input, _args, budget) => encodeJson(input ?? null, budget),
  'fromjson/0': (input, _args, budget) => decodeJson(text(input, budget)),
  'tonumber/0': (input, _args, budget) => toNumber(input, budget),
  'sort/0': (input, _args, budget) => sorted(array(input, budget), budget),
  '_sort_pairs/0': (input, _args, budget) =>
    sortedPairs(array(input, budget), budget).map((pair) => memberOf(pair, 1, budget)),
  '_group_pairs/0': (input, _args, budget) => grouped(array(input, budget), budget),
  '_from_pairs/0': (input, _args, budget) => fromObjectEntries(input, budget),
  'reverse/0': (input, _args, budget) =>
    input === null
      ? []
      : isText(input)
        ? codePointsOf(text(input, budget)).toReversed().join('')
        : array(input, budget).toReversed(),
  'flatten/0': (input, _args, budget) => flatten(array(input, budget), Infinity, budget),
  'flatten/1': (input, [depth], budget) => flatten(array(input, budget), number(depth, budget), budget),
  'join/1': (input, [separator], budget) => join(array(input, budget), text(separator, budget), budget),
  'split/1': (input, [separator], budget) => splitText(text(input, budget), text(separator, budget), budget),
  'ascii_downcase/0': (input, _args, budget) =>
    text(input, budget).replaceAll(/[A-Z]+/gu, (letters) => letters.toLowerCase()),
  'ascii_upcase/0': (input, _args, budget) =>
    text(input, budget).replaceAll(/[a-z]+/gu, (letters) => letters.toUpperCase()),
  'startswith/1': (input, [part], budget) => text(input, budget).startsWith(text(part, budget)),
  'endswith/1': (input, [part], budget) => text(input, budget).endsWith(text(part, budget)),
  'ltrimstr/1': (input, [part]) =>
    typeof input === 'string' && typeof part === 'string' && input.startsWith(part) ? input.slice(part.length) : input,
  'rtrimstr/1': (input, [part]) =>
    typeof input === 'string' && typeof part === 'string' && part !== '' && input.endsWith(part)
      ? input.slice(0, -part.length)
      : input,
  'trim/0': (input, _args, budget) => text(input, budget).trim(),
  'ltrim/0': (input, _args, budget) => text(input, budget).trimStart(),
  'rtrim/0': (input, _args, budget) => text(input, budget).trimEnd(),
  'explode/0': (input, _args, budget) => codePointsOf(text(input, budget)).map((point) => point.codePointAt(0) ?? 0),
  'implode/0': (input, _args, budget) => implode(input, budget),
  'indices/1': (input, [part], budget) => indices(input, part, budget),
  'setpath/2': (input, [path, value], budget) => setPath(input, array(path, budget), value, budget),
  'delpaths/1': (input, [paths], budget) =>
    deletePaths(
      input,
      array(paths, budget).map((path) => array(path, budget)),
      budget,
    ),
  'transpose/0': (input, _args, budget) => transpose(array(input, budget), budget),
  'pow/2': (_input, [base, exponent], budget) => numberFrom(number(base, budget) ** number(exponent, budget)),
  'infinite/0': () => numberFrom(Number.MAX_VALUE),
  'test/1': (input, [pattern], budget) => testText(text(input, budget), pattern, null, budget),
  'test/2': (input, [pattern, flags], budget) => testText(text(input, budget), pattern, flags ?? null, budget),
  '_matches/2': (input, [pattern, flags], budget) => matchText(text(input, budget), pattern, flags ?? null, budget),
  '_captures/2': (input, [pattern, flags], budget) => captureText(text(input, budget), pattern, flags ?? null, budget),
  'sub/2': (input, [pattern, by], budget) => substitute(text(input, budget), pattern, '', text(by, budget), budget),
  'sub/3': (input, [pattern, by, flags], budget) =>
    substitute(text(input, budget), pattern, flags ?? '', text(by, budget), budget),
  'gsub/2': (input, [pattern, by], budget) => substitute(text(input, budget), pattern, 'g', text(by, budget), budget),
  'gsub/3': (input, [pattern, by, flags], budget) =>
    substitute(text(input, budget), pattern, `g${text(flags, budget)}`, text(by, budget), budget),
}

/** By name and number of arguments. */
export const jqFunctions: ReadonlyMap<string, JqFunctionRun> = new Map([
  ...Object.entries(functions),
  ...mathFunctions.map((name): [string, JqFunctionRun] => [
    `${name}/0`,
    (input, _args, budget) => rounded(Math[name](number(input, budget))),
  ]),
])

function rounded(value: number): RuleValue {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? makeInteger(BigInt(value)) : numberFrom(value)
}
