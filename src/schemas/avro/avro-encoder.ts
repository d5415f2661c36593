// Encodes values as Avro data.

import {
  type Budget,
  countBytes,
  toBytes,
  getKey,
  isArray,
  isInteger,
  isMap,
  isNumber,
  isText,
  getKind,
  maxValueDepth,
  RuleError,
  type RuleMap,
  type RuleText,
  type RuleValue,
  toFloat,
} from '../../values/index.ts'
import { PayloadWriter } from '../model/payload-bytes.ts'
import { checkValueDepth, ValuePath } from '../model/compiled-schema.ts'
import { type AvroRecord, type AvroType, describeAvro } from './avro-types.ts'

/** Throws RuleError with the path of the value that does not fit. */
export function encodeAvro(type: AvroType, value: RuleValue, budget: Budget): Uint8Array {
  const encoder = new AvroEncoder(budget)
  encoder.write(type, value, 0)
  return encoder.writer.toBytes()
}

const largestFloat = 3.402_823_466_385_288_6e38
const limits = { int: 1n << 31n, long: 1n << 63n } as const

class AvroEncoder {
  readonly writer: PayloadWriter
  readonly #budget: Budget
  readonly #path = new ValuePath()

  constructor(budget: Budget) {
    this.writer = new PayloadWriter(budget)
    this.#budget = budget
  }

  write(type: AvroType, value: RuleValue, depth: number): void {
    checkValueDepth(depth, 2 * maxValueDepth)
    this.#budget.countSteps(1)
    if (type.kind === 'union') return this.#writeUnion(type.branches, value, depth)
    if (!fitsType(type, value)) throw this.#createTypeError(type, value)
    switch (type.kind) {
      case 'null':
        return undefined
      case 'boolean':
        return this.writer.byte(value === true ? 1 : 0)
      case 'int':
      case 'long':
        return this.writer.zigzag(value as number | bigint)
      case 'float':
        return this.writer.float(toFloat(value as number))
      case 'double':
        return this.writer.double(toFloat(value as number))
      case 'bytes':
      case 'string':
        this.writer.zigzag(countBytes(value as RuleText))
        return this.writer.raw(toBytes(value as RuleText))
      case 'fixed':
        return this.writer.raw(toBytes(value as RuleText))
      case 'enum':
        return this.writer.zigzag(type.indexes.get(value as string) ?? 0)
      case 'array':
        return this.#writeArray(type.items, value as readonly RuleValue[], depth)
      case 'map':
        return this.#writeMap(type.values, value as RuleMap, depth)
      case 'record':
        return this.#writeRecord(type, value as RuleMap, depth)
      default:
        throw type satisfies never
    }
  }

  #createTypeError(type: AvroType, value: RuleValue): RuleError {
    if (type.kind === 'fixed' && isText(value))
      return this.#path.createError(`${describeAvro(type)} has ${type.size} bytes, not ${countBytes(value)}`)
    if (type.kind === 'enum' && typeof value === 'string')
      return this.#path.createError(`${describeAvro(type)} has no symbol ${JSON.stringify(value.slice(0, 60))}`)
    const hint = type.kind === 'record' && isText(value) ? ': open JSON with json_decode first' : ''
    const what = isInteger(value) && (type.kind === 'int' || type.kind === 'long') ? `${value}` : getKind(value)
    return this.#path.createError(`the value must be ${describeAvro(type)}, not ${what}${hint}`)
  }

  /** The first type that takes the value is used. */
  #writeUnion(branches: readonly AvroType[], value: RuleValue, depth: number): void {
    this.#budget.countSteps(branches.length)
    const candidates = branches
      .map((branch, index) => ({ branch, index }))
      .filter(({ branch }) => fitsType(branch, value))
    const mark = { length: this.writer.length, depth: this.#path.depth }
    for (const [place, { branch, index }] of candidates.entries()) {
      try {
        this.writer.zigzag(index)
        return this.write(branch, value, depth + 1)
      } catch (error) {
        const isLast = place === candidates.length - 1
        if (isLast || !(error instanceof RuleError) || error.kind !== 'evaluation') throw error
        this.writer.truncate(mark.length)
        this.#path.leave(mark.depth)
      }
    }
    const names = branches.map(describeAvro).join(', ')
    throw this.#path.createError(`no type of the union accepts ${getKind(value)}: it has ${names.slice(0, 200)}`)
  }

  #writeArray(items: AvroType, array: readonly RuleValue[], depth: number): void {
    if (array.length > 0) this.writer.zigzag(array.length)
    for (const [index, item] of array.entries()) this.#path.runWithin(index, () => this.write(items, item, depth + 1))
    this.writer.zigzag(0)
  }

  #writeMap(values: AvroType, map: RuleMap, depth: number): void {
    const entries = Object.entries(map).filter(([, value]) => value !== undefined)
    if (entries.length > 0) this.writer.zigzag(entries.length)
    for (const [key, value] of entries) {
      const bytes = toBytes(key)
      this.writer.zigzag(bytes.length)
      this.writer.raw(bytes)
      this.#path.runWithin(key, () => this.write(values, value, depth + 1))
    }
    this.writer.zigzag(0)
  }

  #writeRecord({ name: record, fields }: AvroRecord, map: RuleMap, depth: number): void {
    for (const { name, type, defaultValue } of fields) {
      const value = getKey(map, name) ?? selectDefault(map, name, defaultValue)
      if (value === undefined) throw this.#path.createError(`record ${record} needs the field ${name}`)
      this.#path.runWithin(name, () => this.write(type, value, depth + 1))
    }
  }
}

/** The default for a field that is missing; null is a value. */
function selectDefault(map: RuleMap, name: string, defaultValue: RuleValue): RuleValue {
  return getKey(map, name) === null ? null : defaultValue
}

/** Whether the value can be of the type, without a look at what it contains. */
function fitsType(type: AvroType, value: RuleValue): boolean {
  switch (type.kind) {
    case 'null':
      return value === null
    case 'boolean':
      return typeof value === 'boolean'
    case 'int':
    case 'long':
      return isInteger(value) && value >= -limits[type.kind] && value < limits[type.kind]
    case 'float':
      return isNumber(value) && Math.abs(toFloat(value)) <= largestFloat
    case 'double':
      return isNumber(value)
    case 'bytes':
      return isText(value)
    case 'string':
      return typeof value === 'string'
    case 'fixed':
      return isText(value) && countBytes(value) === type.size
    case 'enum':
      return typeof value === 'string' && type.indexes.has(value)
    case 'array':
      return isArray(value)
    case 'map':
    case 'record':
      return isMap(value)
    case 'union':
      return type.branches.some((branch) => fitsType(branch, value))
    default:
      throw type satisfies never
  }
}
