// Sets of fields of an object, as in `metadata.managedFields` (FieldsV1), and changes by such sets.
//
// A path is its elements, separated by line ends: `f:spec`, `k:{"name":"a"}` for an item of a list with keys, `v:"x"` for an
// item of a set.

import { isEqual, isObject, type JsonObject } from './kube-object.ts'
import type { MergeSchema } from './resource-types.ts'

/** Each field with its value; of an item of a list, and of an empty object or list, the path itself is a field. */
export type FieldValues = Map<string, unknown>

const separator = '\n'

export function collectFields(value: unknown, schema: MergeSchema): FieldValues {
  const fields: FieldValues = new Map()
  collectInto(fields, value, schema, '')
  return fields
}

function collectInto(fields: FieldValues, value: unknown, schema: MergeSchema | undefined, path: string): void {
  if (isObject(value) && schema?.type !== 'atomic') {
    const entries = Object.entries(value)
    if (entries.length === 0 && path !== '') fields.set(path, {})
    for (const [key, child] of entries) {
      collectInto(fields, child, getFieldSchema(schema, key), joinPath(path, `f:${key}`))
    }
  } else if (Array.isArray(value) && schema?.type === 'map') {
    if (value.length === 0) fields.set(path, [])
    for (const item of value as JsonObject[]) {
      const itemPath = joinPath(path, formatItemKey(item, schema.keys))
      fields.set(itemPath, true)
      collectInto(fields, item, { type: 'object', fields: schema.fields ?? {} }, itemPath)
    }
  } else if (Array.isArray(value) && schema?.type === 'set') {
    if (value.length === 0) fields.set(path, [])
    for (const item of value) fields.set(joinPath(path, `v:${JSON.stringify(item)}`), true)
  } else fields.set(path, value)
}

function getFieldSchema(schema: MergeSchema | undefined, key: string): MergeSchema | undefined {
  if (schema === undefined || (schema.type !== 'object' && schema.type !== 'map')) return undefined
  return schema.fields?.[key]
}

function joinPath(path: string, element: string): string {
  return path === '' ? element : `${path}${separator}${element}`
}

/** Keys of lists that may be absent. */
const keyDefaults: Readonly<Record<string, string>> = { protocol: 'TCP' }

function formatItemKey(item: JsonObject, keys: readonly string[]): string {
  const entries = keys.map((key) => [key, item[key] ?? keyDefaults[key]] as const)
  return `k:${JSON.stringify(Object.fromEntries(entries.filter(([, value]) => value !== undefined)))}`
}

/** Returns `live` with all fields of `config`. Items of lists with keys are merged; other lists are replaced. */
export function mergeFields(live: unknown, config: unknown, schema: MergeSchema | undefined): unknown {
  if (isObject(config) && isObject(live) && schema?.type !== 'atomic') {
    const result: JsonObject = { ...live }
    for (const [key, value] of Object.entries(config)) {
      result[key] = mergeFields(live[key], value, getFieldSchema(schema, key))
    }
    return result
  }
  if (Array.isArray(config) && Array.isArray(live) && schema?.type === 'map') {
    const result = [...(live as JsonObject[])]
    for (const item of config as JsonObject[]) {
      const key = formatItemKey(item, schema.keys)
      const index = result.findIndex((other) => formatItemKey(other, schema.keys) === key)
      const merged = mergeFields(result[index], item, { type: 'object', fields: schema.fields ?? {} }) as JsonObject
      if (index === -1) result.push(merged)
      else result[index] = merged
    }
    return result
  }
  if (Array.isArray(config) && Array.isArray(live) && schema?.type === 'set') {
    return [...(live as unknown[]), ...(config as unknown[]).filter((item) => !(live as unknown[]).includes(item))]
  }
  return config
}

/** Returns a copy of `object` without the fields at `paths`, and without the objects that are empty then. */
export function removeFields(object: JsonObject, paths: readonly string[]): JsonObject {
  const result = structuredClone(object)
  // The fields of an item go with the item, which is found by its keys.
  const topmost = paths.filter((path) => !paths.some((other) => other !== path && isWithin(path, other)))
  for (const path of topmost) removeElement(result, path.split(separator))
  return result
}

function removeElement(node: unknown, elements: readonly string[]): void {
  const [element = '', ...rest] = elements
  const child = getElement(node, element)
  if (child === undefined) return
  if (rest.length > 0) {
    removeElement(child, rest)
    const isEmpty = Array.isArray(child) ? child.length === 0 : isObject(child) && Object.keys(child).length === 0
    if (!isEmpty || element.startsWith('k:')) return
  }
  if (Array.isArray(node)) node.splice(node.indexOf(child), 1)
  else if (isObject(node)) delete node[element.slice(2)]
}

function getElement(node: unknown, element: string): unknown {
  const text = element.slice(2)
  if (element.startsWith('f:')) return isObject(node) ? node[text] : undefined
  if (!Array.isArray(node)) return undefined
  const wanted: unknown = JSON.parse(text)
  if (element.startsWith('v:')) return (node as unknown[]).find((item) => isEqual(item, wanted))
  return (node as JsonObject[]).find((item) =>
    Object.entries(wanted as JsonObject).every(([key, value]) => isEqual(item[key] ?? keyDefaults[key], value)),
  )
}

/** Returns the nested form of FieldsV1. */
export function toFieldsV1(paths: Iterable<string>): JsonObject {
  const root: JsonObject = {}
  for (const path of paths) {
    let node = root
    for (const element of path.split(separator)) node = (node[element] ??= {}) as JsonObject
    node['.'] ??= {}
  }
  return removeDots(root)
}

/** Only a path with fields below it needs the dot that says that the path itself is a field. */
function removeDots(node: JsonObject): JsonObject {
  const entries = Object.entries(node).filter(([key]) => key !== '.' || Object.keys(node).length > 1)
  return Object.fromEntries(entries.map(([key, value]) => [key, removeDots(value as JsonObject)]))
}

/** Returns the paths of FieldsV1: its leaves, and those with a dot. */
export function parseFieldsV1(node: JsonObject, path = ''): string[] {
  const keys = Object.keys(node)
  if (keys.length === 0) return path === '' ? [] : [path]
  return keys.flatMap((key) => {
    if (key === '.') return [path]
    return parseFieldsV1(node[key] as JsonObject, joinPath(path, key))
  })
}

export function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}${separator}`)
}

/** Returns the path as messages have it: `.spec.env[name="A"].value`. */
export function formatFieldPath(path: string): string {
  return path
    .split(separator)
    .map((element) => {
      if (element.startsWith('f:')) return `.${element.slice(2)}`
      if (element.startsWith('v:')) return `[=${element.slice(2)}]`
      const keys = Object.entries(JSON.parse(element.slice(2)) as JsonObject)
      return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
    })
    .join('')
}
