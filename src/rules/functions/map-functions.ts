// Functions on maps.

import {
  formatFloat,
  getKey,
  isArray,
  isInteger,
  isMap,
  isNumber,
  isText,
  createLimitError,
  readKey,
  type RuleMap,
  type RuleText,
  type RuleValue,
  toFloat,
  withKey,
  writePath,
} from '../../values/index.ts'
import { maxPathKeys } from '../limits/rule-limits.ts'
import type { Call, FunctionDefinitions } from './rule-function.ts'

/** Keys of a dotted path. */
export function splitKeys(path: string): string[] {
  const keys = path.split('.', maxPathKeys + 1)
  if (keys.length > maxPathKeys) throw createLimitError('too many keys in a path', 'maxPathKeys', maxPathKeys)
  return keys
}

export function readPath(value: RuleValue, path: string, { budget }: Call): RuleValue {
  return splitKeys(path).reduce((inner: RuleValue, key) => readKey(inner, key, budget), value)
}

function mapGet([path, map, fallback]: readonly RuleValue[], call: Call): RuleValue {
  const found = readPath(map, path as string, call)
  return found === undefined ? fallback : found
}

function mapPut([path, value, map]: readonly RuleValue[], { budget }: Call): RuleValue {
  const steps = splitKeys(path as string).map((key) => ({ key }))
  const base = isMap(map) || isText(map) || isArray(map) ? map : {}
  const result = writePath(base, steps, value, budget)
  return isMap(result) ? result : {}
}

function getPlainKey([key, map, fallback]: readonly RuleValue[]): RuleValue {
  const found = getKey(map as RuleMap, key as string)
  return found === undefined ? fallback : found
}

function putPlainKey([key, value, map]: readonly RuleValue[], { budget }: Call): RuleValue {
  budget.countCreated(8 * (Object.keys(map as RuleMap).length + 1))
  return withKey(map as RuleMap, key as string, value)
}

function listEntries(map: RuleValue, { budget }: Call): [string, RuleValue][] {
  const entries = Object.entries(map as RuleMap).filter(([, value]) => value !== undefined)
  budget.countCreated(24 * entries.length)
  return entries
}

/** Decimals of floats in arguments of HSET. */
const redisDecimals = 6

function toRedisValue(value: RuleValue): RuleText | undefined {
  if (isText(value)) return value
  if (typeof value === 'boolean') return String(value)
  if (!isNumber(value)) return undefined
  return isInteger(value) ? String(value) : formatFloat(toFloat(value), redisDecimals)
}

function toRedisArguments(map: RuleValue, call: Call): RuleValue {
  return listEntries(map, call).flatMap(([key, value]) => {
    const text = toRedisValue(value)
    return text === undefined ? [] : [key, text]
  })
}

export const mapFunctions: FunctionDefinitions = {
  map_new: { signatures: [''], returns: 'map', description: 'Empty map.', run: () => ({}) },
  map_get: {
    signatures: ['path: text, map: any', 'path: text, map: any, default: any'],
    returns: 'any',
    description: 'Member at a dotted path; undefined or the default if there is none.',
    run: mapGet,
  },
  map_put: {
    signatures: ['path: text, value: any, map: any'],
    returns: 'map',
    description:
      'Map with a changed member at a dotted path. A value that is not a map is replaced by one; undefined changes nothing.',
    run: mapPut,
  },
  mget: {
    signatures: ['key: text, map: map', 'key: text, map: map, default: any'],
    returns: 'any',
    description: 'Member with a key, in which dots have no meaning; undefined or the default if there is none.',
    run: getPlainKey,
  },
  mput: {
    signatures: ['key: text, value: any, map: map'],
    returns: 'map',
    description: 'Map with a changed member. Dots in the key have no meaning.',
    run: putPlainKey,
  },
  map_keys: {
    signatures: ['map: map'],
    returns: 'array',
    description: 'Keys of a map.',
    run: ([map], call) => listEntries(map, call).map(([key]) => key),
  },
  map_values: {
    signatures: ['map: map'],
    returns: 'array',
    description: 'Values of a map.',
    run: ([map], call) => listEntries(map, call).map(([, value]) => value),
  },
  map_to_entries: {
    signatures: ['map: map'],
    returns: 'array',
    description: 'Members of a map as maps with `key` and `value`.',
    run: ([map], call) => listEntries(map, call).map(([key, value]) => ({ key, value })),
  },
  map_size: {
    signatures: ['map: map'],
    returns: 'integer',
    description: 'Number of members.',
    run: ([map], call) => listEntries(map, call).length,
  },
  map_to_redis_hset_args: {
    signatures: ['map: map'],
    returns: 'array',
    description: 'Keys and values in turn, as texts for the Redis command HSET. Arrays, maps and null are left out.',
    run: ([map], call) => toRedisArguments(map, call),
  },
}
