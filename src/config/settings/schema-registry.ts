// schema_registry: schemas by which functions of rules encode, decode and check data.

import { multilineText } from '../schema/rule-action.ts'
import { choice, optional } from '../schema/setting-type.ts'
import { appliedAtOnce, namedSection, section, setting } from '../schema/setting.ts'

const maxSourceBytes = 262_144
const text = multilineText(maxSourceBytes)

const schema = section('A schema that rules name in schema_encode, schema_decode and schema_check.', {
  type: setting(optional(choice(['json', 'avro', 'protobuf']), 'unset'), undefined, {
    description: 'Language of the schema: JSON Schema, Avro or Protocol Buffers. It is required.',
  }),
  source: setting(text, '', {
    description: 'Text of the schema: JSON Schema, the JSON of an Avro schema, or a .proto file without imports.',
  }),
  description: setting(text, '', { description: 'Description of the schema for administrators. It has no effect.' }),
})

/** Schemas that rules name in `schema_encode`, `schema_decode` and `schema_check`. */
export const schemaRegistry = appliedAtOnce(
  section('Schemas by which functions of rules encode, decode and check data: see SCHEMAS.md.', {
    schemas: namedSection('The schemas. The key is the name of the schema.', {
      entries: {},
      placeholder: 'name',
      named: schema,
    }),
  }),
)
