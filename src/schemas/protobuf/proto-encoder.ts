// Encodes maps as Protobuf messages. Fields are written in the order of the schema.

import {
  type Budget,
  countBytes,
  toBytes,
  isArray,
  isInteger,
  isMap,
  isNumber,
  isText,
  getKind,
  maxValueDepth,
  findNearestName,
  type RuleMap,
  type RuleValue,
  toFloat,
} from '../../values/index.ts'
import { type Integer, PayloadWriter } from '../model/payload-bytes.ts'
import { checkValueDepth, ValuePath } from '../model/compiled-schema.ts'
import {
  type ProtoField,
  type ProtoMessage,
  type ProtoType,
  type ScalarName,
  getWireType,
  wireTypes,
} from './proto-types.ts'

/** Throws RuleError with the path of the value that does not fit. */
export function encodeProto(type: ProtoMessage, value: RuleValue, budget: Budget): Uint8Array {
  return new ProtoEncoder(budget).encodeMessage(type, value, 0).toBytes()
}

const ranges: Partial<Record<ScalarName, readonly [min: bigint, max: bigint]>> = {
  int32: [-(1n << 31n), (1n << 31n) - 1n],
  sint32: [-(1n << 31n), (1n << 31n) - 1n],
  sfixed32: [-(1n << 31n), (1n << 31n) - 1n],
  uint32: [0n, (1n << 32n) - 1n],
  fixed32: [0n, (1n << 32n) - 1n],
  int64: [-(1n << 63n), (1n << 63n) - 1n],
  sint64: [-(1n << 63n), (1n << 63n) - 1n],
  sfixed64: [-(1n << 63n), (1n << 63n) - 1n],
  uint64: [0n, (1n << 64n) - 1n],
  fixed64: [0n, (1n << 64n) - 1n],
}
/** Fields that a misspelled name is compared with. */
const maxCompared = 100

