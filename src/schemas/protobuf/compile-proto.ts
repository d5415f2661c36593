// Compiles a .proto text: looks up the types of its fields.

import { quoteText } from '../../values/index.ts'
import { SchemaError } from '../model/compiled-schema.ts'
import { type ParsedEnum, type ParsedField, type ParsedMessage, type ParsedProto, parseProto } from './parse-proto.ts'
import type { ProtoToken } from './proto-tokens.ts'
import {
  fixedScalars,
  lengthScalars,
  type ProtoEnum,
  type ProtoField,
  type ProtoMessage,
  type ProtoMessages,
  type ProtoType,
  type ScalarName,
  varintScalars,
  getWireType,
  wireTypes,
} from './proto-types.ts'

/** Compiles a .proto text. Throws SchemaError with line and column. */
export function compileProto(source: string): ProtoMessages {
  return new ProtoCompiler(parseProto(source)).compileMessages()
}

const scalars = new Set<string>([...varintScalars, ...fixedScalars, ...lengthScalars])
const scalarsWithoutKeys = new Set<string>(['float', 'double', 'bytes'])

class ProtoCompiler {
  readonly #proto: ParsedProto
  readonly #types = new Map<string, ProtoEnum | ProtoMessage>()

  constructor(proto: ParsedProto) {
    this.#proto = proto
    for (const type of proto.types) this.#declare(type)
  }

  compileMessages(): ProtoMessages {
    const found = new Map<string, ProtoMessage>()
    for (const parsed of this.#proto.types) {
      if (parsed.kind !== 'message') continue
      const message = this.#types.get(parsed.name) as ProtoMessage
      for (const field of parsed.fields) this.#addField(message, field)
      found.set(parsed.name, message)
    }
    if (found.size === 0) throw this.#createError(0, 'the schema defines no message')
    const { packageName } = this.#proto
    if (packageName === '') return found
    return new Map([...found, ...[...found].map(([name, message]) => [`${packageName}.${name}`, message] as const)])
  }

  #createError(at: number, summary: string): SchemaError {
    return new SchemaError({ source: this.#proto.source, at }, summary)
  }

  #declare(parsed: ParsedMessage | ParsedEnum): void {
    const { kind, name, at } = parsed
    if (this.#types.has(name)) throw this.#createError(at, `the type ${quoteText(name)} is defined twice: rename one`)
    if (kind === 'message') {
      this.#types.set(name, { kind, name, fields: new Map(), byNumber: new Map(), oneofs: new Map() })
      return
    }
    const numbers = new Map(parsed.values.map((value) => [value.name, value.number]))
    const names = new Map(parsed.values.toReversed().map((value) => [value.number, value.name]))
    if (this.#proto.isProto3 && parsed.values[0].number !== 0)
      throw this.#createError(at, `the first value of the enum ${name} must be 0 in proto3`)
    this.#types.set(name, { kind, name, numbers, names })
  }

  #addField(message: ProtoMessage, parsed: ParsedField): void {
    const { name, number, oneof } = parsed
    if (message.fields.has(name.text))
      throw this.#createError(name.at, `the message ${message.name} has the field ${quoteText(name.text)} twice`)
    if (message.byNumber.has(number))
      throw this.#createError(name.at, `the message ${message.name} has the field number ${number} twice`)
    const field = this.#compileField(message, parsed)
    message.fields.set(field.name, field)
    message.byNumber.set(number, field)
    if (oneof === undefined) return
    const names = message.oneofs.get(oneof)
    if (names === undefined) message.oneofs.set(oneof, [field.name])
    else names.push(field.name)
  }

  #compileField(
    message: ProtoMessage,
    { name, number, label, type: typeName, keyType, isPacked, oneof }: ParsedField,
  ): ProtoField {
    const type = this.#find(message.name, typeName)
    const isPackable = label === 'repeated' && getWireType(type) !== wireTypes.length
    return {
      name: name.text,
      number,
      // Messages have presence in proto3 as well.
      label: label === 'implicit' && type.kind === 'message' ? 'optional' : label,
      type,
      keyType: keyType === undefined ? undefined : this.#requireKeyType(keyType),
      isPacked: isPackable && (isPacked ?? this.#proto.isProto3),
      oneof,
    }
  }

  #requireKeyType({ text, at }: ProtoToken): ScalarName {
    if (scalars.has(text) && !scalarsWithoutKeys.has(text)) return text as ScalarName
    throw this.#createError(at, `a map cannot have keys of the type ${quoteText(text)}`)
  }

  /** Looks the type up in the innermost message first, then in the messages around it, then in the file. */
  #find(around: string, { text, at }: ProtoToken): ProtoType {
    if (scalars.has(text)) return { kind: 'scalar', name: text as ScalarName }
    const prefix = `${this.#proto.packageName}.`
    const name = text.startsWith('.') ? text.slice(1) : text
    const short = name.startsWith(prefix) ? name.slice(prefix.length) : name
    if (text.startsWith('.')) return this.#types.get(short) ?? this.#throwUnknownType(text, at)
    for (let scope = around; ; scope = scope.slice(0, Math.max(0, scope.lastIndexOf('.')))) {
      const found = this.#types.get(scope === '' ? name : `${scope}.${name}`)
      if (found !== undefined) return found
      if (scope === '') return this.#types.get(short) ?? this.#throwUnknownType(text, at)
    }
  }

  #throwUnknownType(name: string, at: number): never {
    throw this.#createError(at, `there is no type ${quoteText(name)}: define it in the schema`)
  }
}
