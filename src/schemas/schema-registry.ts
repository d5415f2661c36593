// The schemas that rules know by name. A schema is compiled when a rule uses it first.

import { RuleError } from '../values/index.ts'
import { compileSchema, createProtobufSchema } from './compile-schema.ts'
import { loadSparkplugMessages } from './protobuf/sparkplug.ts'
import { type CompiledSchema, type SchemaDefinition, SchemaError } from './model/compiled-schema.ts'

interface RegisteredSchema extends SchemaDefinition {
  compiled: CompiledSchema | undefined
}

/** Changed as a whole; what stays the same stays compiled. */
export class SchemaRegistry {
  #schemas: ReadonlyMap<string, RegisteredSchema> = new Map()

  constructor(definitions: readonly SchemaDefinition[] = []) {
    this.take(definitions)
  }

  /** Replaces all schemas. */
  take(definitions: readonly SchemaDefinition[]): void {
    this.#schemas = new Map(
      definitions.map((definition) => {
        const known = this.#schemas.get(definition.name)
        const isSame = known?.type === definition.type && known.source === definition.source
        return [definition.name, { ...definition, compiled: isSame ? known.compiled : undefined }]
      }),
    )
  }

  /** Throws RuleError if there is no such schema. */
  find(name: string): CompiledSchema {
    const found = this.#schemas.get(name)
    if (found === undefined) {
      const shown = JSON.stringify(name.slice(0, 64))
      throw new RuleError(`there is no schema ${shown}: add it to the schema registry`)
    }
    found.compiled ??= compileDefinition(found)
    return found.compiled
  }
}

function compileDefinition(definition: SchemaDefinition): CompiledSchema {
  try {
    return compileSchema(definition)
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    throw new RuleError(`the schema ${definition.name} cannot be used: ${error.message}`)
  }
}

let sparkplug: CompiledSchema | undefined

/** The schema of Sparkplug B. */
export function loadSparkplugSchema(): CompiledSchema {
  sparkplug ??= createProtobufSchema(loadSparkplugMessages())
  return sparkplug
}
