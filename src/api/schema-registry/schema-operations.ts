// The schema registry over the API. A change goes the way of every change of configuration.

import type { SchemaOperations } from './schema-registry.ts'
import { compileRule } from '../../rules/index.ts'
import type { ConfigManager } from '../../node/index.ts'
import { SettingWriter } from '../context/setting-writer.ts'

/** Carries out the requests of the API that concern schemas. */
export function schemaOperations(configuration: ConfigManager): SchemaOperations {
  const writer = new SettingWriter(configuration)
  return {
    schemas: () =>
      [...configuration.config.schemaRegistry.schemas.named].flatMap(([name, { type, source, description }]) =>
        type === undefined ? [] : [{ name, type, source, description }],
      ),
    putSchema: (name, settings, by) =>
      writer.put(['schema_registry', 'schemas', name], settings && { ...settings }, by),
    rulesWithSchema: (name) =>
      [...configuration.config.ruleEngine.rules.named].flatMap(([id, { sql }]) =>
        compileRule(sql).schemas.includes(name) ? [id] : [],
      ),
  }
}
