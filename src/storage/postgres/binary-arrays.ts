// Arrays of bytes in the binary form of PostgreSQL, in network byte order (array_recv in its sources). The library writes arrays as
// text, with two digits and an escape for each byte.
//
//   dimensions i32 = 1 | has nulls i32 = 0 | type of elements u32 = 17 (bytea) | count i32 | first index i32 = 1 | elements
//   element: length i32 | bytes

const byteaOid = 17
const headerBytes = 20
const lengthBytes = 4

/** Writes an array whose number of elements and bytes are known before. */
export class BinaryArray {
  readonly #bytes: Buffer
  #at = headerBytes

  /** `count`: at least 1. `elementBytes`: the sum of the lengths of all elements. */
  constructor(count: number, elementBytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(headerBytes + count * lengthBytes + elementBytes)
    this.#bytes.writeInt32BE(1, 0)
    this.#bytes.writeInt32BE(0, 4)
    this.#bytes.writeUInt32BE(byteaOid, 8)
    this.#bytes.writeInt32BE(count, 12)
    this.#bytes.writeInt32BE(1, 16)
  }

  add(element: Buffer): void {
    this.#at = this.#bytes.writeInt32BE(element.length, this.#at)
    element.copy(this.#bytes, this.#at)
    this.#at += element.length
  }

  /** Call it after all elements were added. */
  end(): Buffer {
    return this.#bytes.subarray(0, this.#at)
  }
}

/** Returns an array of keys; the empty array has no dimension. */
export function encodeByteArrays(elements: readonly Buffer[]): Buffer {
  if (elements.length === 0) return emptyArray
  const array = new BinaryArray(
    elements.length,
    elements.reduce((sum, { length }) => sum + length, 0),
  )
  for (const element of elements) array.add(element)
  return array.end()
}

const emptyArray = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byteaOid])
