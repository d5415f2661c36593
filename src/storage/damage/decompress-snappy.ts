// Decompresses Snappy, which LevelDB may use for the blocks of a table. Only the raw format is implemented, without frames.
//
//   length varint | elements: tag's low bits 00 literal, 01 10 11 copy of earlier output

/** Returns the decompressed bytes; undefined if `bytes` is not valid Snappy or has more than `maxBytes`. */
export function decompressSnappy(bytes: Uint8Array, maxBytes: number): Buffer | undefined {
  const decompressed = decompressSnappyFrom(bytes, 0, maxBytes)
  return decompressed?.end === bytes.length ? decompressed.output : undefined
}

/**
 * Decompresses bytes from `start` on whose compressed length is not known. `end`: position after the compressed bytes.
 */
export function decompressSnappyFrom(
  bytes: Uint8Array,
  start: number,
  maxBytes: number,
): { readonly output: Buffer; readonly end: number } | undefined {
  const header = readVarint(bytes, start)
  if (header === undefined || header.value > maxBytes) return undefined
  const output = Buffer.alloc(header.value)
  let at = header.next
  let length = 0
  while (length < output.length && at < bytes.length) {
    const element = readElement(bytes, at)
    if (element === undefined || length + element.length > output.length) return undefined
    if (element.offset === 0) {
      if (element.next + element.length > bytes.length) return undefined
      output.set(bytes.subarray(element.next, element.next + element.length), length)
      at = element.next + element.length
    } else {
      if (element.offset > length) return undefined
      // A copy may overlap its own output: copied byte by byte, it repeats.
      for (let index = 0; index < element.length; index++) {
        output[length + index] = output[length + index - element.offset] ?? 0
      }
      at = element.next
    }
    length += element.length
  }
  return length === output.length ? { output, end: at } : undefined
}

/**
 * Returns the varint at `start`, as LevelDB and Snappy write it, and the position after it. Undefined if it has more
 * than five bytes or the data ends before it. Values have up to 35 bits.
 */
export function readVarint(bytes: Uint8Array, start: number): { value: number; next: number } | undefined {
  let value = 0
  for (let index = 0; index < 5; index++) {
    const next = bytes[start + index]
    if (next === undefined) return undefined
    value += (next & 0x7f) * 2 ** (7 * index)
    if (next < 0x80) return { value, next: start + index + 1 }
  }
  return undefined
}

interface Element {
  readonly length: number
  /** Distance of a copy; 0: a literal, whose bytes follow. */
  readonly offset: number
  readonly next: number
}

function readElement(bytes: Uint8Array, at: number): Element | undefined {
  const tag = bytes[at] ?? 0
  const high = tag >>> 2
  switch (tag & 0x03) {
    case 0: {
      const extra = Math.max(0, high - 59)
      const length = extra === 0 ? high : readLittleEndian(bytes, at + 1, extra)
      return { length: length + 1, offset: 0, next: at + 1 + extra }
    }
    case 1:
      return createCopyElement(4 + (high & 0x07), ((tag >>> 5) << 8) | readLittleEndian(bytes, at + 1, 1), at + 2)
    case 2:
      return createCopyElement(high + 1, readLittleEndian(bytes, at + 1, 2), at + 3)
    default:
      return createCopyElement(high + 1, readLittleEndian(bytes, at + 1, 4), at + 5)
  }
}

function createCopyElement(length: number, offset: number, next: number): Element | undefined {
  return offset === 0 ? undefined : { length, offset, next }
}

function readLittleEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let index = 0; index < count; index++) value += (bytes[at + index] ?? 0) * 2 ** (8 * index)
  return value
}
