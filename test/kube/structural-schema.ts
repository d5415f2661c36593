// Structural schemas of custom resources: unknown fields are pruned, defaults are added, values are checked.

import { isIP } from 'node:net'
import { createCause, type ErrorCause } from './kube-error.ts'
import { isEqual, isObject, type JsonObject } from './kube-object.ts'
import type { MergeFields, MergeSchema } from './resource-types.ts'

export interface CelRule {
  readonly rule: string
  readonly message?: string
  readonly fieldPath?: string
  readonly reason?: string
  readonly optionalOldSelf?: boolean
}

export interface Schema extends JsonObject {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly nullable?: boolean
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly not?: Schema
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set'
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-map-type'?: 'atomic' | 'granular'
  readonly 'x-kubernetes-validations'?: readonly CelRule[]
}

const metadataFields = ['apiVersion', 'kind', 'metadata']

/** Returns the paths of fields that the schema does not have, such as `spec.bogus`. */
export function findUnknownFields(value: unknown, schema: Schema, path = ''): string[] {
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined
      ? []
      : value.flatMap((item, index) => findUnknownFields(item, items, `${path}[${index}]`))
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, child]) => {
    if (path === '' && metadataFields.includes(key)) return []
    const childPath = path === '' ? key : `${path}.${key}`
    const childSchema = getChildSchema(schema, key)
    if (childSchema !== undefined) return findUnknownFields(child, childSchema, childPath)
    return schema['x-kubernetes-preserve-unknown-fields'] === true ? [] : [childPath]
  })
}

export function getChildSchema(schema: Schema, key: string): Schema | undefined {
  const { properties, additionalProperties } = schema
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

/** Returns a copy without unknown fields, and without nulls where the schema does not allow them. */
export function pruneFields(value: unknown, schema: Schema, isRoot = true): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? (value as unknown[]) : value.map((item) => pruneFields(item, items, false))
  }
  if (!isObject(value)) return value
  const result: JsonObject = {}
  for (const [key, child] of Object.entries(value)) {
    const childSchema = getChildSchema(schema, key)
    if (isRoot && metadataFields.includes(key)) result[key] = child
    else if (childSchema === undefined) {
      if (schema['x-kubernetes-preserve-unknown-fields'] === true) result[key] = child
    } else if (child !== null || childSchema.nullable === true) result[key] = pruneFields(child, childSchema, false)
  }
  return result
}

/** Returns a copy with the defaults of fields that are missing. */
export function addDefaults(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) {
    const { items } = schema
    return items === undefined ? (value as unknown[]) : value.map((item) => addDefaults(item, items))
  }
  if (!isObject(value)) return value
  const result: JsonObject = { ...value }
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    if (result[key] === undefined && child.default !== undefined) result[key] = structuredClone(child.default)
    if (result[key] !== undefined) result[key] = addDefaults(result[key], child)
  }
  if (typeof schema.additionalProperties === 'object') {
    for (const [key, child] of Object.entries(result)) result[key] = addDefaults(child, schema.additionalProperties)
  }
  return result
}

export function checkValue(value: unknown, schema: Schema, path = ''): ErrorCause[] {
  if (value === null) {
    return schema.nullable === true ? [] : [createCause('FieldValueTypeInvalid', path, 'Invalid value: "null"')]
  }
  const typeFault = checkType(value, schema, path)
  if (typeFault !== undefined) return [typeFault]
  const causes = [...checkLimits(value, schema, path), ...checkCombinations(value, schema, path)]
  if (Array.isArray(value)) return [...causes, ...checkList(value, schema, path)]
  return isObject(value) ? [...causes, ...checkObject(value, schema, path)] : causes
}

function checkType(value: unknown, schema: Schema, path: string): ErrorCause | undefined {
  const type = getTypeName(value)
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (type === 'integer' || type === 'string') return undefined
    return createCause('FieldValueTypeInvalid', path, `Invalid value: "${type}": must be an integer or a string`)
  }
  if (schema.type === undefined || schema.type === type) return undefined
  if (schema.type === 'number' && type === 'integer') return undefined
  const message = `Invalid value: "${type}": ${path} in body must be of type ${schema.type}: "${type}"`
  return createCause('FieldValueTypeInvalid', path, message)
}

