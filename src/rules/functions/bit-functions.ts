// Functions on the bits of integers and texts.

import {
  toBuffer,
  toBytes,
  isText,
  getKind,
  createLimitError,
  makeFloat,
  makeInteger,
  maxIntegerBits,
  RuleBits,
  RuleError,
  type RuleValue,
  toRuleText,
} from '../../values/index.ts'
import { requireInteger, requireOption } from './arguments.ts'
import type { Call, FunctionDefinition, FunctionDefinitions } from './rule-function.ts'

function createIntegerFunction(description: string, compute: (x: bigint, y: bigint) => bigint): FunctionDefinition {
  return {
    signatures: ['x: integer, y: integer'],
    returns: 'integer',
    description,
    run: ([x, y]) => makeInteger(compute(BigInt(x as number), BigInt(y as number))),
  }
}

/** A negative count shifts in the other direction. */
function shift(x: bigint, count: bigint): bigint {
  if (count > maxIntegerBits && x !== 0n) throw createLimitError('integer too large', 'maxIntegerBits', maxIntegerBits)
  // A larger right shift has the same result, and would need memory.
  return count >= 0n ? x << count : x >> (count < -BigInt(2 * maxIntegerBits) ? BigInt(2 * maxIntegerBits) : -count)
}

function requireBits(value: RuleValue, name: string): RuleBits {
  if (value instanceof RuleBits) return value
  if (!isText(value)) throw new RuleError(`${name}: the value must be a text, not ${getKind(value)}`)
  const bytes = toBytes(value)
  return new RuleBits(bytes, 8 * bytes.length)
}

interface BitFormat {
  readonly type: 'integer' | 'float' | 'bits'
  readonly isSigned: boolean
  readonly isLittle: boolean
}

function toBitFormat(type: RuleValue, signedness: RuleValue, endianness: RuleValue): BitFormat {
  return {
    type: requireOption(type, 'subbits: the type', ['integer', 'float', 'bits']),
    isSigned: requireOption(signedness, 'subbits: the signedness', ['unsigned', 'signed']) === 'signed',
    isLittle: requireOption(endianness, 'subbits: the endianness', ['big', 'little']) === 'little',
  }
}

/** The first bit has the position 1. At the end, fewer bits are taken than were requested. */
function subbits(args: readonly RuleValue[], { budget }: Call): RuleValue {
  const [value, start, length, type = 'integer', signedness = 'unsigned', endianness = 'big'] =
    args.length === 2 ? [args[0], 1, args[1]] : args
  const format = toBitFormat(type, signedness, endianness)
  const source = requireBits(value, 'subbits')
  const count = requireInteger(length, 'subbits: length', 0, Number.MAX_SAFE_INTEGER)
  if (typeof start !== 'number' || start < 1 || start > source.length) return undefined
  const taken = Math.min(count, source.length - start + 1)
  budget.countCreated(taken)
  const bytes = copyBits(source.bytes, start - 1, taken)
  if (format.type === 'bits') return taken % 8 === 0 ? toRuleText(bytes) : new RuleBits(bytes, taken)
  return format.type === 'float' ? decodeFloat(bytes, taken, format.isLittle) : decodeInteger(bytes, taken, format)
}

/** Copies bits to the start of new bytes. The rest of the last byte is zero. */
function copyBits(bytes: Uint8Array, from: number, count: number): Uint8Array {
  const copy = new Uint8Array(Math.ceil(count / 8))
  const [first, offset] = [Math.floor(from / 8), from % 8]
  for (let at = 0; at < copy.length; at++) {
    copy[at] = (bytes[first + at] << offset) | ((bytes[first + at + 1] ?? 0) >> (8 - offset))
  }
  const unused = 8 * copy.length - count
  if (unused > 0) copy[copy.length - 1] &= 0xff << unused
  return copy
}

function decodeInteger(bytes: Uint8Array, length: number, { isSigned, isLittle }: BitFormat): RuleValue {
  if (length > maxIntegerBits) throw createLimitError('integer too large', 'maxIntegerBits', maxIntegerBits)
  const value = isLittle ? decodeLittleEndian(bytes, length) : decodeBigEndian(bytes, length)
  return makeInteger(isSigned ? BigInt.asIntN(length, value) : value)
}

function decodeBigEndian(bytes: Uint8Array, length: number): bigint {
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  return value >> BigInt(8 * bytes.length - length)
}

/** If the length is not a multiple of 8, the last byte holds the most significant bits. */
function decodeLittleEndian(bytes: Uint8Array, length: number): bigint {
  let value = 0n
  for (let at = bytes.length - 1; at >= 0; at--) {
    const isPartial = 8 * (at + 1) > length
    const part = isPartial ? bytes[at] >> (8 * (at + 1) - length) : bytes[at]
    value = (value << 8n) | BigInt(part)
  }
  return value
}

function decodeFloat(bytes: Uint8Array, length: number, isLittle: boolean): RuleValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  switch (length) {
    case 64:
      return makeFloat(view.getFloat64(0, isLittle))
    case 32:
      return makeFloat(view.getFloat32(0, isLittle))
    case 16:
      return makeFloat(decodeHalfFloat(view.getUint16(0, isLittle)))
    default:
      throw new RuleError(`subbits: a float has 16, 32 or 64 bits, not ${length}`)
  }
}

/** The value of a float of 16 bits: sign, 5 bits of exponent, 10 bits of fraction. */
function decodeHalfFloat(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

const subbitsBase = 'value: any, start: integer, length: integer'

export const bitFunctions: FunctionDefinitions = {
  bitand: createIntegerFunction('Bits that both integers have.', (x, y) => x & y),
  bitor: createIntegerFunction('Bits that at least one integer has.', (x, y) => x | y),
  bitxor: createIntegerFunction('Bits that exactly one integer has.', (x, y) => x ^ y),
  bitnot: {
    signatures: ['x: integer'],
    returns: 'integer',
    description: 'All bits inverted: -x - 1.',
    run: ([x]) => makeInteger(~BigInt(x as number)),
  },
  bitsl: createIntegerFunction('x shifted left by y bits.', shift),
  bitsr: createIntegerFunction('x shifted right by y bits.', (x, y) => shift(x, -y)),
  bitsize: {
    signatures: ['value: any'],
    returns: 'integer',
    description: 'Number of bits of a text or of a sequence of bits.',
    run: ([value]) => requireBits(value, 'bitsize').length,
  },
  bytesize: {
    signatures: ['text: bytes'],
    returns: 'integer',
    description: 'Number of bytes of a text.',
    run: ([bytes]) => toBuffer(bytes as Uint8Array).length,
  },
  subbits: {
    signatures: [
      'value: any, length: integer',
      subbitsBase,
      `${subbitsBase}, type: text`,
      `${subbitsBase}, type: text, signedness: text`,
      `${subbitsBase}, type: text, signedness: text, endianness: text`,
    ],
    returns: 'integer',
    description:
      'Bits from a position as `integer`, `float` or `bits`, `unsigned` or `signed`, `big` or `little`; undefined beyond the end.',
    run: subbits,
  },
}
