// Schemas of the schema registry: operations of the node, and handlers.

import type { schemaEndpoints } from './endpoints.ts'
import type { Caller } from '../../contract/index.ts'
import { refuseFor, type ApiError, type Handlers } from '../../management/index.ts'
import { refusalOf } from '../rules/rules.ts'
import type { RuleProblem } from '../context/setting-writer.ts'

/** A schema of the schema registry. */
export interface Schema {
  readonly name: string
  readonly type: 'json' | 'avro' | 'protobuf'
  readonly source: string
  readonly description: string
}

/** Operations of the node on schemas. */
export interface SchemaOperations {
  schemas(): readonly Schema[]
  /** Adds or replaces it; `settings` undefined: deletes it. Undefined: done. */
  putSchema(name: string, settings: Omit<Schema, 'name'> | undefined, by: Caller): Promise<RuleProblem | undefined>
  /** IDs of rules whose SQL names the schema. */
  rulesWithSchema(name: string): readonly string[]
}

/** Rules that a refusal names. */
const maxNamed = 10

/** Handlers of the schema registry. */
export function schemaHandlers(operations: SchemaOperations): Handlers<typeof schemaEndpoints> {
  const found = (name: string): Schema | ApiError =>
    operations.schemas().find((schema) => schema.name === name) ??
    refuseFor('NOT_FOUND', `there is no schema ${JSON.stringify(name)}`)
  const put = async (
    ...[name, settings, by]: Parameters<SchemaOperations['putSchema']>
  ): Promise<Schema | ApiError> => {
    const problem = await operations.putSchema(name, settings, by)
    return problem === undefined ? found(name) : refusalOf(problem)
  }
  return {
    get_schemas: () => [...operations.schemas()],
    add_schema: async ({ body: { name, description = '', ...settings }, caller }) => {
      if ('source' in found(name))
        return refuseFor('ALREADY_EXISTS', `there is a schema ${name} already: change it with PUT`)
      return put(name, { ...settings, description }, caller)
    },
    get_schema: ({ params: { name } }) => found(name),
    change_schema: async ({ params: { name }, body: { description = '', ...settings }, caller }) => {
      const known = found(name)
      return 'source' in known ? put(name, { ...settings, description }, caller) : known
    },
    remove_schema: async ({ params: { name }, caller }) => {
      const known = found(name)
      if (!('source' in known)) return known
      const rules = operations.rulesWithSchema(name)
      if (rules.length > 0) {
        const named = `${rules.slice(0, maxNamed).join(', ')}${rules.length > maxNamed ? ', …' : ''}`
        return refuseFor('BAD_REQUEST', `the schema ${name} is used by the rules ${named}: change those first`)
      }
      const problem = await operations.putSchema(name, undefined, caller)
      return problem === undefined ? null : refusalOf(problem)
    },
  }
}
