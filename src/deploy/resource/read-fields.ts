// Reads a value of a document by its field: checks types, limits and forms, fills in defaults. An invalid part is undefined in the result, so
// that the rest is read as well.

import type { FaultList } from '../documents/fault-list.ts'
import { quoteValue } from '../documents/fault-list.ts'
import {
  equalsNode,
  fromJson,
  isNull,
  toJson,
  type ManifestMap,
  type ManifestNode,
  type ManifestPath,
} from '../documents/manifest-node.ts'
import type {
  BytesField,
  Entry,
  Field,
  IntegerField,
  ListField,
  MapField,
  ObjectField,
  TextField,
  TextForm,
} from './field-types.ts'
import { findNearestKey } from '../../config/index.ts'
import { parseCount, parseQuantity } from './resource-quantities.ts'

/** Returns the value, or undefined if the whole of it is invalid. Faults and warnings are added to `list`. */
export function readField(field: Field, node: ManifestNode, path: ManifestPath, list: FaultList): unknown {
  switch (field.kind) {
    case 'text':
      return readText(field, node, path, list)
    case 'integer':
      return readInteger(field, node, path, list)
    case 'boolean':
      if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value
      return refuseType('true or false', node, path, list)
    case 'quantity':
      return readQuantity(node, path, list)
    case 'count':
      if (node.kind === 'scalar' && parseCount(node.value) !== undefined) return node.value
      return refuseType('a number or a percentage such as 25%', node, path, list)
    case 'bytes':
      return readBytes(field, node, path, list)
    case 'open':
      if (!field.isObject || node.kind === 'map') return toJson(node)
      return refuseType('an object', node, path, list)
    case 'map':
      return readMap(field, node, path, list)
    case 'list':
      return readList(field, node, path, list)
    case 'object':
      return readObject(field, node, path, list)
    default:
      return field satisfies never
  }
}

function refuseType(expected: string, node: ManifestNode, path: ManifestPath, list: FaultList): undefined {
  list.addFault(path, `${describeNode(node)} is not ${expected}`, `write ${expected}`)
  return undefined
}

function describeNode(node: ManifestNode): string {
  if (node.kind === 'map') return 'an object'
  return node.kind === 'list' ? 'a list' : quoteValue(node.value)
}

const forms = new Map<string, RegExp>()

/** Returns whether the text has the form. */
export function matchesForm({ pattern }: TextForm, text: string): boolean {
  const known = forms.get(pattern) ?? new RegExp(pattern, 'u')
  forms.set(pattern, known)
  return known.test(text)
}

function readText(field: TextField, node: ManifestNode, path: ManifestPath, list: FaultList): string | undefined {
  if (node.kind !== 'scalar' || typeof node.value !== 'string') {
    const isScalar = node.kind === 'scalar' && node.value !== null
    const hint = isScalar ? `write it in quotes: "${String(node.value)}"` : 'write a text'
    list.addFault(path, `${describeNode(node)} is not a text`, hint)
    return undefined
  }
  const { value } = node
  const problem = findTextProblem(field, value)
  if (problem === undefined) return value
  list.addFault(path, problem.message, problem.hint)
  return undefined
}

function findTextProblem(
  { choices, form, minLength, maxLength }: TextField,
  value: string,
): { readonly message: string; readonly hint: string } | undefined {
  if (choices !== undefined) {
    if (choices.includes(value)) return undefined
    return { message: `${quoteValue(value)} is not known`, hint: `use ${choices.join(', ')}` }
  }
  const length = Array.from(value).length
  if (length < minLength) {
    const message = length === 0 ? 'the text is empty' : `the text has ${length} characters`
    return { message, hint: `write ${form?.name ?? `a text of at least ${minLength} characters`}` }
  }
  if (length > maxLength)
    return { message: `the text has ${length} characters`, hint: `use at most ${maxLength} characters` }
  if (form === undefined || value === '' || matchesForm(form, value)) return undefined
  return { message: `${quoteValue(value)} is not valid`, hint: `write ${form.name}` }
}

function readInteger(
  { format, min, max }: IntegerField,
  node: ManifestNode,
  path: ManifestPath,
  list: FaultList,
): number | undefined {
  const value = node.kind === 'scalar' ? node.value : undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return refuseType('a whole number', node, path, list)
  const lowest = min ?? (format === 'int32' ? -2_147_483_648 : Number.MIN_SAFE_INTEGER)
  const highest = max ?? (format === 'int32' ? 2_147_483_647 : Number.MAX_SAFE_INTEGER)
  if (value >= lowest && value <= highest) return value
  list.addFault(path, `${value} is out of range`, `use a number from ${lowest} to ${highest}`)
  return undefined
}

function readQuantity(node: ManifestNode, path: ManifestPath, list: FaultList): string | number | undefined {
  const value = node.kind === 'scalar' ? node.value : undefined
  const amount = typeof value === 'string' || typeof value === 'number' ? parseQuantity(value) : undefined
  if (amount === undefined || amount < 0n) return refuseType('a quantity such as 2, 500m or 1.5Gi', node, path, list)
  return value as string | number
}

