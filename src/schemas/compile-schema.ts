// Compiles the source of a schema, once.

import { type Budget, decodeJson, encodeJson, RuleError, type RuleText, toRuleText } from '../values/index.ts'
import { decodeAvro } from './avro/avro-decoder.ts'
import { encodeAvro } from './avro/avro-encoder.ts'
import { parseAvro } from './avro/parse-avro.ts'
import { compileJsonSchema } from './json/compile-json-schema.ts'
import { compileProto } from './protobuf/compile-proto.ts'
import { decodeProto } from './protobuf/proto-decoder.ts'
import { encodeProto } from './protobuf/proto-encoder.ts'
import type { ProtoMessage, ProtoMessages } from './protobuf/proto-types.ts'
import type { CompiledSchema, SchemaDefinition } from './model/compiled-schema.ts'

/** Throws SchemaError with the place in the source. */
export function compileSchema({ type, source }: Omit<SchemaDefinition, 'name'>): CompiledSchema {
  switch (type) {
    case 'json':
      return createJsonSchema(source)
    case 'avro':
      return createAvroSchema(source)
    case 'protobuf':
      return createProtobufSchema(compileProto(source))
    default:
      throw type satisfies never
  }
}

/** A value that passes is encoded as JSON. */
function createJsonSchema(source: string): CompiledSchema {
  const validate = compileJsonSchema(source)
  return {
    type: 'json',
    messageTypes: [],
    encode: (value, messageType, budget) => {
      refuseMessageType('JSON Schema', messageType)
      validate(value, budget)
      return encodeJson(value, budget)
    },
    decode: (data, messageType, budget) => {
      refuseMessageType('JSON Schema', messageType)
      const value = decodeJson(toCountedText(data, budget))
      validate(value, budget)
      return value
    },
  }
}

function toCountedText(data: Uint8Array, budget: Budget): RuleText {
  budget.countCreated(data.length)
  return toRuleText(data)
}

function createAvroSchema(source: string): CompiledSchema {
  const type = parseAvro(source)
  return {
    type: 'avro',
    messageTypes: [],
    encode: (value, messageType, budget) => {
      refuseMessageType('Avro', messageType)
      return toRuleText(encodeAvro(type, value, budget))
    },
    decode: (data, messageType, budget) => {
      refuseMessageType('Avro', messageType)
      return decodeAvro(type, data, budget)
    },
  }
}

/** Returns the schema of message types. */
export function createProtobufSchema(messages: ProtoMessages): CompiledSchema {
  const messageTypes = [...messages.keys()]
  return {
    type: 'protobuf',
    messageTypes,
    encode: (value, messageType, budget) =>
      toRuleText(encodeProto(requireMessage(messages, messageType), value, budget)),
    decode: (data, messageType, budget) => decodeProto(requireMessage(messages, messageType), data, budget),
  }
}

function refuseMessageType(schema: string, messageType: string | undefined): void {
  if (messageType !== undefined) throw new RuleError(`${schema} has no message types: leave out the last argument`)
}

/** Message types that an error names. */
const maxNamed = 10

function requireMessage(messages: ProtoMessages, messageType: string | undefined): ProtoMessage {
  const found = messageType === undefined ? undefined : messages.get(messageType)
  if (found !== undefined) return found
  const names = [...messages.keys()]
  const known = `${names.slice(0, maxNamed).join(', ')}${names.length > maxNamed ? ', …' : ''}`
  if (messageType === undefined) throw new RuleError(`name the message type as the last argument: ${known}`)
  throw new RuleError(`there is no message type ${JSON.stringify(messageType.slice(0, 60))}: there are ${known}`)
}
