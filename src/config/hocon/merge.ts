// One tree of values over another: objects merge, everything else is replaced.

import type { ConfigObject, ConfigValue, Position } from './values.ts'

/** An object with nothing in it. */
export function emptyObject(at: Position): ConfigObject {
  return { kind: 'object', entries: new Map(), at }
}

/** The object with `value` at `path`, merged with what is there. With an empty path it is the object itself. */
export function putValue(object: ConfigObject, path: readonly string[], value: ConfigValue): ConfigObject {
  const [key, ...rest] = path
  if (key === undefined) return object
  const entries = new Map(object.entries)
  const below = entries.get(key)
  const inside: ConfigObject = below?.kind === 'object' ? below : emptyObject(value.at)
  entries.set(key, rest.length > 0 ? putValue(inside, rest, value) : mergeValues(below, value))
  return { ...object, entries }
}

/** What is in `over` counts; of `below` the rest stays. */
export function mergeObjects(below: ConfigObject, over: ConfigObject): ConfigObject {
  const entries = new Map(below.entries)
  for (const [key, part] of over.entries) entries.set(key, mergeValues(entries.get(key), part))
  return { ...below, entries, at: over.at }
}

/** What stands at `path`; undefined: nothing. */
export function valueAt(value: ConfigValue | undefined, path: readonly string[]): ConfigValue | undefined {
  const [key, ...rest] = path
  if (key === undefined || value === undefined) return value
  return value.kind === 'object' ? valueAt(value.entries.get(key), rest) : undefined
}

/** The object without what stands at `path`. */
export function withoutValue(object: ConfigObject, path: readonly string[]): ConfigObject {
  const [key, ...rest] = path
  const inside = key === undefined ? undefined : object.entries.get(key)
  if (key === undefined || inside === undefined) return object
  const entries = new Map(object.entries)
  if (rest.length === 0) entries.delete(key)
  else if (inside.kind === 'object') entries.set(key, withoutValue(inside, rest))
  return { ...object, entries }
}

function mergeValues(below: ConfigValue | undefined, value: ConfigValue): ConfigValue {
  return below?.kind === 'object' && value.kind === 'object' ? mergeObjects(below, value) : value
}
