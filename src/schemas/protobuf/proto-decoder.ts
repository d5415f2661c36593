// Decodes Protobuf messages. Unknown fields are skipped. Each value counts against the budget before it is created.

import {
  type Budget,
  makeFloat,
  makeInteger,
  type MapBuilder,
  maxValueDepth,
  RuleError,
  type RuleMap,
  type RuleText,
  type RuleValue,
  setKey,
  textFromBytes,
} from '../../values/index.ts'
import { fromZigzag, type Integer, PayloadReader } from '../model/payload-bytes.ts'
import { checkValueDepth } from '../model/schema.ts'
import {
  type ProtoField,
  type ProtoMessage,
  type ProtoType,
  type ScalarName,
  wireTypeOf,
  wireTypes,
} from './proto-types.ts'

/** Throws RuleError. */
export function decodeProto(type: ProtoMessage, data: Uint8Array, budget: Budget): RuleMap {
  const map: MapBuilder = {}
  new ProtoDecoder(new PayloadReader(data), budget).message(type, map, 0)
  return map
}

/** Bytes that values count for, besides their own: each one is an object. */
const valueCost = 8
const textCost = 128
const messageCost = 48

class ProtoDecoder {
  readonly #reader: PayloadReader
  readonly #budget: Budget

  constructor(reader: PayloadReader, budget: Budget) {
    this.#reader = reader
    this.#budget = budget
  }

  /** Reads up to the end of the reader. Fields that `map` has already are merged, as Protobuf wants it. */
  message(type: ProtoMessage, map: MapBuilder, depth: number): void {
    checkValueDepth(depth, maxValueDepth)
    while (this.#reader.left > 0) {
      this.#budget.step(1)
      const { number, wire } = this.#tag()
      const field = type.byNumber.get(number)
      if (field === undefined) this.#skip(wire, number, 0)
      else this.#field(type, field, { wire, map, depth })
    }
    this.#complete(type, map)
  }

