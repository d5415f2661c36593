// Bytes as a template: hexadecimal digits with interpolated texts and buffers.
//
//   bytes`30 07 0003 ${'a/b'} ${'hi'}`

/** Spaces between digits are ignored. An interpolated value is inserted as its bytes (a text in UTF-8). */
export function bytes(digits: TemplateStringsArray, ...between: readonly (string | Uint8Array)[]): Buffer {
  const parts: Uint8Array[] = []
  for (const [index, text] of digits.entries()) {
    const wanted = text.replaceAll(/\s/g, '')
    const part = Buffer.from(wanted, 'hex')
    if (part.length * 2 !== wanted.length) throw new Error(`not hexadecimal: ${text}`)
    parts.push(part)
    const interpolated = between[index]
    if (interpolated !== undefined) parts.push(Buffer.from(interpolated as Uint8Array))
  }
  return Buffer.concat(parts)
}

/** Returns `body` after a fixed header of `firstByte` and the correct remaining length. */
export function frame(firstByte: number, body: Uint8Array): Buffer {
  const header = [firstByte]
  for (let rest = body.length; ; rest >>>= 7) {
    header.push(rest >= 0x80 ? (rest & 0x7f) | 0x80 : rest)
    if (rest < 0x80) break
  }
  return Buffer.concat([Buffer.from(header), body])
}
