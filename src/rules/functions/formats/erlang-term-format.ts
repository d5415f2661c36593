// The external term format of Erlang, version 131, for the values of the rule language.

import {
  type Budget,
  toBuffer,
  toBytes,
  isArray,
  isInteger,
  isMap,
  isNumber,
  isText,
  createLimitError,
  makeFloat,
  makeInteger,
  type MapBuilder,
  maxIntegerBits,
  maxValueDepth,
  RuleError,
  type RuleMap,
  type RuleValue,
  setKey,
  toRuleText,
  toFloat,
} from '../../../values/index.ts'

const tags = {
  version: 131,
  newFloat: 70,
  bitBinary: 77,
  smallInteger: 97,
  integer: 98,
  atom: 100,
  nil: 106,
  string: 107,
  list: 108,
  binary: 109,
  smallBig: 110,
  largeBig: 111,
  smallAtom: 115,
  map: 116,
  utf8Atom: 118,
  smallUtf8Atom: 119,
} as const

/** Bytes of the budget that an encoded value uses, besides its text: each value is a buffer until the end. */
const termCost = 64

/** Returns the term. Texts are binaries, `true`, `false`, `null` and `undefined` atoms, keys of maps binaries. */
export function encodeTerm(value: RuleValue, budget: Budget): Uint8Array {
  const pieces: Uint8Array[] = [Buffer.of(tags.version)]
  encode(value, pieces, budget, 0)
  return Buffer.concat(pieces)
}

function encode(value: RuleValue, pieces: Uint8Array[], budget: Budget, depth: number): void {
  checkDepth(depth)
  budget.countCreated(isText(value) ? value.length + termCost : termCost)
  if (isText(value)) pieces.push(withLength(tags.binary, toBytes(value).length), toBytes(value))
  else if (isInteger(value)) pieces.push(encodeInteger(value))
  else if (isNumber(value)) pieces.push(encodeFloat(toFloat(value)))
  else if (isArray(value)) encodeArray(value, pieces, budget, depth)
  else if (isMap(value)) encodeMap(value, pieces, budget, depth)
  else if (typeof value === 'object' && value !== null) throw new RuleError('term_encode: use whole bytes')
  else {
    const atom = Buffer.from(String(value), 'latin1')
    pieces.push(Buffer.of(tags.smallUtf8Atom, atom.length), atom)
  }
}

function checkDepth(depth: number): void {
  if (depth > 2 * maxValueDepth) throw createLimitError('the term is nested too deeply', 'maxValueDepth', maxValueDepth)
}

function withLength(tag: number, length: number): Buffer {
  const head = Buffer.alloc(5)
  head[0] = tag
  head.writeUInt32BE(length, 1)
  return head
}

function encodeInteger(value: number | bigint): Buffer {
  if (typeof value === 'number' && value >= 0 && value <= 255) return Buffer.of(tags.smallInteger, value)
  if (typeof value === 'number' && value >= -0x80_00_00_00 && value <= 0x7f_ff_ff_ff) {
    const small = withLength(tags.integer, 0)
    small.writeInt32BE(value, 1)
    return small
  }
  const big = BigInt(value)
  const hex = (big < 0n ? -big : big).toString(16)
  const digits = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').reverse()
  const sign = big < 0n ? 1 : 0
  if (digits.length < 256) return Buffer.concat([Buffer.of(tags.smallBig, digits.length, sign), digits])
  return Buffer.concat([withLength(tags.largeBig, digits.length), Buffer.of(sign), digits])
}

function encodeFloat(value: number): Buffer {
  const piece = Buffer.alloc(9)
  piece[0] = tags.newFloat
  piece.writeDoubleBE(value, 1)
  return piece
}

function encodeArray(array: readonly RuleValue[], pieces: Uint8Array[], budget: Budget, depth: number): void {
  if (array.length > 0) pieces.push(withLength(tags.list, array.length))
  for (const item of array) encode(item, pieces, budget, depth + 1)
  pieces.push(Buffer.of(tags.nil))
}

