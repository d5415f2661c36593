// Values of the rule language, in the representation that costs least for common values:
//
//   text       string if it is valid UTF-8, else Uint8Array. A Uint8Array never contains valid UTF-8.
//   integer    number with an integer value that is safe, else bigint
//   float      number with a fraction, else RuleFloat: `2.0` is not the integer 2
//   bits       RuleBits: only if the length is not a multiple of 8, else text
//   undefined  a missing column or key. JSON null is a value of its own.
//
// Values are never changed after creation.

import { isUtf8 } from '../protocol/index.ts'
import { RuleError } from './errors/rule-error.ts'

export type RuleText = string | Uint8Array
export type RuleNumber = number | bigint | RuleFloat
export type RuleArray = readonly RuleValue[]
export interface RuleMap {
  readonly [key: string]: RuleValue
}
export type RuleValue = undefined | null | boolean | RuleNumber | RuleText | RuleBits | RuleArray | RuleMap

export type ValueKind = 'undefined' | 'null' | 'boolean' | 'integer' | 'float' | 'text' | 'bits' | 'array' | 'map'

/** A float with an integer value, for example 2.0 or 1e300. */
export class RuleFloat {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** A sequence of bits whose length is not a multiple of 8. The last byte is filled with zeros. */
export class RuleBits {
  readonly bytes: Uint8Array
  readonly length: number

  constructor(bytes: Uint8Array, length: number) {
    this.bytes = bytes
    this.length = length
  }
}

export function getKind(value: RuleValue): ValueKind {
  switch (typeof value) {
    case 'undefined':
      return 'undefined'
    case 'boolean':
      return 'boolean'
    case 'bigint':
      return 'integer'
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'float'
    case 'string':
      return 'text'
    default:
      return getObjectKind(value)
  }
}

function getObjectKind(value: RuleValue): ValueKind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (value instanceof RuleFloat) return 'float'
  if (value instanceof Uint8Array) return 'text'
  return value instanceof RuleBits ? 'bits' : 'map'
}

export function isText(value: RuleValue): value is RuleText {
  return typeof value === 'string' || value instanceof Uint8Array
}

export function isArray(value: RuleValue): value is RuleArray {
  return Array.isArray(value)
}

export function isMap(value: RuleValue): value is RuleMap {
  return typeof value === 'object' && value !== null && getObjectKind(value) === 'map'
}

/** Returns the canonical text for `bytes`: a string if they are valid UTF-8. The bytes must not change later. */
export function toRuleText(bytes: Uint8Array): RuleText {
  const buffer = toBuffer(bytes)
  const text = buffer.toString('utf8')
  // U+FFFD stands for invalid bytes, or for itself.
  return text.includes('\ufffd') && !isUtf8(buffer, 0, buffer.length) ? bytes : text
}

export function toBytes(text: RuleText): Uint8Array {
  return typeof text === 'string' ? Buffer.from(text, 'utf8') : text
}

/** Returns a Buffer over the same memory. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** Returns the number of bytes of a text. */
export function countBytes(text: RuleText): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : text.length
}

/** Own members only: `constructor` or `__proto__` of an object from outside is not a member unless it was sent. */
export function getKey(map: RuleMap, key: string): RuleValue {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

/** A map under construction. Only its creator holds it. */
export interface MapBuilder {
  [key: string]: RuleValue
}

/** Sets a member of a map under construction. `__proto__` becomes a member like others. */
export function setKey(map: MapBuilder, key: string, value: RuleValue): void {
  if (key === '__proto__')
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true })
  else map[key] = value
}

/** Returns a copy of `map` with one member set. */
export function withKey(map: RuleMap, key: string, value: RuleValue): RuleMap {
  const copy: MapBuilder = { ...map }
  setKey(copy, key, value)
  return copy
}

/** Returns the text as a string. Throws if it is not valid UTF-8. */
export function requireString(text: RuleText, subject: string): string {
  if (typeof text === 'string') return text
  throw new RuleError(`${subject} is not valid UTF-8`)
}
