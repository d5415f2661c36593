// Runs `x-kubernetes-validations` of structural schemas.

import { isIP } from 'node:net'
import { Environment } from '@marcbachmann/cel-js'
import { createCause, type ErrorCause } from './kube-error.ts'
import { isObject, type JsonObject } from './kube-object.ts'
import { getChildSchema, joinName, type CelRule, type Schema } from './structural-schema.ts'

type Evaluate = (context: { readonly self: unknown; readonly oldSelf: unknown }) => unknown

const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn')
  .registerFunction('isIP(string): bool', (text: string) => isIP(text) !== 0)
  .registerFunction('isCIDR(string): bool', isCidr)
const evaluators = new Map<string, Evaluate>()

/** Throws if the rule is not CEL. */
export function compileRule(rule: string): Evaluate {
  const known = evaluators.get(rule)
  if (known !== undefined) return known
  const evaluate: Evaluate = environment.parse(rule)
  evaluators.set(rule, evaluate)
  return evaluate
}

/** Checks the rules of `schema` and of all schemas below it. Rules with `oldSelf` run only if there is an old value. */
export function checkRules(value: unknown, oldValue: unknown, schema: Schema, path = ''): ErrorCause[] {
  if (value === undefined || value === null) return []
  const causes = (schema['x-kubernetes-validations'] ?? []).flatMap((rule) =>
    checkRule(rule, { value, oldValue, schema, path }),
  )
  if (Array.isArray(value) && schema.items !== undefined) {
    const { items } = schema
    return [
      ...causes,
      ...value.flatMap((item, index) =>
        checkRules(item, findOldItem(item, oldValue, schema), items, `${path}[${index}]`),
      ),
    ]
  }
  if (!isObject(value)) return causes
  const old = isObject(oldValue) ? oldValue : {}
  return [
    ...causes,
    ...Object.keys(value).flatMap((key) => {
      const child = getChildSchema(schema, key)
      return child === undefined ? [] : checkRules(value[key], old[key], child, joinName(path, key))
    }),
  ]
}

interface Subject {
  readonly value: unknown
  readonly oldValue: unknown
  readonly schema: Schema
  readonly path: string
}

function checkRule({ rule, message, fieldPath }: CelRule, { value, oldValue, schema, path }: Subject): ErrorCause[] {
  if (/\boldSelf\b/.test(rule) && oldValue === undefined) return []
  const field = joinName(path, (fieldPath ?? '').replace(/^\./, ''))
  try {
    const result = compileRule(rule)({ self: toCelValue(value, schema), oldSelf: toCelValue(oldValue, schema) })
    if (result === true) return []
  } catch (error) {
    return [createCause('FieldValueInvalid', field, `Invalid value: rule ${rule} failed: ${String(error)}`)]
  }
  return [createCause('FieldValueInvalid', field, `Invalid value: ${message ?? `failed rule: ${rule}`}`)]
}

function findOldItem(item: unknown, oldList: unknown, schema: Schema): unknown {
  const keys = schema['x-kubernetes-list-map-keys']
  if (!Array.isArray(oldList) || keys === undefined || !isObject(item)) return undefined
  return (oldList as JsonObject[]).find((old) => keys.every((key) => old[key] === item[key]))
}

/** Integers are BigInt in CEL. Names that CEL does not allow are escaped, as the API server does it. */
function toCelValue(value: unknown, schema: Schema | undefined): unknown {
  if (typeof value === 'number') return Number.isInteger(value) && schema?.type !== 'number' ? BigInt(value) : value
  if (Array.isArray(value)) return value.map((item) => toCelValue(item, schema?.items))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, child]) => {
    const isProperty = schema?.properties !== undefined && Object.hasOwn(schema.properties, key)
    const childSchema = schema === undefined ? undefined : getChildSchema(schema, key)
    return [isProperty ? escapeName(key) : key, toCelValue(child, childSchema)] as const
  })
  return Object.fromEntries(entries)
}

const reservedNames = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

function escapeName(name: string): string {
  if (reservedNames.has(name)) return `__${name}__`
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__')
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/')
  const maxBits = isIP(address) === 4 ? 32 : 128
  return rest.length === 0 && isIP(address) !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= maxBits
}
