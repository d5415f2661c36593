// Checks the configured schemas of the schema registry: an invalid text is refused with its position.

import type { GodwitConfig } from '../../config/index.ts'
import { compileSchema, type SchemaDefinition, SchemaError } from '../../schemas/index.ts'
import type { PlanProblem } from './rule-plan.ts'

/** Maximum schemas of one node, and characters of all of them together. */
const maxSchemas = 1_000
const maxSchemaCharacters = 16_777_216

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Valid sources, by type. Most changes of the configuration change none of them. */
const soundSources = new Set<string>()

/** A problem starts with the key of a setting. */
export function planSchemas(config: GodwitConfig): { readonly schemas: readonly SchemaDefinition[] } | PlanProblem {
  const { named } = config.schemaRegistry.schemas
  if (named.size > maxSchemas) return { problem: `schema_registry.schemas: there are more than ${maxSchemas} schemas` }
  let characters = 0
  for (const [name, { type, source }] of named) {
    const key = `schema_registry.schemas.${name}`
    characters += source.length
    if (characters > maxSchemaCharacters)
      return { problem: `${key}.source: all schemas together have more than ${maxSchemaCharacters} characters` }
    if (!namePattern.test(name))
      return { problem: `${key}: a name has up to 64 letters, digits, "_" and "-", and begins with a letter or digit` }
    if (type === undefined) return { problem: `${key}.type: a schema needs a type: json, avro or protobuf` }
    const problem = findSchemaProblem({ type, source })
    if (problem !== undefined) return { problem: `${key}.source: ${problem}` }
  }
  return { schemas: listSchemas(config) }
}

/** The schemas of a configuration. */
export function listSchemas({ schemaRegistry }: GodwitConfig): readonly SchemaDefinition[] {
  return [...schemaRegistry.schemas.named].flatMap(([name, { type, source }]) =>
    type === undefined ? [] : [{ name, type, source }],
  )
}

/** Returns why a text is not a schema, with its position. */
function findSchemaProblem(schema: Omit<SchemaDefinition, 'name'>): string | undefined {
  const key = `${schema.type} ${schema.source}`
  if (soundSources.has(key)) return undefined
  try {
    compileSchema(schema)
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return error.message
  }
  if (soundSources.size >= maxSchemas) soundSources.clear()
  soundSources.add(key)
  return undefined
}