  #tag(): { readonly number: number; readonly wire: number } {
    const tag = this.#reader.varint()
    const number = typeof tag === 'number' ? Math.floor(tag / 8) : 0
    if (number === 0)
      throw new RuleError(`there is no field number at byte ${this.#reader.at - 1}: this is not Protobuf`)
    return { number, wire: Number(tag) % 8 }
  }

  #skip(wire: number, number: number, depth: number): void {
    checkValueDepth(depth, maxValueDepth)
    switch (wire) {
      case wireTypes.varint:
        this.#reader.varint()
        return
      case wireTypes.fixed64:
        return this.#reader.skip(8)
      case wireTypes.length:
        return this.#reader.skip(this.#reader.length())
      case wireTypes.fixed32:
        return this.#reader.skip(4)
      case wireTypes.startGroup:
        for (let inner = this.#tag(); inner.wire !== wireTypes.endGroup; inner = this.#tag()) {
          this.#budget.step(1)
          this.#skip(inner.wire, inner.number, depth + 1)
        }
        return
      default:
        throw new RuleError(`field ${number} has the wire type ${wire}: this is not Protobuf`)
    }
  }

  #field(type: ProtoMessage, field: ProtoField, at: FieldPlace): void {
    this.#budget.create(valueCost)
    const expected = wireTypeOf(field.type)
    if (field.label === 'map') return this.#mapEntry(field, at)
    if (field.label === 'repeated') return this.#repeated(field, at, expected)
    if (at.wire !== expected) throw wrongWire(field, at.wire)
    if (field.oneof !== undefined) {
      const names = type.oneofs.get(field.oneof) ?? []
      this.#budget.step(names.length)
      for (const other of names) if (other !== field.name) delete at.map[other]
    }
    setKey(
      at.map,
      field.name,
      this.#value(field.type, at.depth, Object.hasOwn(at.map, field.name) ? at.map[field.name] : undefined),
    )
  }

  #repeated(field: ProtoField, { wire, map, depth }: FieldPlace, expected: number): void {
    const array = (Object.hasOwn(map, field.name) ? map[field.name] : []) as RuleValue[]
    setKey(map, field.name, array)
    if (wire === expected) {
      array.push(this.#value(field.type, depth, undefined))
      return
    }
    // Packed or not: both must be read.
    if (wire !== wireTypes.length || expected === wireTypes.length) throw wrongWire(field, wire)
    this.#within(() => {
      while (this.#reader.left > 0) {
        this.#budget.create(valueCost)
        array.push(this.#value(field.type, depth, undefined))
      }
    })
  }

  #mapEntry(field: ProtoField, { wire, map, depth }: FieldPlace): void {
    if (wire !== wireTypes.length) throw wrongWire(field, wire)
    const entries = (Object.hasOwn(map, field.name) ? map[field.name] : {}) as MapBuilder
    setKey(map, field.name, entries)
    const keyType = field.keyType ?? 'string'
    let key: RuleValue = defaultOf({ kind: 'scalar', name: keyType })
    let value: RuleValue
    this.#within(() => {
      while (this.#reader.left > 0) {
        this.#budget.step(1)
        const { number, wire: inner } = this.#tag()
        if (number === 1) key = this.#scalar(keyType)
        else if (number === 2) value = this.#value(field.type, depth, undefined)
        else this.#skip(inner, number, 0)
      }
    })
    if (typeof key === 'object') throw new RuleError(`a key of ${field.name} is not valid UTF-8`)
    setKey(entries, String(key), value ?? this.#missing(field.type))
  }

  #missing(type: ProtoType): RuleValue {
    if (type.kind !== 'message') return defaultOf(type)
    const map: MapBuilder = {}
    this.#complete(type, map)
    return map
  }

  /** Reads a part that has its length in front. */
  #within(work: () => void): void {
    const length = this.#reader.length()
    const { end } = this.#reader
    this.#reader.end = this.#reader.at + length
    work()
    this.#reader.end = end
  }

  #value(type: ProtoType, depth: number, known: RuleValue): RuleValue {
    if (type.kind === 'scalar') return this.#scalar(type.name)
    if (type.kind === 'enum') {
      const number = signed32(this.#reader.varint())
      return type.names.get(number) ?? number
    }
    this.#budget.create(messageCost)
    const map = (known ?? {}) as MapBuilder
    this.#within(() => this.message(type, map, depth + 1))
    return map
  }

  #scalar(name: ScalarName): RuleValue {
    switch (name) {
      case 'int32':
        return signed32(this.#reader.varint())
      case 'uint32':
        return unsigned32(this.#reader.varint())
      case 'int64':
        return signed64(this.#reader.varint())
      case 'uint64':
        return this.#reader.varint()
      case 'sint32':
        return fromZigzag(unsigned32(this.#reader.varint()))
      case 'sint64':
        return this.#reader.zigzag()
      case 'bool':
        return this.#reader.varint() !== 0
      case 'fixed32':
        return this.#reader.unsigned32()
      case 'sfixed32':
        return this.#reader.signed32()
      case 'fixed64':
        return this.#reader.unsigned64()
      case 'sfixed64':
        return this.#reader.signed64()
      case 'float':
        return floatValue(this.#reader.float())
      case 'double':
        return floatValue(this.#reader.double())
      case 'string':
      case 'bytes':
        return this.#text(name)
      default:
        throw name satisfies never
    }
  }

  #text(name: 'string' | 'bytes'): RuleText {
    const length = this.#reader.length()
    this.#budget.create(textCost + length)
    const text = textFromBytes(this.#reader.take(length))
    if (name === 'string' && typeof text !== 'string') throw new RuleError('a string is not valid UTF-8')
    return text
  }

  /** Fields that were not sent, and always have a value. */
  #complete(type: ProtoMessage, map: MapBuilder): void {
    this.#budget.step(1 + type.fields.size / 2)
    for (const field of type.fields.values()) {
      if (Object.hasOwn(map, field.name)) continue
      if (field.label === 'required') throw new RuleError(`the field ${field.name} of ${type.name} is missing`)
      if (field.label === 'optional') continue
      this.#budget.create(valueCost)
      setKey(map, field.name, field.label === 'repeated' ? [] : field.label === 'map' ? {} : defaultOf(field.type))
    }
  }
}

interface FieldPlace {
  readonly wire: number
  readonly map: MapBuilder
  readonly depth: number
}

function wrongWire(field: ProtoField, wire: number): RuleError {
  return new RuleError(`the field ${field.name} has the wire type ${wire}: the data is of another message type`)
}

/** Returns the value of a field of proto3 that was not sent. */
export function defaultOf(type: ProtoType): RuleValue {
  if (type.kind === 'message') return undefined
  if (type.kind === 'enum') return type.names.get(0) ?? 0
  switch (type.name) {
    case 'bool':
      return false
    case 'string':
    case 'bytes':
      return ''
    case 'float':
    case 'double':
      return makeFloat(0)
    default:
      return 0
  }
}

function signed32(value: Integer): number {
  return Number(BigInt.asIntN(32, BigInt(value)))
}

function unsigned32(value: Integer): number {
  return Number(BigInt.asUintN(32, BigInt(value)))
}

function signed64(value: Integer): Integer {
  return typeof value === 'number' ? value : makeInteger(BigInt.asIntN(64, value))
}

/** Returns the value of a float. Values that are not finite are texts. */
function floatValue(value: number): RuleValue {
  if (Number.isFinite(value)) return makeFloat(value)
  return Number.isNaN(value) ? 'nan' : value > 0 ? 'infinity' : '-infinity'
}