function getTypeName(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

function checkLimits(value: unknown, schema: Schema, path: string): ErrorCause[] {
  const fault = (message: string, reason = 'FieldValueInvalid'): ErrorCause[] => [
    createCause(reason, path, `Invalid value: ${JSON.stringify(value)}: ${path} in body ${message}`),
  ]
  if (schema.enum !== undefined && !schema.enum.some((item) => isEqual(item, value))) {
    const values = schema.enum.map((item) => JSON.stringify(item)).join(', ')
    return [
      createCause(
        'FieldValueNotSupported',
        path,
        `Unsupported value: ${JSON.stringify(value)}: supported values: ${values}`,
      ),
    ]
  }
  const { minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength = Infinity, pattern, format } = schema
  if (typeof value === 'number') {
    if (value < minimum) return fault(`should be greater than or equal to ${minimum}`)
    if (value > maximum) return fault(`should be less than or equal to ${maximum}`)
    if (format === 'int32' && Math.abs(value) > 2_147_483_647) return fault('must be of type int32')
  }
  if (typeof value === 'string') {
    if (value.length < minLength) return fault(`should be at least ${minLength} chars long`)
    if (value.length > maxLength) return fault(`may not be more than ${maxLength} bytes`, 'FieldValueTooLong')
    if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return fault(`should match '${pattern}'`)
    if (!matchesFormat(value, format)) return fault(`must be of type ${format}`)
  }
  return []
}

function matchesFormat(value: string, format: string | undefined): boolean {
  if (format === 'date-time') return !Number.isNaN(Date.parse(value)) && value.includes('T')
  if (format === 'byte') return /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value)
  if (format === 'ipv4') return isIP(value) === 4
  if (format === 'ipv6') return isIP(value) === 6
  return true
}

function checkCombinations(value: unknown, schema: Schema, path: string): ErrorCause[] {
  const isValid = (option: Schema): boolean => checkValue(value, option, path).length === 0
  const fault = (name: string): ErrorCause[] => [
    createCause('FieldValueInvalid', path, `Invalid value: ${path} in body must validate ${name} schema`),
  ]
  if (schema.anyOf !== undefined && !schema.anyOf.some(isValid)) return fault('at least one (anyOf)')
  if (schema.oneOf !== undefined && schema.oneOf.filter(isValid).length !== 1) return fault('exactly one (oneOf)')
  if (schema.not !== undefined && isValid(schema.not)) return fault('none (not)')
  return (schema.allOf ?? []).flatMap((option) => checkValue(value, option, path))
}

function checkList(list: readonly unknown[], schema: Schema, path: string): ErrorCause[] {
  const { minItems = 0, maxItems = Infinity, items } = schema
  if (list.length < minItems)
    return [createCause('FieldValueInvalid', path, `${path} in body should have at least ${minItems} items`)]
  if (list.length > maxItems)
    return [createCause('FieldValueTooMany', path, `Too many: ${list.length}: must have at most ${maxItems} items`)]
  const listType = schema['x-kubernetes-list-type']
  const keyNames = schema['x-kubernetes-list-map-keys'] ?? []
  const keys = list.map((item) =>
    JSON.stringify(listType === 'map' ? keyNames.map((key) => (item as JsonObject)[key]) : item),
  )
  const duplicates =
    listType === 'map' || listType === 'set'
      ? keys.flatMap((key, index) => (keys.indexOf(key) < index ? [index] : []))
      : []
  return [
    ...duplicates.map((index) =>
      createCause('FieldValueDuplicate', `${path}[${index}]`, `Duplicate value: ${JSON.stringify(list[index])}`),
    ),
    ...(items === undefined ? [] : list.flatMap((item, index) => checkValue(item, items, `${path}[${index}]`))),
  ]
}

function checkObject(object: JsonObject, schema: Schema, path: string): ErrorCause[] {
  const keys = Object.keys(object)
  const { minProperties = 0, maxProperties = Infinity, required = [] } = schema
  const missing = required.filter((key) => object[key] === undefined)
  return [
    ...missing.map((key) => createCause('FieldValueRequired', joinName(path, key), 'Required value')),
    ...(keys.length > maxProperties
      ? [createCause('FieldValueTooMany', path, `Too many: ${keys.length}: must have at most ${maxProperties} items`)]
      : []),
    ...(keys.length < minProperties
      ? [createCause('FieldValueInvalid', path, `${path} in body should have at least ${minProperties} properties`)]
      : []),
    ...keys.flatMap((key) => {
      const child = getChildSchema(schema, key)
      const isMetadata = path === '' && metadataFields.includes(key)
      return child === undefined || isMetadata ? [] : checkValue(object[key], child, joinName(path, key))
    }),
  ]
}

export function joinName(path: string, name: string): string {
  if (path === '' || name === '') return path + name
  return `${path}.${name}`
}

/** Returns how server-side apply merges values of this schema. */
export function toMergeSchema(schema: Schema): MergeSchema {
  if (schema['x-kubernetes-map-type'] === 'atomic') return { type: 'atomic' }
  if (schema.items !== undefined) {
    const listType = schema['x-kubernetes-list-type'] ?? 'atomic'
    if (listType !== 'map') return { type: listType }
    const item = toMergeSchema(schema.items)
    const fields = item.type === 'object' ? item.fields : {}
    return { type: 'map', keys: schema['x-kubernetes-list-map-keys'] ?? [], fields }
  }
  return { type: 'object', fields: toMergeFields(schema) }
}

export function toMergeFields(schema: Schema): MergeFields {
  const entries = Object.entries(schema.properties ?? {}).filter(
    ([, child]) => child.items ?? child.properties ?? child['x-kubernetes-map-type'],
  )
  return Object.fromEntries(entries.map(([key, child]) => [key, toMergeSchema(child)]))
}
