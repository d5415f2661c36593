// Reads DER as in certificates and revocation lists: a tag of one byte, a length of up to five bytes, and the content.

/** A position in the bytes. Bytes are copied only when needed, because most parts of a list are never read. */
export interface Part {
  readonly tag: number
  readonly around: Buffer
  /** Position of the tag. */
  readonly from: number
  /** Position of the content. */
  readonly start: number
  readonly end: number
}

/** The bytes are not valid DER. */
export class MalformedDer extends Error {}

export const derTags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  bytes: 0x04,
  identifier: 0x06,
  utcTime: 0x17,
  time: 0x18,
  sequence: 0x30,
  /** Constructed, context-specific: optional fields of the standard by their number. */
  context0: 0xa0,
  context3: 0xa3,
} as const

/** Returns the content of a part that must have this tag. */
export function readContent(part: Part | undefined, tag: number): Buffer {
  if (part?.tag !== tag) throw new MalformedDer('it cannot be read')
  return sliceContent(part)
}

/** Returns the content of a part. */
export function sliceContent({ around, start, end }: Part): Buffer {
  return around.subarray(start, end)
}

/** Returns the part with tag and length. */
export function readWhole(part: Part | undefined, tag: number): Buffer {
  if (part?.tag !== tag) throw new MalformedDer('it cannot be read')
  return part.around.subarray(part.from, part.end)
}

/** Returns the content of the single sequence in these bytes. */
export function readSequence(bytes: Buffer): Buffer {
  const [only, ...others] = parseParts(bytes)
  if (others.length > 0) throw new MalformedDer('it cannot be read')
  return readContent(only, derTags.sequence)
}

/** Returns the adjacent parts in these bytes. */
export function parseParts(bytes: Buffer): Part[] {
  const parts: Part[] = []
  for (let at = 0; at < bytes.length;) {
    const short = bytes[at + 1] ?? 0x80
    const lengthBytes = short < 0x80 ? 0 : short - 0x80
    const start = at + 2 + lengthBytes
    if ((short >= 0x80 && (lengthBytes === 0 || lengthBytes > 4)) || start > bytes.length)
      throw new MalformedDer('it cannot be read')
    const end = start + (lengthBytes === 0 ? short : bytes.readUIntBE(at + 2, lengthBytes))
    if (end > bytes.length) throw new MalformedDer('it cannot be read')
    parts.push({ tag: bytes[at] ?? 0, around: bytes, from: at, start, end })
    at = end
  }
  return parts
}
