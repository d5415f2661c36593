// Schemas of the schema registry. A change is a change of the configuration.

import type { Caller, ReplyOf } from '../../contract/index.ts'
import { refuseFor, type ApiError, type Handlers } from '../../management/index.ts'
import type { ConfigManager } from '../../node/index.ts'
import { compileRule } from '../../rules/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { refuseChange, SettingWriter } from '../context/setting-writer.ts'
import type { schemaEndpoints } from './endpoints.ts'

type Known = typeof schemaEndpoints
type Schema = ReplyOf<Known['get_schema']>

/** Rules that a refusal names. */
const maxNamed = 10

export function createSchemaHandlers({ configuration }: Pick<ApiContext, 'configuration'>): Handlers<Known> {
  const writer = new SettingWriter(configuration)
  const find = (name: string): Schema | ApiError =>
    listSchemas(configuration).find((schema) => schema.name === name) ??
    refuseFor('NOT_FOUND', `there is no schema ${JSON.stringify(name)}`)
  const write = (name: string, settings: Omit<Schema, 'name'> | undefined, by: Caller) =>
    writer.put(['schema_registry', 'schemas', name], settings && { ...settings }, by)
  const put = async (name: string, settings: Omit<Schema, 'name'>, by: Caller): Promise<Schema | ApiError> => {
    const problem = await write(name, settings, by)
    return problem === undefined ? find(name) : refuseChange(problem)
  }
  return {
    get_schemas: () => listSchemas(configuration),
    add_schema: async ({ body: { name, description = '', ...settings }, caller }) => {
      if ('source' in find(name))
        return refuseFor('ALREADY_EXISTS', `there is a schema ${name} already: change it with PUT`)
      return put(name, { ...settings, description }, caller)
    },
    get_schema: ({ params: { name } }) => find(name),
    change_schema: async ({ params: { name }, body: { description = '', ...settings }, caller }) => {
      const known = find(name)
      return 'source' in known ? put(name, { ...settings, description }, caller) : known
    },
    remove_schema: async ({ params: { name }, caller }) => {
      const known = find(name)
      if (!('source' in known)) return known
      const rules = listRulesWith(configuration, name)
      if (rules.length > 0) {
        const named = `${rules.slice(0, maxNamed).join(', ')}${rules.length > maxNamed ? ', …' : ''}`
        return refuseFor('BAD_REQUEST', `the schema ${name} is used by the rules ${named}: change those first`)
      }
      const problem = await write(name, undefined, caller)
      return problem === undefined ? null : refuseChange(problem)
    },
  }
}

function listSchemas({ config }: ConfigManager): Schema[] {
  return [...config.schemaRegistry.schemas.named].flatMap(([name, { type, source, description }]) =>
    type === undefined ? [] : [{ name, type, source, description }],
  )
}

/** Returns the IDs of rules whose SQL names the schema. */
function listRulesWith({ config }: ConfigManager, schema: string): string[] {
  return [...config.ruleEngine.rules.named].flatMap(([id, { sql }]) =>
    compileRule(sql).schemas.includes(schema) ? [id] : [],
  )
}
