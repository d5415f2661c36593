// Decodes Avro data. Each item and each byte counts against the budget before it is created: counts and lengths in the data
// are claims of a client.

import {
  type Budget,
  makeFloat,
  type MapBuilder,
  maxValueDepth,
  RuleError,
  type RuleText,
  type RuleValue,
  setKey,
  toRuleText,
} from '../../values/index.ts'
import { type Integer, PayloadReader } from '../model/payload-bytes.ts'
import { checkValueDepth } from '../model/compiled-schema.ts'
import type { AvroType } from './avro-types.ts'

/** Returns the value of data without a header. Throws RuleError, also if bytes are left. */
export function decodeAvro(type: AvroType, data: Uint8Array, budget: Budget): RuleValue {
  const decoder = new AvroDecoder(data, budget)
  const value = decoder.readValue(type, 0)
  decoder.finish()
  return value
}

/** Bytes that values count for, besides their own: each one is an object. */
const itemCost = 8
const textCost = 128
const mapCost = 48
const least32 = -0x80_00_00_00
const most32 = 0x7f_ff_ff_ff

class AvroDecoder {
  readonly #reader: PayloadReader
  readonly #budget: Budget

  constructor(data: Uint8Array, budget: Budget) {
    this.#reader = new PayloadReader(data)
    this.#budget = budget
  }

  finish(): void {
    if (this.#reader.left > 0) throw new RuleError(`${this.#reader.left} bytes follow the data`)
  }

  readValue(type: AvroType, depth: number): RuleValue {
    checkValueDepth(depth, maxValueDepth)
    this.#budget.countCreated(itemCost)
    switch (type.kind) {
      case 'null':
        return null
      case 'boolean':
        return this.#readBoolean()
      case 'int':
        return this.#readInt()
      case 'long':
        return this.#reader.zigzag()
      case 'float':
        return makeFloat(this.#reader.float())
      case 'double':
        return makeFloat(this.#reader.double())
      case 'bytes':
      case 'string':
        return this.#readText(this.#readLength())
      case 'fixed':
        return this.#readText(type.size)
      case 'enum':
        return type.symbols[this.#readIndex(type.symbols.length, 'symbol')]
      case 'union':
        return this.readValue(type.branches[this.#readIndex(type.branches.length, 'type')], depth + 1)
      case 'array':
        return this.#readArray(type.items, depth)
      case 'map':
        return this.#readMap(type.values, depth)
      case 'record':
        return this.#readRecord(type, depth)
      default:
        throw type satisfies never
    }
  }

  #readBoolean(): boolean {
    const byte = this.#reader.byte()
    if (byte > 1) throw new RuleError(`a boolean is ${byte}, not 0 or 1`)
    return byte === 1
  }

  #readInt(): number {
    const value = this.#reader.zigzag()
    if (typeof value === 'number' && value >= least32 && value <= most32) return value
    throw new RuleError(`an int is ${value}: it has more than 32 bits`)
  }

  #readLength(): number {
    const length = this.#reader.zigzag()
    if (typeof length === 'number' && length >= 0 && length <= this.#reader.left) return length
    throw new RuleError(`the data ends too early: a length is ${length}, and ${this.#reader.left} bytes are left`)
  }

  #readText(length: number): RuleText {
    this.#budget.countCreated(textCost + length)
    return toRuleText(this.#reader.take(length))
  }

  #readIndex(count: number, subject: string): number {
    const index = this.#reader.zigzag()
    if (typeof index === 'number' && index >= 0 && index < count) return index
    throw new RuleError(`there is no ${subject} with the number ${index} in the schema`)
  }

  /** Arrays and maps come in blocks. A block of a negative count says how many bytes it has. */
  #readBlocks(readItem: () => void): void {
    for (let count = this.#readBlockCount(); count > 0; count = this.#readBlockCount()) {
      // An item may have no bytes: each counts as a step, and there are not more than steps.
      for (let done = 0; done < count; done++) readItem()
    }
  }

  #readBlockCount(): number {
    const count: Integer = this.#reader.zigzag()
    if (typeof count !== 'number') throw new RuleError(`a block has ${count} items`)
    if (count < 0) this.#reader.zigzag()
    return Math.abs(count)
  }

  #readArray(items: AvroType, depth: number): RuleValue {
    const array: RuleValue[] = []
    this.#readBlocks(() => array.push(this.readValue(items, depth + 1)))
    return array
  }

  #readMap(values: AvroType, depth: number): RuleValue {
    this.#budget.countCreated(mapCost)
    const map: MapBuilder = {}
    this.#readBlocks(() => {
      const key = this.#readText(this.#readLength())
      if (typeof key !== 'string') throw new RuleError('a key of a map is not valid UTF-8')
      setKey(map, key, this.readValue(values, depth + 1))
    })
    return map
  }

  #readRecord({ fields }: Extract<AvroType, { kind: 'record' }>, depth: number): RuleValue {
    this.#budget.countCreated(mapCost)
    const map: MapBuilder = {}
    for (const { name, type } of fields) setKey(map, name, this.readValue(type, depth + 1))
    return map
  }
}
