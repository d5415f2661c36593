// Values that a schema of the contract accepts, and values that it does not.

import type { TSchema } from '../../../src/contract/index.ts'
import type { Random } from '../../protocol/fuzz/random.ts'
import { anyString, nastyString } from './strings.ts'

/** The part of JSON Schema that the contract uses. */
interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

const deepest = 6

/** A value that the schema accepts, except for patterns and lengths, which are ignored. */
export function valueFor(schema: TSchema, random: Random, depth = 0): unknown {
  const { type, const: only, enum: some, anyOf, oneOf, ...rest } = schema as Schema
  if (only !== undefined) return only
  if (some !== undefined) return random.pick(some)
  const choices = anyOf ?? oneOf
  if (choices !== undefined) return valueFor(random.pick(choices), random, depth + 1)
  switch (type) {
    case 'string':
      return anyString(random)
    case 'integer':
    case 'number':
      return numberWithin(rest, random)
    case 'boolean':
      return random.oneIn(2)
    case 'null':
      return null
    case 'array':
      return arrayOf(rest, random, depth)
    case 'object':
      return objectOf(rest, random, depth)
    default:
      return junk(random, depth)
  }
}

function numberWithin({ minimum = -10, maximum = 100_000 }: Schema, random: Random): number {
  if (random.oneIn(4)) return random.pick([minimum, maximum])
  return minimum + random.below(Math.min(maximum - minimum, 1_000) + 1)
}

function arrayOf({ items = {} }: Schema, random: Random, depth: number): unknown[] {
  const length = depth > deepest ? 0 : random.oneIn(20) ? 200 : random.below(4)
  return Array.from({ length }, () => valueFor(items, random, depth + 1))
}

function objectOf(
  { properties = {}, required = [], patternProperties }: Schema,
  random: Random,
  depth: number,
): object {
  const made: [string, unknown][] = []
  for (const [key, schema] of Object.entries(properties)) {
    if (required.includes(key) || random.oneIn(2)) made.push([key, valueFor(schema, random, depth + 1)])
  }
  for (const schema of Object.values(patternProperties ?? {})) {
    made.push([anyString(random), valueFor(schema, random, depth + 1)])
  }
  return Object.fromEntries(made)
}

/** Any JSON. */
export function junk(random: Random, depth = 0): unknown {
  switch (random.below(depth > deepest ? 6 : 8)) {
    case 0:
      return null
    case 1:
      return random.oneIn(2)
    case 2:
      return random.pick([0, -1, 1.5, 1e308, -0, 2 ** 31, 2 ** 32, 2 ** 53, 255, 256])
    case 3:
    case 4:
    case 5:
      return anyString(random)
    case 6:
      return Array.from({ length: random.below(4) }, () => junk(random, depth + 1))
    default:
      return Object.fromEntries([
        [anyString(random), junk(random, depth + 1)],
        [random.pick(['__proto__', 'data', 'topic', 'clientid', 'password']), junk(random, depth + 1)],
      ])
  }
}

/** The value with one part changed, removed or added. */
export function mutated(value: unknown, random: Random): unknown {
  if (Array.isArray(value)) {
    if (value.length === 0 || random.oneIn(4)) return junk(random)
    const at = random.below(value.length)
    return value.with(at, mutated(value[at], random))
  }
  if (typeof value !== 'object' || value === null) return random.oneIn(2) ? junk(random) : nastyString(random)
  const pairs = Object.entries(value)
  if (pairs.length === 0 || random.oneIn(6)) return junk(random)
  const at = random.below(pairs.length)
  const [key, held] = pairs[at]
  if (random.oneIn(3)) return Object.fromEntries(pairs.toSpliced(at, 1))
  if (random.oneIn(4)) return Object.fromEntries([...pairs, [nastyString(random), junk(random)]])
  return Object.fromEntries(pairs.with(at, [key, mutated(held, random)]))
}
