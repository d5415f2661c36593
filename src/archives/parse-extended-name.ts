// Parses an extended header of pax. Tools write one before a member with a fractional time or a long name. Times and owners
// are ignored, a name is used, and any other key is refused, because it would change the member.
//
//   "30 mtime=1767000000.123456789\n" "25 path=a/long/name.json\n" ...     each starts with its length

import { InvalidArchive, quoteText } from './invalid-archive.ts'

/** Maximum bytes of one extended header. File names of the system have at most a few thousand bytes. */
export const maxExtendedBytes = 16_384

const harmless =
  /^(?:[acm]time|uid|gid|uname|gname|comment|LIBARCHIVE\..*|SCHILY\.(?:dev|ino|nlink|fflags|xattr\..*|acl\..*))$/

/** Returns the name of the next member; undefined: the header has no name. Throws InvalidArchive. */
export function parseExtendedName(content: Buffer): string | undefined {
  let name: string | undefined
  for (let start = 0; start < content.length;) {
    const space = content.indexOf(0x20, start)
    const length = space === -1 ? Number.NaN : parseLength(content.toString('latin1', start, space))
    const end = start + length
    if (!(end <= content.length) || space >= end || content[end - 1] !== 0x0a) {
      throw new InvalidArchive('an extended header is malformed')
    }
    const record = content.toString('utf8', space + 1, end - 1)
    const equals = record.indexOf('=')
    const key = record.slice(0, Math.max(0, equals))
    if (key === 'path') name = record.slice(equals + 1)
    else if (!harmless.test(key))
      throw new InvalidArchive(`an extended header has the key ${quoteText(key)}, which is not supported`)
    start = end
  }
  return name
}

function parseLength(digits: string): number {
  return /^[1-9]\d{0,5}$/.test(digits) ? Number(digits) : Number.NaN
}
