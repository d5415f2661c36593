// Reads data that is compressed with Snappy, independently of the product.

import assert from 'node:assert/strict'

export function decompress(input: Buffer): Buffer {
  let at = 0
  let length = 0
  for (let shift = 0; ; shift += 7) {
    const byte = input[at++] ?? 0
    length += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) break
  }
  const output: number[] = []
  while (at < input.length) {
    const tag = input[at++] ?? 0
    if ((tag & 3) === 0) {
      let size = tag >> 2
      if (size >= 60) {
        const bytes = size - 59
        size = input.readUIntLE(at, bytes)
        at += bytes
      }
      for (let count = 0; count <= size; count++) output.push(input[at++] ?? -1)
    } else {
      assert.equal(tag & 3, 2, 'copies of two bytes are all that is written')
      const size = (tag >> 2) + 1
      const distance = input.readUInt16LE(at)
      at += 2
      for (let count = 0; count < size; count++) output.push(output[output.length - distance] ?? -1)
    }
  }
  assert.equal(output.length, length)
  return Buffer.from(output)
}
