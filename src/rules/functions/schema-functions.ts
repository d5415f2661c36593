// Functions that encode, decode and check values by schemas.

import type { Call, FunctionDefinitions } from './rule-function.ts'
import {
  toBytes,
  isArray,
  isMap,
  isText,
  getKind,
  RuleError,
  type RuleText,
  type RuleValue,
} from '../../values/index.ts'
import { type CompiledSchema, loadSparkplugSchema } from '../../schemas/index.ts'

const sparkplugPayload = 'Payload'

/** Adds the name of the schema to an error. */
function runWithSchemaName<Result>(name: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RuleError)) throw error
    throw new RuleError(`schema ${name}: ${error.message}`, error.kind)
  }
}

function findSchema(name: RuleValue, { host }: Call): CompiledSchema {
  return host.findSchema(name as string)
}

function encode([name, value, type]: readonly RuleValue[], call: Call): RuleText {
  const schema = findSchema(name, call)
  return runWithSchemaName(name as string, () => schema.encode(value, toMessageType(type), call.budget))
}

function decode([name, data, type]: readonly RuleValue[], call: Call): RuleValue {
  const schema = findSchema(name, call)
  return runWithSchemaName(name as string, () =>
    schema.decode(requireEncoded(data, call), toMessageType(type), call.budget),
  )
}

/** A text is checked as encoded data, a map or array as a value. */
function check([name, value, type]: readonly RuleValue[], call: Call): boolean {
  const schema = findSchema(name, call)
  if (!isText(value) && !isMap(value) && !isArray(value))
    throw new RuleError(`schema_check: the data must be a text, a map or an array, not ${getKind(value)}`)
  try {
    if (isText(value)) schema.decode(requireEncoded(value, call), toMessageType(type), call.budget)
    else schema.encode(value, toMessageType(type), call.budget)
    return true
  } catch (error) {
    if (error instanceof RuleError && error.kind === 'evaluation') return false
    throw error
  }
}

function requireEncoded(data: RuleValue, { budget }: Call): Uint8Array {
  if (!isText(data)) throw new RuleError(`the data must be a text, not ${getKind(data)}: is it decoded already?`)
  budget.countRead(data.length)
  return toBytes(data)
}

function toMessageType(type: RuleValue): string | undefined {
  return type === undefined ? undefined : (type as string)
}

export const schemaFunctions: FunctionDefinitions = {
  schema_encode: {
    signatures: ['schema: text, data: any', 'schema: text, data: any, message_type: text'],
    returns: 'text',
    description:
      'Data encoded by a schema of the schema registry; for Protobuf with the name of the message type. A JSON Schema checks it and gives JSON.',
    run: encode,
  },
  schema_decode: {
    signatures: ['schema: text, payload: any', 'schema: text, payload: any, message_type: text'],
    returns: 'any',
    description:
      'Data decoded by a schema of the schema registry; for Protobuf with the name of the message type. A JSON Schema opens JSON and checks it.',
    run: decode,
  },
  schema_check: {
    signatures: ['schema: text, data: any', 'schema: text, data: any, message_type: text'],
    returns: 'boolean',
    description: 'Whether a text can be decoded, or a map or an array encoded, by a schema of the schema registry.',
    run: check,
  },
  sparkplug_encode: {
    signatures: ['data: any', 'data: any, message_type: text'],
    returns: 'text',
    description: 'Data encoded as Sparkplug B, by default as the message type `Payload`.',
    run: ([data, type], { budget }) =>
      runWithSchemaName('Sparkplug B', () =>
        loadSparkplugSchema().encode(data, toMessageType(type) ?? sparkplugPayload, budget),
      ),
  },
  sparkplug_decode: {
    signatures: ['payload: any', 'payload: any, message_type: text'],
    returns: 'map',
    description: 'Data decoded from Sparkplug B, by default as the message type `Payload`.',
    run: ([data, type], call) =>
      runWithSchemaName('Sparkplug B', () =>
        loadSparkplugSchema().decode(requireEncoded(data, call), toMessageType(type) ?? sparkplugPayload, call.budget),
      ),
  },
}
