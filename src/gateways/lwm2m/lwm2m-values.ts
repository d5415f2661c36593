// Resource values in JSON by type: bytes are base64, links are `1:0`, times are seconds.

import type { ResourceType } from './resource-type.ts'
import type { ObjectPath } from './lwm2m-path.ts'

export type JsonValue = string | number | boolean

export interface ResourceValue {
  readonly path: ObjectPath
  readonly value: JsonValue
}

const linkBytes = 4

/** Bytes of a TLV or of an opaque payload. */
export function decodeValue(bytes: Buffer, type: ResourceType | undefined): JsonValue {
  switch (type) {
    case 'Integer':
    case 'Time':
      return decodeInteger(bytes) ?? bytes.toString('base64')
    case 'Float':
      if (bytes.length === 4) return toJsonNumber(bytes.readFloatBE(0))
      return bytes.length === 8 ? toJsonNumber(bytes.readDoubleBE(0)) : bytes.toString('base64')
    case 'Boolean':
      return bytes.length === 1 && bytes[0] === 1
    case 'Objlnk':
      return bytes.length === linkBytes ? `${bytes.readUInt16BE(0)}:${bytes.readUInt16BE(2)}` : bytes.toString('base64')
    case 'Opaque':
      return bytes.toString('base64')
    case 'String':
      return bytes.toString('utf8')
    case undefined:
      return toTextOrBase64(bytes)
    default:
      return type satisfies never
  }
}

/** JSON has no NaN and no infinity. */
export function toJsonNumber(value: number): JsonValue {
  return Number.isFinite(value) ? value : String(value)
}

function toTextOrBase64(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  const isText = Buffer.from(text).equals(bytes) && !bytes.some((octet) => octet < 9)
  return isText ? text : bytes.toString('base64')
}

function decodeInteger(bytes: Buffer): number | string | undefined {
  if (bytes.length !== 1 && bytes.length !== 2 && bytes.length !== 4 && bytes.length !== 8) return undefined
  if (bytes.length < 8) return bytes.readIntBE(0, bytes.length)
  const value = bytes.readBigInt64BE(0)
  return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
}

/** Parses a text payload [LwM2M 1.1 Core 7.4.1]. */
export function parseValue(text: string, type: ResourceType | undefined): JsonValue {
  if (type === 'Boolean') return text === '1' || text === 'true'
  if ((type === 'Integer' || type === 'Float' || type === 'Time') && /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) {
    const value = Number(text)
    return type === 'Float' || Number.isSafeInteger(value) ? toJsonNumber(value) : text
  }
  return text
}

/** Undefined: the value does not have this type. */
export function encodeValue(value: unknown, type: string): Buffer | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const text = String(value)
  switch (type) {
    case 'String':
      return Buffer.from(text)
    case 'Opaque':
      return Buffer.from(text, 'base64')
    case 'Boolean':
      return /^(true|1)$/.test(text) ? Buffer.of(1) : /^(false|0)$/.test(text) ? Buffer.of(0) : undefined
    case 'Integer':
    case 'Time':
      return /^[+-]?\d{1,19}$/.test(text) ? encodeShortestInteger(BigInt(text)) : undefined
    case 'Float': {
      const number = text.trim() === '' ? Number.NaN : Number(text)
      if (!Number.isFinite(number)) return undefined
      const single = Math.fround(number) === number
      const bytes = Buffer.alloc(single ? 4 : 8)
      if (single) bytes.writeFloatBE(number)
      else bytes.writeDoubleBE(number)
      return bytes
    }
    case 'Objlnk': {
      const [, object, instance] = /^(\d{1,5}):(\d{1,5})$/.exec(text) ?? []
      if (object === undefined || Number(object) > 0xffff || Number(instance) > 0xffff) return undefined
      const bytes = Buffer.alloc(linkBytes)
      bytes.writeUInt16BE(Number(object), 0)
      bytes.writeUInt16BE(Number(instance), 2)
      return bytes
    }
    default:
      return undefined
  }
}

/** With 1, 2, 4 or 8 bytes. */
function encodeShortestInteger(value: bigint): Buffer | undefined {
  const bytes = [1, 2, 4, 8].find((size) => BigInt.asIntN(size * 8, value) === value)
  if (bytes === undefined) return undefined
  const eight = Buffer.alloc(8)
  eight.writeBigInt64BE(value)
  return eight.subarray(8 - bytes)
}