function readBytes({ maxLength }: BytesField, node: ManifestNode, path: ManifestPath, list: FaultList) {
  const value = node.kind === 'scalar' ? node.value : undefined
  if (typeof value !== 'string') return refuseType('a text in base64', node, path, list)
  // YAML block texts have line ends, which base64 of Kubernetes ignores.
  const compact = value.replaceAll(/[\r\n]/g, '')
  if (compact.length > maxLength) {
    list.addFault(path, `the value has ${compact.length} characters`, `use at most ${maxLength} characters`)
    return undefined
  }
  if (compact.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(compact)) return compact
  list.addFault(path, 'the value is not base64', 'encode it with base64, or write it as text in stringData')
  return undefined
}

function readMap(field: MapField, node: ManifestNode, path: ManifestPath, list: FaultList): object | undefined {
  if (node.kind !== 'map') return refuseType('an object', node, path, list)
  if (node.entries.size > field.maxProperties)
    list.addFault(path, `there are ${node.entries.size} entries`, `use at most ${field.maxProperties}`)
  const values: [string, unknown][] = []
  for (const [key, part] of listFirstEntries(node, field.maxProperties)) {
    if (key.length > field.maxKeyLength || (field.keyForm !== undefined && !matchesForm(field.keyForm, key))) {
      list.addFault([...path, key], 'the key is not valid', `use ${field.keyForm?.name ?? 'a shorter key'}`)
      continue
    }
    if (isNull(part)) continue
    const value = readField(field.values, part, [...path, key], list)
    if (value !== undefined) values.push([key, value])
  }
  return Object.fromEntries(values)
}

function* listFirstEntries(node: ManifestMap, limit: number): Generator<[string, ManifestNode]> {
  let index = 0
  for (const entry of node.entries) {
    if (index++ >= limit) return
    yield entry
  }
}

function readList(field: ListField, node: ManifestNode, path: ManifestPath, list: FaultList): unknown {
  if (node.kind !== 'list') return refuseType('a list', node, path, list)
  if (node.items.length > field.maxItems)
    list.addFault(path, `there are ${node.items.length} items`, `use at most ${field.maxItems}`)
  const items = node.items
    .slice(0, field.maxItems)
    .map((item, index) => readField(field.items, item, [...path, index], list))
  if (field.key !== undefined) refuseDuplicates(field, field.key, items, { path, list })
  return items
}

function refuseDuplicates(
  { itemName }: ListField,
  key: string,
  items: readonly unknown[],
  { path, list }: { readonly path: ManifestPath; readonly list: FaultList },
): void {
  const indexes = new Map<unknown, number>()
  for (const [index, item] of items.entries()) {
    const name = (item as Readonly<Record<string, unknown>> | undefined)?.[key]
    if (name === undefined) continue
    const first = indexes.get(name)
    if (first === undefined) {
      indexes.set(name, index)
      continue
    }
    const message = `the ${itemName} ${quoteValue(name)} is there twice: see item ${first}`
    list.addFault([...path, index, key], message, `use each ${key} once`)
  }
}

function readObject(field: ObjectField, node: ManifestNode, path: ManifestPath, list: FaultList): unknown {
  if (node.kind !== 'map') return refuseType('an object', node, path, list)
  const values: [string, unknown][] = []
  const known = new Set<string>()
  for (const [name, entry] of Object.entries(field.fields)) {
    for (const spelling of [name, ...entry.spellings]) known.add(spelling)
    const value = readEntry(name, entry, node, { path, list })
    if (value !== undefined) values.push([name, value])
  }
  for (const [key, part] of node.entries) {
    if (known.has(key) || isNull(part)) continue
    if (field.passesUnknown) values.push([key, toJson(part)])
    else warnOfUnknown(field, key, path, list)
  }
  return Object.fromEntries(values)
}

function readEntry(
  name: string,
  entry: Entry,
  node: ManifestMap,
  { path, list }: { readonly path: ManifestPath; readonly list: FaultList },
): unknown {
  const written = [name, ...entry.spellings].flatMap((spelling) => {
    const part = node.entries.get(spelling)
    return part === undefined || isNull(part) ? [] : [{ spelling, part }]
  })
  const [first, second] = written
  const place = [...path, name]
  if (first === undefined) {
    if (entry.presence === 'required')
      list.addFault(place, 'the field is missing', `set it: ${entry.description.toLowerCase().replace(/\.$/, '')}`)
    const whole = entry.default === undefined ? undefined : fromJson(entry.default)
    return whole === undefined ? undefined : readField(entry.field, whole, place, list)
  }
  if (first.spelling !== name) list.setSpelling(place, first.spelling)
  if (second !== undefined && !equalsNode(first.part, second.part)) {
    const message = `${first.spelling} and ${second.spelling} are the same field and have different values`
    list.addFault([...path, second.spelling], message, `remove ${second.spelling}`)
  }
  return readField(entry.field, first.part, place, list)
}

function warnOfUnknown({ fields }: ObjectField, key: string, path: ManifestPath, list: FaultList): void {
  const nearest = key.length > 64 ? undefined : findNearestKey(key, Object.keys(fields))
  const hint = nearest === undefined ? 'remove it; it has no effect' : `did you mean ${nearest}?`
  list.addWarning([...path, key], 'there is no such field', hint)
}
