// Compresses in Snappy's block format: the length, then literals and copies of earlier data, each after a tag.

const literalTag = 0
const copyTag = 2
const shortestCopy = 4
const longestCopy = 64
/** Maximum distance of a copy with an offset of two bytes. */
const blockBytes = 65_536
const hashBits = 14
const hashFactor = 0x1e35a7bd

export function compressSnappy(input: Buffer): Buffer {
  const output = new Writer(input.length)
  output.varint(input.length)
  const positions = new Int32Array(1 << hashBits)
  for (let start = 0; start < input.length; start += blockBytes) {
    compressBlock(input.subarray(start, start + blockBytes), output, positions.fill(-1))
  }
  return output.toBytes()
}

function compressBlock(block: Buffer, output: Writer, positions: Int32Array): void {
  let written = 0
  let at = 0
  while (at + shortestCopy <= block.length) {
    const hash = Math.imul(block.readUInt32LE(at), hashFactor) >>> (32 - hashBits)
    const candidate = positions[hash] ?? -1
    positions[hash] = at
    const length = candidate < 0 ? 0 : countSharedBytes(block, candidate, at)
    if (length < shortestCopy) {
      at++
      continue
    }
    output.literal(block.subarray(written, at))
    output.copy(at - candidate, length)
    at += length
    written = at
  }
  output.literal(block.subarray(written))
}

function countSharedBytes(block: Buffer, first: number, second: number): number {
  let length = 0
  while (second + length < block.length && block[first + length] === block[second + length]) length++
  return length
}

class Writer {
  readonly #bytes: Buffer
  #at = 0

  constructor(inputLength: number) {
    // Maximum size of a block: literals only, with their tags.
    this.#bytes = Buffer.alloc(32 + inputLength + Math.ceil(inputLength / 6))
  }

  varint(value: number): void {
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80
    this.#bytes[this.#at++] = rest
  }

  literal(bytes: Buffer): void {
    if (bytes.length === 0) return
    const last = bytes.length - 1
    if (last < 60) this.#bytes[this.#at++] = (last << 2) | literalTag
    else if (last < 0x100) {
      this.#bytes[this.#at++] = (60 << 2) | literalTag
      this.#bytes[this.#at++] = last
    } else {
      this.#bytes[this.#at++] = (61 << 2) | literalTag
      this.#at = this.#bytes.writeUInt16LE(last, this.#at)
    }
    this.#at += bytes.copy(this.#bytes, this.#at)
  }

  copy(distance: number, length: number): void {
    for (let rest = length; rest > 0;) {
      const part = Math.min(rest, longestCopy)
      this.#bytes[this.#at++] = ((part - 1) << 2) | copyTag
      this.#at = this.#bytes.writeUInt16LE(distance, this.#at)
      rest -= part
    }
  }

  toBytes(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }
}
