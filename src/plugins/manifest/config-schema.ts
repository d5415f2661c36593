// The configuration of a plugin: a JSON object that its JSON Schema describes. Texts of the format `password` are secrets.

import { compileSchema, SchemaError } from '../../schemas/index.ts'
import { Budget, RuleError } from '../../values/index.ts'
import { BadPlugin } from './bad-plugin.ts'

export type PluginConfig = Readonly<Record<string, unknown>>

/** Throws BadPlugin if the text is not a JSON Schema. */
export function checkConfigSchema(source: string, path: string): void {
  try {
    compileSchema({ type: 'json', source })
  } catch (error) {
    if (error instanceof SchemaError) throw new BadPlugin(`${path} is not a JSON Schema: ${error.message}`)
    throw error
  }
}

/** undefined: the configuration is valid. */
export function findConfigProblem(source: string, config: PluginConfig): string | undefined {
  const schema = compileSchema({ type: 'json', source })
  try {
    schema.decode(Buffer.from(JSON.stringify(config)), undefined, new Budget())
    return undefined
  } catch (error) {
    if (error instanceof RuleError) return error.message
    throw error
  }
}

/** Returns the defaults of the schema, also of nested objects. */
export function createDefaultConfig(source: string): PluginConfig {
  const value = readDefault(JSON.parse(source))
  return isObject(value) ? value : {}
}

function readDefault(schema: unknown): unknown {
  if (!isObject(schema)) return undefined
  if (schema['default'] !== undefined) return schema['default']
  const properties = schema['properties']
  if (!isObject(properties)) return undefined
  const entries = Object.entries(properties).flatMap(([key, inner]) => {
    const value = readDefault(inner)
    return value === undefined ? [] : [[key, value] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Replaces each text that the schema calls a password with `mask`. */
export function maskPasswords(source: string | undefined, config: PluginConfig, mask: string): PluginConfig {
  return mapPasswords(source, config, (value) => (value === '' ? '' : mask))
}

/** Replaces each password that is `mask` with the stored one: it was read and is sent back unchanged. */
export function restorePasswords(
  source: string | undefined,
  config: PluginConfig,
  { mask, stored }: { readonly mask: string; readonly stored: PluginConfig },
): PluginConfig {
  return mapPasswords(source, config, (value, path) => (value === mask ? (findText(stored, path) ?? value) : value))
}

type Path = readonly (string | number)[]
type MapPassword = (value: string, path: Path) => string

function mapPasswords(source: string | undefined, config: PluginConfig, map: MapPassword): PluginConfig {
  if (source === undefined) return config
  const root: unknown = JSON.parse(source)
  return mapValue(config, [root], { map, root, path: [] }) as PluginConfig
}

interface Mapping {
  readonly map: MapPassword
  readonly root: unknown
  readonly path: Path
}

/** `schemas`: all parts of the schema that apply to the value. */
function mapValue(value: unknown, schemas: readonly unknown[], mapping: Mapping): unknown {
  const parts = expandSchemas(schemas, mapping.root)
  if (typeof value === 'string') {
    return parts.some((part) => part['format'] === 'password') ? mapping.map(value, mapping.path) : value
  }
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => {
      const inner = parts.flatMap((part) => selectItemSchemas(part, index))
      return mapValue(item, inner, { ...mapping, path: [...mapping.path, index] })
    })
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => {
    const below = parts.flatMap((part) => selectPropertySchemas(part, key))
    return [key, mapValue(inner, below, { ...mapping, path: [...mapping.path, key] })]
  })
  return Object.fromEntries(entries) as unknown
}

const combining = ['allOf', 'anyOf', 'oneOf'] as const
const conditional = ['if', 'then', 'else'] as const
/** More than any schema needs; a schema that refers to itself ends here. */
const maxParts = 1_000

/** Returns the schemas and those that they combine or refer to. A secret is masked if any of them says so. */
function expandSchemas(schemas: readonly unknown[], root: unknown): readonly PluginConfig[] {
  const found = new Set<PluginConfig>()
  const pending = [...schemas]
  while (pending.length > 0 && found.size < maxParts) {
    const schema = pending.pop()
    if (!isObject(schema) || found.has(schema)) continue
    found.add(schema)
    for (const key of combining) if (Array.isArray(schema[key])) pending.push(...(schema[key] as readonly unknown[]))
    for (const key of conditional) pending.push(schema[key])
    if (typeof schema['$ref'] === 'string') pending.push(resolveReference(root, schema['$ref']))
  }
  return [...found]
}

function resolveReference(root: unknown, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined
  const keys = reference.slice(1).split('/').slice(1)
  return keys.reduce<unknown>((schema, key) => {
    const name = decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(schema) || Array.isArray(schema) ? (schema as PluginConfig)[name] : undefined
  }, root)
}

/** The patterns are not matched: a secret is rather masked once too often. */
function selectPropertySchemas(schema: PluginConfig, key: string): readonly unknown[] {
  const { properties, patternProperties, additionalProperties } = schema
  const patterns = isObject(patternProperties) ? Object.values(patternProperties) : []
  const isNamed = isObject(properties) && Object.hasOwn(properties, key)
  return [...patterns, isNamed ? properties[key] : additionalProperties]
}

function selectItemSchemas({ items, prefixItems, additionalItems }: PluginConfig, index: number): readonly unknown[] {
  const lists = [items, prefixItems].flatMap((list) => (Array.isArray(list) ? [(list as unknown[])[index]] : []))
  return [...lists, Array.isArray(items) ? additionalItems : items]
}

function findText(config: unknown, path: Path): string | undefined {
  const found = path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as PluginConfig)[key]
        : undefined,
    config,
  )
  return typeof found === 'string' ? found : undefined
}

function isObject(value: unknown): value is PluginConfig {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