function encodeMap(map: RuleMap, pieces: Uint8Array[], budget: Budget, depth: number): void {
  const entries = Object.entries(map)
  pieces.push(withLength(tags.map, entries.length))
  for (const [key, member] of entries) {
    encode(key, pieces, budget, depth + 1)
    encode(member, pieces, budget, depth + 1)
  }
}

/** Returns the value of a term. Throws RuleError for damaged data and for kinds that the rule language does not have. */
export function decodeTerm(bytes: Uint8Array, budget: Budget): RuleValue {
  const reader = new TermReader(bytes, budget)
  return reader.readDocument()
}

class TermReader {
  readonly #bytes: Buffer
  readonly #budget: Budget
  #at = 0

  constructor(bytes: Uint8Array, budget: Budget) {
    this.#bytes = toBuffer(bytes)
    this.#budget = budget
  }

  readDocument(): RuleValue {
    if (this.#take(1)[0] !== tags.version) throw new RuleError('term_decode: the data is not an Erlang term')
    const value = this.#readTerm(0)
    if (this.#at < this.#bytes.length) throw new RuleError('term_decode: there is data after the term')
    return value
  }

  #take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new RuleError('term_decode: the data ends too early')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  #readTerm(depth: number): RuleValue {
    checkDepth(depth)
    this.#budget.countCreated(16)
    const tag = this.#take(1)[0]
    switch (tag) {
      case tags.smallInteger:
        return this.#take(1)[0]
      case tags.integer:
        return this.#take(4).readInt32BE()
      case tags.newFloat:
        return makeFloat(this.#take(8).readDoubleBE())
      case tags.binary:
        return toRuleText(Buffer.from(this.#take(this.#readLength(4))))
      case tags.nil:
        return []
      case tags.string:
        return [...this.#take(this.#readLength(2))]
      case tags.list:
        return this.#list(this.#readLength(4), depth)
      case tags.map:
        return this.#map(this.#readLength(4), depth)
      case tags.smallBig:
        return this.#readBigInteger(this.#readLength(1))
      case tags.largeBig:
        return this.#readBigInteger(this.#readLength(4))
      default:
        return this.#readAtom(tag)
    }
  }

  #readLength(bytes: 1 | 2 | 4): number {
    const length = this.#take(bytes).readUIntBE(0, bytes)
    // Also bounds the work for a list with a wrong length.
    if (length > this.#bytes.length) throw new RuleError('term_decode: the data ends too early')
    this.#budget.countCreated(8 * length)
    return length
  }

  #list(length: number, depth: number): RuleValue {
    const items: RuleValue[] = []
    for (let count = 0; count < length; count++) items.push(this.#readTerm(depth + 1))
    if (this.#take(1)[0] !== tags.nil) throw new RuleError('term_decode: improper lists are not supported')
    return items
  }

  #map(size: number, depth: number): RuleValue {
    const map: MapBuilder = {}
    for (let count = 0; count < size; count++) {
      const key = this.#readTerm(depth + 1)
      if (typeof key !== 'string') throw new RuleError('term_decode: a key of a map is not a text')
      setKey(map, key, this.#readTerm(depth + 1))
    }
    return map
  }

  #readBigInteger(length: number): RuleValue {
    const isNegative = this.#take(1)[0] !== 0
    const digits = Buffer.from(this.#take(length)).reverse().toString('hex')
    if (8 * length > maxIntegerBits + 8) throw createLimitError('integer too large', 'maxIntegerBits', maxIntegerBits)
    const value = BigInt(`0x${digits === '' ? '0' : digits}`)
    return makeInteger(isNegative ? -value : value)
  }

  /** Atoms other than the words of the rule language become texts. */
  #readAtom(tag: number): RuleValue {
    const isShort = tag === tags.smallAtom || tag === tags.smallUtf8Atom
    if (!isShort && tag !== tags.atom && tag !== tags.utf8Atom) {
      throw new RuleError(`term_decode: terms with tag ${tag} are not supported`)
    }
    const text = toRuleText(Buffer.from(this.#take(this.#readLength(isShort ? 1 : 2))))
    if (text === 'true') return true
    if (text === 'false') return false
    if (text === 'null') return null
    return text === 'undefined' ? undefined : text
  }
}