const notFinite = new Map<RuleValue, number>([
  ['nan', Number.NaN],
  ['infinity', Number.POSITIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
])

class ProtoEncoder {
  readonly #budget: Budget
  readonly #path = new ValuePath()

  constructor(budget: Budget) {
    this.#budget = budget
  }

  encodeMessage(type: ProtoMessage, value: RuleValue, depth: number): PayloadWriter {
    checkValueDepth(depth, maxValueDepth)
    this.#budget.countSteps(1 + type.fields.size)
    if (!isMap(value)) {
      const hint = isText(value) ? ': open JSON with json_decode first' : ''
      throw this.#path.createError(`the value must be a map for the message ${type.name}, not ${getKind(value)}${hint}`)
    }
    this.#checkKeys(type, value)
    const writer = new PayloadWriter(this.#budget)
    for (const field of type.fields.values()) {
      const member = Object.hasOwn(value, field.name) ? value[field.name] : undefined
      if (member !== undefined && member !== null)
        this.#path.runWithin(field.name, () => this.#writeField(writer, field, member, depth))
      else if (field.label === 'required') throw this.#path.createError(`${type.name} needs the field ${field.name}`)
    }
    return writer
  }

  #checkKeys(type: ProtoMessage, map: RuleMap): void {
    const keys = Object.keys(map).filter((key) => map[key] !== undefined)
    this.#budget.countSteps(keys.length)
    for (const key of keys) {
      if (type.fields.has(key)) continue
      const near = type.fields.size > maxCompared ? undefined : findNearestName(key, type.fields.keys())
      const hint = near === undefined ? '' : `: did you mean ${near}?`
      throw this.#path.createError(`the message ${type.name} has no field ${JSON.stringify(key.slice(0, 60))}${hint}`)
    }
    for (const [oneof, names] of type.oneofs) {
      const given = names.filter((name) => Object.hasOwn(map, name) && map[name] !== undefined && map[name] !== null)
      if (given.length > 1)
        throw this.#path.createError(`only one of ${given.join(', ')} can be set: they are oneof ${oneof}`)
    }
  }

  #writeField(writer: PayloadWriter, field: ProtoField, value: RuleValue, depth: number): void {
    switch (field.label) {
      case 'map':
        return this.#writeMap(writer, field, value, depth)
      case 'repeated':
        return this.#writeRepeated(writer, field, value, depth)
      case 'implicit':
        // The default is not sent.
        if (!isDefault(field.type, value)) this.#writeTagged(writer, field, value, depth)
        else this.#writeValue(new PayloadWriter(this.#budget), field.type, value, depth)
        return undefined
      default:
        return this.#writeTagged(writer, field, value, depth)
    }
  }

  #writeTagged(
    writer: PayloadWriter,
    field: Pick<ProtoField, 'number' | 'type'>,
    value: RuleValue,
    depth: number,
  ): void {
    writer.varint(field.number * 8 + getWireType(field.type))
    this.#writeValue(writer, field.type, value, depth)
  }

  #writeRepeated(writer: PayloadWriter, field: ProtoField, value: RuleValue, depth: number): void {
    if (!isArray(value)) throw this.#path.createError(`the value must be an array, not ${getKind(value)}`)
    this.#budget.countSteps(value.length)
    const target = field.isPacked ? new PayloadWriter(this.#budget) : writer
    for (const [index, item] of value.entries()) {
      this.#path.runWithin(index, () => {
        if (field.isPacked) this.#writeValue(target, field.type, item, depth)
        else this.#writeTagged(target, field, item, depth)
      })
    }
    if (field.isPacked && value.length > 0) writeSized(writer, field.number, target)
  }

  #writeMap(writer: PayloadWriter, field: ProtoField, value: RuleValue, depth: number): void {
    if (!isMap(value)) throw this.#path.createError(`the value must be a map, not ${getKind(value)}`)
    const keyType: ProtoType = { kind: 'scalar', name: field.keyType ?? 'string' }
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue
      this.#path.runWithin(key, () => {
        const entry = new PayloadWriter(this.#budget)
        this.#writeTagged(entry, { number: 1, type: keyType }, parseMapKey(key, keyType.name), depth)
        this.#writeTagged(entry, { number: 2, type: field.type }, member, depth)
        writeSized(writer, field.number, entry)
      })
    }
  }

  #writeValue(writer: PayloadWriter, type: ProtoType, value: RuleValue, depth: number): void {
    if (type.kind === 'scalar') return this.#writeScalar(writer, type.name, value)
    if (type.kind === 'enum') {
      const number = typeof value === 'string' ? type.numbers.get(value) : value
      if (typeof number === 'number' && isInteger(number) && Math.abs(number) <= 2 ** 31) return writer.varint(number)
      const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : getKind(value)
      throw this.#path.createError(`the enum ${type.name} has no value ${shown}`)
    }
    const inner = this.encodeMessage(type, value, depth + 1)
    writer.varint(inner.length)
    writer.raw(inner.toBytes())
  }

  #writeScalar(writer: PayloadWriter, name: ScalarName, value: RuleValue): void {
    switch (name) {
      case 'bool':
        if (typeof value !== 'boolean') throw this.#createTypeError(name, value)
        return writer.byte(value ? 1 : 0)
      case 'float':
        return writer.float(this.#requireFloat(name, value))
      case 'double':
        return writer.double(this.#requireFloat(name, value))
      case 'string':
      case 'bytes':
        if (!isText(value) || (name === 'string' && typeof value !== 'string')) throw this.#createTypeError(name, value)
        writer.varint(countBytes(value))
        return writer.raw(toBytes(value))
      case 'sint32':
      case 'sint64':
        return writer.zigzag(this.#requireInteger(name, value))
      case 'fixed32':
      case 'sfixed32':
        return writer.fixed32(this.#requireInteger(name, value))
      case 'fixed64':
      case 'sfixed64':
        return writer.fixed64(this.#requireInteger(name, value))
      default:
        return writer.varint(this.#requireInteger(name, value))
    }
  }

  #requireFloat(name: ScalarName, value: RuleValue): number {
    const special = notFinite.get(value)
    if (special !== undefined) return special
    if (!isNumber(value)) throw this.#createTypeError(name, value)
    return toFloat(value)
  }

  #requireInteger(name: ScalarName, value: RuleValue): Integer {
    const [min, max] = ranges[name] ?? [0n, 0n]
    if (!isInteger(value)) throw this.#createTypeError(name, value)
    if (value < min || value > max) throw this.#path.createError(`${value} is outside of ${name}: ${min} to ${max}`)
    return value
  }

  #createTypeError(name: ScalarName, value: RuleValue): Error {
    return this.#path.createError(`the value must be of the type ${name}, not ${getKind(value)}`)
  }
}

function writeSized(writer: PayloadWriter, number: number, inner: PayloadWriter): void {
  writer.varint(number * 8 + wireTypes.length)
  writer.varint(inner.length)
  writer.raw(inner.toBytes())
}

function isDefault(type: ProtoType, value: RuleValue): boolean {
  if (type.kind === 'enum') return value === 0 || type.numbers.get(value as string) === 0
  if (isNumber(value)) return Object.is(toFloat(value), 0)
  return value === false || value === ''
}

/** Keys of maps are texts in the rule language. A text that is not a key of the type stays a text, and is refused. */
function parseMapKey(key: string, type: ScalarName): RuleValue {
  if (type === 'string') return key
  if (type === 'bool') return key === 'true' ? true : key === 'false' ? false : key
  if (!/^-?\d{1,20}$/.test(key)) return key
  const number = Number(key)
  return Number.isSafeInteger(number) ? number : BigInt(key)
}
