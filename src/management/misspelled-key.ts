// Keys in a body that differ from a known one by case only (`Qos`). Other unknown keys are ignored, as clients of other
// brokers send more than is documented; such a one would be ignored although its sender means the known one.

import type { TSchema } from '../contract/index.ts'
import { type ApiError, refuse, shortened } from './api-error.ts'

/** The parts of a JSON Schema that have keys. */
interface SchemaWithKeys {
  readonly properties?: Readonly<Record<string, SchemaWithKeys>>
  readonly items?: SchemaWithKeys
}

/** Bodies are bounded by http_server.max_body; a schema is as deep as the bodies that it describes. */
export function refusalOfMisspelled(schema: TSchema, value: unknown, where: 'body' | 'entry'): ApiError | undefined {
  const found = find(schema, value)
  if (found === undefined) return undefined
  const { key, known } = found
  return refuse('invalidParameter', `${shortened(key)} in the ${where} is not known; did you mean ${known}?`)
}

interface MisspelledKey {
  readonly key: string
  readonly known: string
}

function find({ properties, items }: SchemaWithKeys, value: unknown): MisspelledKey | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return items === undefined ? undefined : firstOf(value, (item) => find(items, item))
  if (properties === undefined) return undefined
  const byLowerCase = new Map(Object.keys(properties).map((key) => [key.toLowerCase(), key]))
  return firstOf(Object.entries(value), ([key, part]) => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (own !== undefined) return find(own, part)
    const known = byLowerCase.get(key.toLowerCase())
    return known === undefined ? undefined : { key, known }
  })
}

function firstOf<T, R>(values: readonly T[], read: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const found = read(value)
    if (found !== undefined) return found
  }
  return undefined
}
