// Paths into values, for `path`, `getpath`, `setpath`, `delpaths` and assignments of jq.

import {
  type Budget,
  isArray,
  isMap,
  isNumber,
  isText,
  type MapBuilder,
  RuleError,
  type RuleValue,
  setKey,
  requireString,
  toFloat,
} from '../values/index.ts'
import { readMember, compareValues, describeValue, readSlice } from './jq-values.ts'

export type JqPath = readonly RuleValue[]

/** Maximum number of elements that a path may add to an array at once. */
const maxPadding = 100_000

/** The path of a member; undefined: the value has none. */
export function appendKey(path: JqPath | undefined, key: RuleValue): JqPath | undefined {
  return path && [...path, key]
}

export function getPath(value: RuleValue, path: JqPath, budget: Budget): RuleValue {
  let found = value
  for (const key of path)
    found = found === null ? null : isMap(key) ? readPathSlice(found, key, budget) : readMember(found, key, budget)
  return found
}

function readPathSlice(value: RuleValue, key: RuleValue, budget: Budget): RuleValue {
  return isMap(key) ? readSlice(value, key['start'], key['end'], budget) : null
}

export function setPath(value: RuleValue, path: JqPath, next: RuleValue, budget: Budget): RuleValue {
  const [key, ...rest] = path
  if (path.length === 0) return next
  budget.countSteps(1)
  if (isText(key)) return setMember(value, requireString(key, 'jq: a key'), { rest, next, budget })
  if (isNumber(key)) return setElement(value, Math.floor(toFloat(key)), { rest, next, budget })
  if (isMap(key)) return setSlice(value, key, { rest, next, budget })
  throw new RuleError(`jq: ${describeValue(key, budget)} is not a key of a path`)
}

interface Setting {
  readonly rest: JqPath
  readonly next: RuleValue
  readonly budget: Budget
}

function setMember(value: RuleValue, key: string, { rest, next, budget }: Setting): RuleValue {
  if (value !== null && !isMap(value))
    throw new RuleError(`jq: ${describeValue(value, budget)} has no member ${JSON.stringify(key)}`)
  const copy: MapBuilder = { ...value }
  budget.countCreated(8 * (Object.keys(copy).length + 1))
  setKey(copy, key, setPath(value === null ? null : readMember(value, key, budget), rest, next, budget))
  return copy
}

function setElement(value: RuleValue, index: number, { rest, next, budget }: Setting): RuleValue {
  if (value !== null && !isArray(value))
    throw new RuleError(`jq: ${describeValue(value, budget)} has no element ${index}`)
  const copy: RuleValue[] = value === null ? [] : [...value]
  const at = index < 0 ? copy.length + index : index
  if (at < 0) throw new RuleError(`jq: there is no element ${index}`)
  if (at - copy.length > maxPadding) throw new RuleError(`jq: element ${index} is too far after the end`)
  budget.countCreated(8 * Math.max(copy.length, at + 1))
  while (copy.length < at) copy.push(null)
  copy[at] = setPath(copy[at] ?? null, rest, next, budget)
  return copy
}

function setSlice(value: RuleValue, key: RuleValue, { rest, next, budget }: Setting): RuleValue {
  const replaced = setPath(readPathSlice(value, key, budget), rest, next, budget)
  if ((value !== null && !isArray(value)) || !isArray(replaced) || !isMap(key))
    throw new RuleError('jq: a slice of an array is replaced by an array')
  const whole = value ?? []
  const [start, end] = [
    resolveBound(key['start'], whole.length, 0),
    resolveBound(key['end'], whole.length, whole.length),
  ]
  budget.countCreated(8 * (whole.length + replaced.length))
  return [...whole.slice(0, start), ...replaced, ...whole.slice(Math.max(start, end))]
}

function resolveBound(position: RuleValue, length: number, otherwise: number): number {
  if (!isNumber(position)) return otherwise
  const at = Math.floor(toFloat(position))
  return at < 0 ? Math.max(0, length + at) : Math.min(at, length)
}

/** Deletes the last paths first, so that the positions of the other paths stay valid. */
export function deletePaths(value: RuleValue, paths: readonly JqPath[], budget: Budget): RuleValue {
  const sorted = [...paths].toSorted((one, other) => compareValues(other, one, budget))
  let result = value
  for (const path of sorted) result = deletePath(result, path, budget)
  return result
}

function deletePath(value: RuleValue, path: JqPath, budget: Budget): RuleValue {
  const [key, ...rest] = path
  if (path.length === 0 || value === null) return null
  budget.countSteps(1)
  if (rest.length > 0) {
    const member = isMap(key) ? readPathSlice(value, key, budget) : readMember(value, key, budget)
    return member === null ? value : setPath(value, [key], deletePath(member, rest, budget), budget)
  }
  if (isMap(value) && isText(key)) {
    const { [requireString(key, 'jq: a key')]: _gone, ...others } = value
    return others
  }
  if (!isArray(value)) throw new RuleError(`jq: nothing can be deleted from ${describeValue(value, budget)}`)
  if (isMap(key)) return setPath(value, [key], [], budget)
  if (!isNumber(key))
    throw new RuleError(`jq: ${describeValue(value, budget)} has no member ${describeValue(key, budget)}`)
  const index = Math.floor(toFloat(key))
  const at = index < 0 ? value.length + index : index
  return value.filter((_item, index) => index !== at)
}
