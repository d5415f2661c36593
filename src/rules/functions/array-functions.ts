// Functions on arrays. Positions start at 1.

import { type RuleArray, RuleError, type RuleValue, equalsStrictly } from '../../values/index.ts'
import { requireInteger } from './arguments.ts'
import type { Call, FunctionDefinitions } from './rule-function.ts'

const maxPosition = Number.MAX_SAFE_INTEGER

function requireElement(array: RuleArray, position: RuleValue, name: string): RuleValue {
  if (typeof position === 'number' && position >= 1 && position <= array.length) return array[position - 1]
  throw new RuleError(`${name}: the array has ${array.length} elements`)
}

function sublist(args: readonly RuleValue[], { budget }: Call): RuleArray {
  const [start, length, array] = args.length === 2 ? [1, ...args] : args
  const from = requireInteger(start, 'sublist: start', 1, maxPosition)
  const count = requireInteger(length, 'sublist: length', 0, maxPosition)
  const list = array as RuleArray
  budget.countCreated(8 * Math.min(count, list.length))
  return list.slice(from - 1, from - 1 + count)
}

export const arrayFunctions: FunctionDefinitions = {
  nth: {
    signatures: ['position: integer, list: array'],
    returns: 'any',
    description: 'Element at a position; an error outside of the array.',
    run: ([position, list]) => requireElement(list as RuleArray, position, 'nth'),
  },
  length: {
    signatures: ['list: array'],
    returns: 'integer',
    description: 'Number of elements.',
    run: ([list]) => (list as RuleArray).length,
  },
  sublist: {
    signatures: ['length: integer, list: array', 'start: integer, length: integer, list: array'],
    returns: 'array',
    description: 'At most `length` elements from a position, from the first by default.',
    run: sublist,
  },
  first: {
    signatures: ['list: array'],
    returns: 'any',
    description: 'First element; an error for an empty array.',
    run: ([list]) => requireElement(list as RuleArray, 1, 'first'),
  },
  last: {
    signatures: ['list: array'],
    returns: 'any',
    description: 'Last element; an error for an empty array.',
    run: ([list]) => requireElement(list as RuleArray, (list as RuleArray).length, 'last'),
  },
  contains: {
    signatures: ['value: any, list: array'],
    returns: 'boolean',
    description: 'Whether an element equals the value in value and type.',
    run: ([value, list], { budget }) => (list as RuleArray).some((item) => equalsStrictly(item, value, budget)),
  },
}
