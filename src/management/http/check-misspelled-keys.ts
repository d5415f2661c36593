// Finds keys in a body that differ from a known one by case (`Qos`), or by one letter that is missing, added or swapped
// with the next (`qoss`). Other unknown keys are ignored, because clients of other brokers send further keys; a
// misspelled key would be ignored although the sender means the known one.

import type { TSchema } from '../../contract/index.ts'
import { type ApiError, refuse, quoteShortened } from './api-error.ts'

/** The parts of a JSON Schema that have keys. */
interface SchemaWithKeys {
  readonly properties?: Readonly<Record<string, SchemaWithKeys>>
  readonly items?: SchemaWithKeys
}

/** http_server.max_body limits bodies; a schema is as deep as its bodies. */
export function checkMisspelledKeys(schema: TSchema, value: unknown, where: 'body' | 'entry'): ApiError | undefined {
  const found = find(schema, value)
  if (found === undefined) return undefined
  const { key, known } = found
  return refuse('invalidParameter', `${quoteShortened(key)} in the ${where} is not known; did you mean ${known}?`)
}

interface MisspelledKey {
  readonly key: string
  readonly known: string
}

function find({ properties, items }: SchemaWithKeys, value: unknown): MisspelledKey | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return items === undefined ? undefined : findFirst(value, (item) => find(items, item))
  if (properties === undefined) return undefined
  const all = Object.keys(properties)
  return findFirst(Object.entries(value), ([key, part]) => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (own !== undefined) return find(own, part)
    // If the known key is present as well, the unknown key has another meaning.
    const known = all.find((one) => !Object.hasOwn(value, one) && isNear(key.toLowerCase(), one.toLowerCase()))
    return known === undefined ? undefined : { key, known }
  })
}

/** Shorter keys are too similar. */
const minKeyLength = 3

/** Equal, or with one letter missing, added or swapped with the next. */
function isNear(sent: string, known: string): boolean {
  if (sent === known) return true
  if (Math.min(sent.length, known.length) < minKeyLength || Math.abs(sent.length - known.length) > 1) return false
  let same = 0
  while (sent[same] === known[same]) same++
  const [rest, knownRest] = [sent.slice(same), known.slice(same)]
  if (sent.length !== known.length) return rest.slice(1) === knownRest || rest === knownRest.slice(1)
  return rest[0] === knownRest[1] && rest[1] === knownRest[0] && rest.slice(2) === knownRest.slice(2)
}

function findFirst<T, R>(values: readonly T[], read: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const found = read(value)
    if (found !== undefined) return found
  }
  return undefined
}
