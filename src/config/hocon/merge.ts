// Merges trees of values: objects are merged, everything else is replaced.

import type { ConfigObject, ConfigValue, Position } from './config-values.ts'

/** Returns an empty object. */
export function createEmptyObject(at: Position): ConfigObject {
  return { kind: 'object', entries: new Map(), at }
}

/** Returns the object with `value` at `path`, merged with the existing value. An empty path means the object itself. */
export function putValue(object: ConfigObject, path: readonly string[], value: ConfigValue): ConfigObject {
  const [key, ...rest] = path
  if (key === undefined) return object
  const entries = new Map(object.entries)
  const below = entries.get(key)
  const inside: ConfigObject = below?.kind === 'object' ? below : createEmptyObject(value.at)
  entries.set(key, rest.length > 0 ? putValue(inside, rest, value) : mergeValues(below, value))
  return { ...object, entries }
}

/** A value with its path. */
export interface PlacedValue {
  readonly path: readonly string[]
  readonly value: ConfigValue
}

/** Does what `putValue` does for each of `placed` in order; each object is copied once. */
export function putValues(object: ConfigObject, placed: readonly PlacedValue[]): ConfigObject {
  const entries = new Map(object.entries)
  for (const [key, parts] of groupByFirstKey(placed)) {
    let start = 0
    for (const [index, { path, value }] of parts.entries()) {
      if (path.length > 0) continue
      putBelow(entries, key, parts.slice(start, index))
      entries.set(key, mergeValues(entries.get(key), value))
      start = index + 1
    }
    putBelow(entries, key, parts.slice(start))
  }
  return { ...object, entries }
}

/** Puts values into the object at `key`. */
function putBelow(entries: Map<string, ConfigValue>, key: string, below: readonly PlacedValue[]): void {
  const [first] = below
  if (first === undefined) return
  const found = entries.get(key)
  entries.set(key, putValues(found?.kind === 'object' ? found : createEmptyObject(first.value.at), below))
}

/** In order of the first key, each without it. */
function groupByFirstKey(placed: readonly PlacedValue[]): ReadonlyMap<string, readonly PlacedValue[]> {
  const grouped = new Map<string, PlacedValue[]>()
  for (const { path, value } of placed) {
    const [key, ...rest] = path
    if (key === undefined) continue
    const group = grouped.get(key)
    if (group === undefined) grouped.set(key, [{ path: rest, value }])
    else group.push({ path: rest, value })
  }
  return grouped
}

/** `over` has priority; the rest of `below` stays. */
export function mergeObjects(below: ConfigObject, over: ConfigObject): ConfigObject {
  const entries = new Map(below.entries)
  for (const [key, part] of over.entries) entries.set(key, mergeValues(entries.get(key), part))
  return { ...below, entries, at: over.at }
}

/** Returns the value at `path`; undefined if there is none. */
export function findConfigValue(value: ConfigValue | undefined, path: readonly string[]): ConfigValue | undefined {
  const [key, ...rest] = path
  if (key === undefined || value === undefined) return value
  return value.kind === 'object' ? findConfigValue(value.entries.get(key), rest) : undefined
}

/** Returns the object without the value at `path`. */
export function omitValue(object: ConfigObject, path: readonly string[]): ConfigObject {
  const [key, ...rest] = path
  const inside = key === undefined ? undefined : object.entries.get(key)
  if (key === undefined || inside === undefined) return object
  const entries = new Map(object.entries)
  if (rest.length === 0) entries.delete(key)
  else if (inside.kind === 'object') entries.set(key, omitValue(inside, rest))
  return { ...object, entries }
}

/** Does what `withoutValue` does for each of `paths`; each object is copied once. */
export function omitValues(object: ConfigObject, paths: readonly (readonly string[])[]): ConfigObject {
  const entries = new Map(object.entries)
  for (const [key, parts] of groupByFirstKey(paths.map((path) => ({ path, value: object })))) {
    const inside = entries.get(key)
    if (inside === undefined) continue
    const isWhole = parts.some(({ path }) => path.length === 0)
    if (isWhole) entries.delete(key)
    else if (inside.kind === 'object')
      entries.set(
        key,
        omitValues(
          inside,
          parts.map(({ path }) => path),
        ),
      )
  }
  return { ...object, entries }
}

function mergeValues(below: ConfigValue | undefined, value: ConfigValue): ConfigValue {
  return below?.kind === 'object' && value.kind === 'object' ? mergeObjects(below, value) : value
}
