// Looks up the types of the fields of a .proto text.

import { quoted } from '../../sql/compile-error.ts'
import { SchemaError } from '../schema.ts'
import {
  parseProto,
  type WrittenEnum,
  type WrittenField,
  type WrittenMessage,
  type WrittenProto,
} from './parse-proto.ts'
import type { ProtoToken } from './proto-tokens.ts'
import {
  fixedScalars,
  lengthScalars,
  varintScalars,
  wireTypeOf,
  wireTypes,
  type ProtoEnum,
  type ProtoField,
  type ProtoMessage,
  type ProtoMessages,
  type ProtoType,
  type ScalarName,
} from './proto-types.ts'

/** Compiles a .proto text. Throws SchemaError with line and column. */
export function compileProto(source: string): ProtoMessages {
  return new ProtoLinker(parseProto(source)).messages()
}

const scalars = new Set<string>([...varintScalars, ...fixedScalars, ...lengthScalars])
const noKeys = new Set<string>(['float', 'double', 'bytes'])

class ProtoLinker {
  readonly #written: WrittenProto
  readonly #types = new Map<string, ProtoEnum | ProtoMessage>()

  constructor(written: WrittenProto) {
    this.#written = written
    for (const type of written.types) this.#declare(type)
  }

  messages(): ProtoMessages {
    const found = new Map<string, ProtoMessage>()
    for (const written of this.#written.types) {
      if (written.kind !== 'message') continue
      const message = this.#types.get(written.name) as ProtoMessage
      for (const field of written.fields) this.#addField(message, field)
      found.set(written.name, message)
    }
    if (found.size === 0) throw this.#error(0, 'the schema defines no message')
    const { packageName } = this.#written
    if (packageName === '') return found
    return new Map([...found, ...[...found].map(([name, message]) => [`${packageName}.${name}`, message] as const)])
  }

  #error(at: number, summary: string): SchemaError {
    return new SchemaError({ source: this.#written.source, at }, summary)
  }

  #declare(written: WrittenMessage | WrittenEnum): void {
    const { kind, name } = written
    if (this.#types.has(name)) throw this.#error(this.#placeOf(name), `there is a type ${quoted(name)} already`)
    if (kind === 'message') {
      this.#types.set(name, { kind, name, fields: new Map(), byNumber: new Map(), oneofs: new Map() })
      return
    }
    const numbers = new Map(written.values.map((value) => [value.name, value.number]))
    const names = new Map(written.values.toReversed().map((value) => [value.number, value.name]))
    if (this.#written.isProto3 && written.values[0].number !== 0)
      throw this.#error(this.#placeOf(name), `the first value of the enum ${name} must be 0 in proto3`)
    this.#types.set(name, { kind, name, numbers, names })
  }

  /** Returns the position of the last definition of a type name. */
  #placeOf(name: string): number {
    return Math.max(0, this.#written.source.lastIndexOf(name.slice(name.lastIndexOf('.') + 1)))
  }

  #addField(message: ProtoMessage, written: WrittenField): void {
    const { name, number, oneof } = written
    if (message.fields.has(name.text))
      throw this.#error(name.at, `the message ${message.name} has the field ${quoted(name.text)} twice`)
    if (message.byNumber.has(number))
      throw this.#error(name.at, `the message ${message.name} has the field number ${number} twice`)
    const field = this.#field(message, written)
    message.fields.set(field.name, field)
    message.byNumber.set(number, field)
    if (oneof === undefined) return
    const names = message.oneofs.get(oneof)
    if (names === undefined) message.oneofs.set(oneof, [field.name])
    else names.push(field.name)
  }

  #field(
    message: ProtoMessage,
    { name, number, label, type: typeName, keyType, isPacked, oneof }: WrittenField,
  ): ProtoField {
    const type = this.#find(message.name, typeName)
    const isPackable = label === 'repeated' && wireTypeOf(type) !== wireTypes.length
    return {
      name: name.text,
      number,
      // Messages have presence in proto3 as well.
      label: label === 'implicit' && type.kind === 'message' ? 'optional' : label,
      type,
      keyType: keyType === undefined ? undefined : this.#keyType(keyType),
      isPacked: isPackable && (isPacked ?? this.#written.isProto3),
      oneof,
    }
  }

  #keyType({ text, at }: ProtoToken): ScalarName {
    if (scalars.has(text) && !noKeys.has(text)) return text as ScalarName
    throw this.#error(at, `a map cannot have keys of the type ${quoted(text)}`)
  }

  /** From the innermost message outwards. */
  #find(around: string, { text, at }: ProtoToken): ProtoType {
    if (scalars.has(text)) return { kind: 'scalar', name: text as ScalarName }
    const prefix = `${this.#written.packageName}.`
    const name = text.startsWith('.') ? text.slice(1) : text
    const short = name.startsWith(prefix) ? name.slice(prefix.length) : name
    if (text.startsWith('.')) return this.#types.get(short) ?? this.#absent(text, at)
    for (let scope = around; ; scope = scope.slice(0, Math.max(0, scope.lastIndexOf('.')))) {
      const found = this.#types.get(scope === '' ? name : `${scope}.${name}`)
      if (found !== undefined) return found
      if (scope === '') return this.#types.get(short) ?? this.#absent(text, at)
    }
  }

  #absent(name: string, at: number): never {
    throw this.#error(at, `there is no type ${quoted(name)}: define it in the schema`)
  }
}
