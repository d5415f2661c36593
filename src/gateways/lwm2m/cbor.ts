// Decodes CBOR [RFC 8949] as devices use it: integers, floats, strings, arrays, maps, simple values; tags are ignored.

export type CborValue = number | bigint | string | boolean | null | Buffer | CborValue[] | Map<CborValue, CborValue>

const maxDepth = 8
const maxItems = 4_096
const breakByte = 0xff

/** Undefined: invalid, too deep or too large. */
export function decodeCbor(bytes: Buffer): CborValue | undefined {
  const reader = new Reader(bytes)
  try {
    const value = reader.read(0)
    return reader.isAtEnd ? value : undefined
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

class Reader {
  readonly #bytes: Buffer
  #at = 0
  #items = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  /** Throws RangeError. */
  read(depth: number): CborValue {
    if (depth > maxDepth || ++this.#items > maxItems) throw new RangeError('too deep or too much')
    const head = this.#take(1).readUInt8(0)
    const major = head >> 5
    const minor = head & 31
    if (major === 7) return this.#readSimple(minor)
    const isOpen = minor === 31
    const argument = isOpen ? 0n : this.#readArgument(minor)
    switch (major) {
      case 0:
        return toPlainInteger(argument)
      case 1:
        return toPlainInteger(-1n - argument)
      case 2:
        return isOpen ? Buffer.concat(this.#readParts(depth)) : Buffer.from(this.#take(Number(argument)))
      case 3:
        return (isOpen ? Buffer.concat(this.#readParts(depth)) : this.#take(Number(argument))).toString('utf8')
      case 4:
        return this.#list(isOpen ? Infinity : Number(argument), depth)
      case 5:
        return this.#map(isOpen ? Infinity : Number(argument), depth)
      default:
        // A tag: its content is used.
        return this.read(depth + 1)
    }
  }

  #take(count: number): Buffer {
    const end = this.#at + count
    if (end > this.#bytes.length) throw new RangeError('truncated')
    const part = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return part
  }

  #readArgument(minor: number): bigint {
    if (minor < 24) return BigInt(minor)
    if (minor > 27) throw new RangeError('reserved')
    const size = 1 << (minor - 24)
    return size === 8 ? this.#take(8).readBigUInt64BE(0) : BigInt(this.#take(size).readUIntBE(0, size))
  }

  #readSimple(minor: number): CborValue {
    if (minor === 20 || minor === 21) return minor === 21
    if (minor === 25) return decodeHalfFloat(this.#take(2).readUInt16BE(0))
    if (minor === 26) return this.#take(4).readFloatBE(0)
    if (minor === 27) return this.#take(8).readDoubleBE(0)
    if (minor === 24) this.#take(1)
    if (minor > 27) throw new RangeError('reserved')
    return null
  }

  #isBreak(): boolean {
    if (this.#bytes[this.#at] !== breakByte) return false
    this.#at++
    return true
  }

  #readParts(depth: number): Buffer[] {
    return this.#list(Infinity, depth).map((part) => {
      if (typeof part === 'string') return Buffer.from(part)
      if (Buffer.isBuffer(part)) return part
      throw new RangeError('a part of a string is none')
    })
  }

  #list(count: number, depth: number): CborValue[] {
    const list: CborValue[] = []
    while (list.length < count) {
      if (count === Infinity && this.#isBreak()) break
      list.push(this.read(depth + 1))
    }
    return list
  }

  #map(count: number, depth: number): Map<CborValue, CborValue> {
    const map = new Map<CborValue, CborValue>()
    for (let at = 0; at < count; at++) {
      if (count === Infinity && this.#isBreak()) break
      map.set(this.read(depth + 1), this.read(depth + 1))
    }
    return map
  }
}

function toPlainInteger(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

/** [RFC 8949 appendix D] */
function decodeHalfFloat(bits: number): number {
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1_023
  const sign = bits >> 15 === 0 ? 1 : -1
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN
  return sign * (fraction + 1_024) * 2 ** (exponent - 25)
}
