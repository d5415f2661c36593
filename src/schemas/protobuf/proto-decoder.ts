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
  toRuleText,
} from '../../values/index.ts'
import { decodeZigzag, type Integer, PayloadReader } from '../model/payload-bytes.ts'
import { checkValueDepth } from '../model/compiled-schema.ts'
import {
  type ProtoField,
  type ProtoMessage,
  type ProtoType,
  type ScalarName,
  getWireType,
  wireTypes,
} from './proto-types.ts'

/** Throws RuleError. */
export function decodeProto(type: ProtoMessage, data: Uint8Array, budget: Budget): RuleMap {
  const map: MapBuilder = {}
  new ProtoDecoder(new PayloadReader(data), budget).readMessage(type, map, 0)
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
  readMessage(type: ProtoMessage, map: MapBuilder, depth: number): void {
    checkValueDepth(depth, maxValueDepth)
    while (this.#reader.left > 0) {
      this.#budget.countSteps(1)
      const { number, wire } = this.#readTag()
      const field = type.byNumber.get(number)
      if (field === undefined) this.#skip(wire, number, 0)
      else this.#readField(type, field, { wire, map, depth })
    }
    this.#complete(type, map)
  }

  #readTag(): { readonly number: number; readonly wire: number } {
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
        for (let inner = this.#readTag(); inner.wire !== wireTypes.endGroup; inner = this.#readTag()) {
          this.#budget.countSteps(1)
          this.#skip(inner.wire, inner.number, depth + 1)
        }
        return
      default:
        throw new RuleError(`field ${number} has the wire type ${wire}: this is not Protobuf`)
    }
  }

  #readField(type: ProtoMessage, field: ProtoField, at: FieldPlace): void {
    this.#budget.countCreated(valueCost)
    const expected = getWireType(field.type)
    if (field.label === 'map') return this.#readMapEntry(field, at)
    if (field.label === 'repeated') return this.#readRepeated(field, at, expected)
    if (at.wire !== expected) throw createWireError(field, at.wire)
    if (field.oneof !== undefined) {
      const names = type.oneofs.get(field.oneof) ?? []
      this.#budget.countSteps(names.length)
      for (const other of names) if (other !== field.name) delete at.map[other]
    }
    setKey(
      at.map,
      field.name,
      this.#readValue(field.type, at.depth, Object.hasOwn(at.map, field.name) ? at.map[field.name] : undefined),
    )
  }

  #readRepeated(field: ProtoField, { wire, map, depth }: FieldPlace, expected: number): void {
    const array = (Object.hasOwn(map, field.name) ? map[field.name] : []) as RuleValue[]
    setKey(map, field.name, array)
    if (wire === expected) {
      array.push(this.#readValue(field.type, depth, undefined))
      return
    }
    // Packed or not: both must be read.
    if (wire !== wireTypes.length || expected === wireTypes.length) throw createWireError(field, wire)
    this.#readWithin(() => {
      while (this.#reader.left > 0) {
        this.#budget.countCreated(valueCost)
        array.push(this.#readValue(field.type, depth, undefined))
      }
    })
  }

  #readMapEntry(field: ProtoField, { wire, map, depth }: FieldPlace): void {
    if (wire !== wireTypes.length) throw createWireError(field, wire)
    const entries = (Object.hasOwn(map, field.name) ? map[field.name] : {}) as MapBuilder
    setKey(map, field.name, entries)
    const keyType = field.keyType ?? 'string'
    let key: RuleValue = createDefault({ kind: 'scalar', name: keyType })
    let value: RuleValue
    this.#readWithin(() => {
      while (this.#reader.left > 0) {
        this.#budget.countSteps(1)
        const { number, wire: inner } = this.#readTag()
        if (number === 1) key = this.#readScalar(keyType)
        else if (number === 2) value = this.#readValue(field.type, depth, undefined)
        else this.#skip(inner, number, 0)
      }
    })
    if (typeof key === 'object') throw new RuleError(`a key of ${field.name} is not valid UTF-8`)
    setKey(entries, String(key), value ?? this.#createMissing(field.type))
  }

  #createMissing(type: ProtoType): RuleValue {
    if (type.kind !== 'message') return createDefault(type)
    const map: MapBuilder = {}
    this.#complete(type, map)
    return map
  }

  /** Reads a part that has its length in front. */
  #readWithin(work: () => void): void {
    const length = this.#reader.length()
    const { end } = this.#reader
    this.#reader.end = this.#reader.at + length
    work()
    this.#reader.end = end
  }

  #readValue(type: ProtoType, depth: number, known: RuleValue): RuleValue {
    if (type.kind === 'scalar') return this.#readScalar(type.name)
    if (type.kind === 'enum') {
      const number = toSigned32(this.#reader.varint())
      return type.names.get(number) ?? number
    }
    this.#budget.countCreated(messageCost)
    const map = (known ?? {}) as MapBuilder
    this.#readWithin(() => this.readMessage(type, map, depth + 1))
    return map
  }

  #readScalar(name: ScalarName): RuleValue {
    switch (name) {
      case 'int32':
        return toSigned32(this.#reader.varint())
      case 'uint32':
        return toUnsigned32(this.#reader.varint())
      case 'int64':
        return toSigned64(this.#reader.varint())
      case 'uint64':
        return this.#reader.varint()
      case 'sint32':
        return decodeZigzag(toUnsigned32(this.#reader.varint()))
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
        return toFloatValue(this.#reader.float())
      case 'double':
        return toFloatValue(this.#reader.double())
      case 'string':
      case 'bytes':
        return this.#readText(name)
      default:
        throw name satisfies never
    }
  }

  #readText(name: 'string' | 'bytes'): RuleText {
    const length = this.#reader.length()
    this.#budget.countCreated(textCost + length)
    const text = toRuleText(this.#reader.take(length))
    if (name === 'string' && typeof text !== 'string') throw new RuleError('a string is not valid UTF-8')
    return text
  }

  /** Fields that were not sent, and always have a value. */
  #complete(type: ProtoMessage, map: MapBuilder): void {
    this.#budget.countSteps(1 + type.fields.size / 2)
    for (const field of type.fields.values()) {
      if (Object.hasOwn(map, field.name)) continue
      if (field.label === 'required') throw new RuleError(`the field ${field.name} of ${type.name} is missing`)
      if (field.label === 'optional') continue
      this.#budget.countCreated(valueCost)
      setKey(map, field.name, field.label === 'repeated' ? [] : field.label === 'map' ? {} : createDefault(field.type))
    }
  }
}

interface FieldPlace {
  readonly wire: number
  readonly map: MapBuilder
  readonly depth: number
}

function createWireError(field: ProtoField, wire: number): RuleError {
  return new RuleError(`the field ${field.name} has the wire type ${wire}: the data is of another message type`)
}

/** Returns the value of a field of proto3 that was not sent. */
export function createDefault(type: ProtoType): RuleValue {
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

function toSigned32(value: Integer): number {
  return Number(BigInt.asIntN(32, BigInt(value)))
}

function toUnsigned32(value: Integer): number {
  return Number(BigInt.asUintN(32, BigInt(value)))
}

function toSigned64(value: Integer): Integer {
  return typeof value === 'number' ? value : makeInteger(BigInt.asIntN(64, value))
}

/** Returns the value of a float. Values that are not finite are texts. */
function toFloatValue(value: number): RuleValue {
  if (Number.isFinite(value)) return makeFloat(value)
  return Number.isNaN(value) ? 'nan' : value > 0 ? 'infinity' : '-infinity'
}
