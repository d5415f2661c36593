// Schemas by which functions of rules encode, decode and check data.

import { readFileSync } from 'node:fs'
import { type CtlCall, type CtlCommand, reportDone, type Outcome, showReply } from '../ctl-command.ts'
import { describeFileError } from '../../../telemetry/index.ts'

const sourceArguments = ['<name>', '<type>', '<source>']
const descriptionOption = {
  flags: '--description <text>',
  description: 'description of the schema, for administrators',
}
const types = ['json', 'avro', 'protobuf'] as const

/** Commands of the schema registry. */
export const schemaCommands: readonly CtlCommand[] = [
  {
    name: 'schemas list',
    description: 'list the schemas of the schema registry',
    run: ({ client }) =>
      showReply(client.get_schemas(), (rows) => ({ rows, columns: ['name', 'type', 'description'] })),
  },
  {
    name: 'schemas show',
    description: 'show a schema with its source',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      showReply(client.get_schema({ params: { name } }), (schema) => ({ text: schema.source, document: schema })),
  },
  {
    name: 'schemas add',
    description: 'add a schema of the type json, avro or protobuf; the source is @FILE, or the text itself',
    arguments: sourceArguments,
    options: [descriptionOption],
    run: (call) =>
      withSettings(call, (name, settings) =>
        reportDone(call.client.add_schema({ body: { name, ...settings } }), `${name} is added`),
      ),
  },
  {
    name: 'schemas update',
    description: 'replace a schema; rules use it from the next message on',
    arguments: sourceArguments,
    options: [descriptionOption],
    run: (call) =>
      withSettings(call, (name, settings) =>
        reportDone(call.client.change_schema({ params: { name }, body: settings }), `${name} is changed`),
      ),
  },
  {
    name: 'schemas delete',
    description: 'delete a schema that no rule names',
    arguments: ['<name>'],
    run: ({ client, operands: [name = ''] }) =>
      reportDone(client.remove_schema({ params: { name } }), `${name} is deleted`),
  },
]

interface SchemaSettings {
  readonly type: (typeof types)[number]
  readonly source: string
  readonly description: string
}

function withSettings(
  { operands: [name = '', typeName = '', text = ''], options }: CtlCall,
  run: (name: string, settings: SchemaSettings) => Promise<Outcome>,
): Promise<Outcome> | Outcome {
  const type = types.find((one) => one === typeName)
  if (type === undefined) return { usage: `the type of a schema is one of ${types.join(', ')}` }
  const { description } = options
  try {
    const source = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text
    return run(name, { type, source, description: typeof description === 'string' ? description : '' })
  } catch (error) {
    return { usage: `${text.slice(1)}: ${describeFileError(error)}` }
  }
}
