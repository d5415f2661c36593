// Writes the JSON Schema of the configuration (`godwit config schema`).

import { parseHocon } from '../hocon/parse-hocon.ts'
import { toPlain, type PlainValue } from '../hocon/config-values.ts'
import type { SchemaNode, Section, Setting } from '../schema/setting.ts'
import { root } from '../settings/root.ts'

type SchemaObject = { [key: string]: PlainValue }

/**
 * Returns a JSON Schema of the configuration, for editors and for programs that write configurations as JSON, which is
 * HOCON too. It accepts some values that the broker refuses: units and addresses are checked by a pattern, or not at all.
 */
export function writeJsonSchema(): string {
  const schema: SchemaObject = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of Godwit',
    ...toNodeSchema(root),
  }
  return `${JSON.stringify(schema, undefined, 2)}\n`
}

function toNodeSchema(node: SchemaNode): SchemaObject {
  if (node.kind === 'section') return toSectionSchema(node)
  const type = node.type.jsonSchema as SchemaObject
  const schema: SchemaObject = { ...type, description: node.description }
  if (node.isSecret) schema['writeOnly'] = true
  if (!node.isSecret && node.default !== undefined) schema['default'] = toDefaultValue(node)
  return schema
}

function toSectionSchema(node: Section): SchemaObject {
  const properties: SchemaObject = {}
  for (const [key, entry] of Object.entries(node.entries)) properties[key] = toNodeSchema(entry)
  const additionalProperties = node.named === undefined ? node.isOpen : toNodeSchema(node.named)
  return { type: ['object', 'null'], description: node.description, properties, additionalProperties }
}

/** Returns the default as it is written in a file: durations and sizes have units. */
function toDefaultValue(node: Setting<unknown>): PlainValue {
  const text = node.type.show(node.default)
  const parsed = parseHocon(`value = ${text}`, { file: 'default' })
  const value = 'value' in parsed ? parsed.value.entries.get('value') : undefined
  return value === undefined ? text : toPlain(value)
}
