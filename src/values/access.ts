// Reading and writing by keys and positions.

import type { Budget } from './budget.ts'
import { tryDecodeJson } from './json-decode.ts'
import { getKey, isArray, isMap, isText, type RuleArray, type RuleText, type RuleValue, withKey } from './value.ts'

/** A step of a path with the position already evaluated. */
export type Step = { readonly key: string } | { readonly position: RuleValue } | 'prepend' | 'append'

/** Returns a member. A text is opened as JSON. Undefined if there is no such member. */
export function readKey(value: RuleValue, key: string, budget: Budget): RuleValue {
  if (isMap(value)) return getKey(value, key)
  return isText(value) ? readKey(openText(value, budget), key, budget) : undefined
}

/** Returns an element: 1 is the first, -1 the last. Undefined outside the array. */
export function readPosition(value: RuleValue, position: RuleValue, budget: Budget): RuleValue {
  if (typeof position !== 'number') return undefined
  if (isArray(value)) return value[position < 0 ? value.length + position : position - 1]
  return isText(value) ? readPosition(openText(value, budget), position, budget) : undefined
}

/** The JSON in a text, or undefined. A text in a text is not opened again. */
function openText(text: RuleText, budget: Budget): RuleValue {
  budget.countCreated(text.length)
  const value = tryDecodeJson(text)
  return isText(value) ? undefined : value
}

/** Returns a copy of `target` with `value` at the end of the path. Undefined changes nothing. */
export function writePath(target: RuleValue, path: readonly Step[], value: RuleValue, budget: Budget): RuleValue {
  return value === undefined ? target : write(target, path, 0, value, budget)
}

function write(target: RuleValue, path: readonly Step[], at: number, value: RuleValue, budget: Budget): RuleValue {
  if (at === path.length) return value
  const step = path[at]
  const opened = isText(target) ? openText(target, budget) : target
  if (typeof step === 'object' && 'key' in step) {
    const map = isMap(opened) ? opened : {}
    budget.countCreated(8 * (Object.keys(map).length + 1))
    return withKey(map, step.key, write(getKey(map, step.key), path, at + 1, value, budget))
  }
  const array = isArray(opened) ? opened : undefined
  const writeInner = (previous: RuleValue): RuleValue => write(previous, path, at + 1, value, budget)
  budget.countCreated(8 * ((array?.length ?? 0) + 1))
  return array === undefined ? [writeInner(undefined)] : writeElement(array, step, writeInner)
}

/** A position beyond the end, 0, or one that is not an integer changes nothing. */
function writeElement(array: RuleArray, step: Step, inner: (previous: RuleValue) => RuleValue): RuleArray {
  if (step === 'prepend') return [inner(undefined), ...array]
  if (step === 'append') return [...array, inner(undefined)]
  if ('key' in step || typeof step.position !== 'number') return array
  const index = step.position < 0 ? array.length + step.position : step.position - 1
  return index in array ? array.with(index, inner(array[index])) : array
}
