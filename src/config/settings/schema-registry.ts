// schema_registry: schemas by which functions of rules encode, decode and check data.

import { linesOfText } from '../schema/rule-action.ts'
import { choice, optional } from '../schema/setting-type.ts'
import { appliedAtOnce, namedSection, section, setting } from '../schema/setting.ts'

const maxSourceBytes = 262_144
const text = linesOfText(maxSourceBytes)

const schema = section('One schema.', {
  type: setting(optional(choice(['json', 'avro', 'protobuf']), 'unset'), undefined, {
    description: 'Kind of the schema. It is required.',
  }),
  source: setting(text, '', {
    description: 'Text of the schema: JSON Schema, the JSON of an Avro schema, or a .proto file without imports.',
  }),
  description: setting(text, '', { description: 'Description of the schema for administrators. It has no effect.' }),
})

/** Schemas that rules name in `schema_encode`, `schema_decode` and `schema_check`. */
export const schemaRegistry = appliedAtOnce(
  section('Schemas for functions of rules: see SCHEMAS.', {
    schemas: namedSection('The schemas, by their names.', { entries: {}, placeholder: 'name', named: schema }),
  }),
)
