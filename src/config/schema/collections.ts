// Lists, and objects in lists.

import { quoteForMessage } from '../hocon/config-errors.ts'
import type { ConfigObject, ConfigValue, PlainValue } from '../hocon/config-values.ts'
import { maxTextBytes, createTypeProblem, showText, type ReadValue, type SettingType } from './setting-type.ts'

/**
 * A list; a single value without brackets is a list of one, and an object with the keys 1, 2, 3 is a list in their
 * order.
 */
export function listOf<T>(type: SettingType<T>, limit = 10_000): SettingType<readonly T[]> {
  const name = `a list, each item ${type.name}`
  return {
    name,
    jsonSchema: { anyOf: [{ type: 'array', items: type.jsonSchema, maxItems: limit }, type.jsonSchema] },
    read(value) {
      const items = toItems(value)
      if (items.length > limit) return { problem: `the list has more than ${limit} items` }
      return readItems(items, (item) => type.read(item))
    },
    show: (value) => `[${value.map((item) => type.show(item)).join(', ')}]`,
    listPaths: (value) => value.flatMap((item) => type.listPaths?.(item) ?? []),
  }
}

/** The first problem of an item ends it, with the place of the item. */
export function readItems<T>(
  items: readonly ConfigValue[],
  readItem: (item: ConfigValue) => ReadValue<T>,
): ReadValue<readonly T[]> {
  const values: T[] = []
  for (const item of items) {
    const read = readItem(item)
    if ('problem' in read) return { at: item.at, ...read }
    values.push(read.value)
  }
  return { value: values }
}

function toItems(value: ConfigValue): readonly ConfigValue[] {
  if (value.kind === 'array') return value.items
  if (value.kind === 'object' && [...value.entries.keys()].every((key) => /^[0-9]{1,9}$/.test(key))) {
    return [...value.entries].sort(([a], [b]) => Number(a) - Number(b)).map(([, item]) => item)
  }
  return [value]
}

/** The allowed fields of an item of a list. */
export type Fields = ReadonlyMap<string, unknown>

/** An object with named fields, for items of lists; fields are optional unless in `required`. */
export function record(
  name: string,
  fields: Readonly<Record<string, SettingType<unknown>>>,
  required: readonly string[] = [],
): SettingType<Fields> {
  const properties: Record<string, PlainValue> = {}
  for (const [field, type] of Object.entries(fields)) properties[field] = type.jsonSchema
  return {
    name,
    jsonSchema: { type: 'object', properties, required, additionalProperties: false },
    read(value) {
      if (value.kind !== 'object') return createTypeProblem(name, value)
      const missing = required.find((field) => !value.entries.has(field))
      return missing === undefined ? readFields(name, fields, value) : { problem: `${name} needs ${missing}` }
    },
    show: (value) => {
      const shown = [...value].map(([field, part]) => `${field} = ${fields[field]?.show(part) ?? ''}`)
      return `{${shown.join(', ')}}`
    },
    listPaths: (value) => [...value].flatMap(([field, part]) => fields[field]?.listPaths?.(part) ?? []),
  }
}

function readFields(
  name: string,
  fields: Readonly<Record<string, SettingType<unknown>>>,
  value: ConfigObject,
): ReadValue<Fields> {
  const found = new Map<string, unknown>()
  for (const [field, part] of value.entries) {
    const type = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (type === undefined) {
      return {
        problem: `${quoteForMessage(field)} is nothing that ${name} has; it has ${Object.keys(fields).join(', ')}`,
        at: part.at,
      }
    }
    const read = type.read(part)
    if ('problem' in read) return { problem: `${field}: ${read.problem}`, at: read.at ?? part.at }
    found.set(field, read.value)
  }
  return { value: found }
}

/** An object with any keys and text values: headers, parameters, user properties. Null: there is no such key, whatever a layer below says. */
export const textMap: SettingType<ReadonlyMap<string, string>> = {
  name: 'an object with a text for each key',
  jsonSchema: { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean', 'null'] } },
  read(value) {
    if (value.kind !== 'object') return createTypeProblem(this.name, value)
    const found = new Map<string, string>()
    for (const [key, part] of value.entries) {
      if (part.kind === 'null') continue
      if (part.kind === 'object' || part.kind === 'array') return { ...createTypeProblem('text', part), at: part.at }
      const value = part.kind === 'boolean' ? String(part.value) : part.text
      if (Math.max(Buffer.byteLength(key), Buffer.byteLength(value)) > maxTextBytes)
        return { problem: `the text is longer than ${maxTextBytes} bytes`, at: part.at }
      found.set(key, value)
    }
    return { value: found }
  },
  show: (value) => `{${[...value].map(([key, part]) => `${JSON.stringify(key)} = ${showText(part)}`).join(', ')}}`,
}
