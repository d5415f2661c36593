// Reads and writes the header blocks of tar archives. An archive may contain files and folders only, and pax headers that
// only set a name; links and devices are refused. Tar libraries are not used, because they read a pax header of
// any size into memory.
//
// Fields by offset, with their sizes in bytes:
//
//   0 name 100 | mode 8 | uid 8 | gid 8 | 124 size 12 | mtime 12 | 148 checksum 8 | 156 type | 157 link 100 |
//   257 magic 8 | user 32 | group 32 | device 16 | 345 prefix 155 | 500

import { InvalidArchive, quoteText } from './invalid-archive.ts'
import { maxExtendedBytes } from './parse-extended-name.ts'

export const blockBytes = 512

const nameBytes = 100
const prefixAt = 345
const prefixBytes = 155
const sizeAt = 124
const checksumAt = 148
const typeAt = 156
const magicAt = 257

export interface TarEntry {
  /** `extended`: the content is a pax header for the next entry. */
  readonly kind: 'file' | 'folder' | 'extended'
  readonly name: string
  /** Size of the content. */
  readonly bytes: number
}

/** Names of the types that are refused. */
const refusedTypes: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a device',
  '4': 'a device',
  '6': 'a pipe',
  '7': 'a file of a special kind',
  D: 'a list of names',
  g: 'a header for all that follows',
  K: 'a long link name',
  L: 'a long name',
  M: 'a part of a file',
  S: 'a file with holes',
  V: 'a label',
}

/** Parses a header block. Returns undefined for an empty block, which marks the end of an archive. Throws InvalidArchive. */
export function readHeader(block: Buffer): TarEntry | undefined {
  if (isEmpty(block)) return undefined
  if (readNumber(block, checksumAt, 8) !== computeChecksum(block))
    throw new InvalidArchive('it is not a tar archive, or it is damaged')
  const type = String.fromCharCode(block[typeAt] === 0 ? 0x30 : block[typeAt])
  const shortName = readText(block, 0, nameBytes)
  // The older GNU format has other fields in place of the prefix.
  const isPosix = block.toString('latin1', magicAt, magicAt + 6) === 'ustar\0'
  const prefix = isPosix ? readText(block, prefixAt, prefixBytes) : ''
  const name = prefix === '' ? shortName : `${prefix}/${shortName}`
  const bytes = readNumber(block, sizeAt, 12)
  if (bytes === undefined) throw new InvalidArchive(`the size of ${quoteText(name)} is not a number`)
  if (type === 'x') {
    if (bytes <= maxExtendedBytes) return { kind: 'extended', name, bytes }
    throw new InvalidArchive(`an extended header has ${bytes} bytes; maximum ${maxExtendedBytes}`)
  }
  if (type !== '0' && type !== '5') {
    const what = refusedTypes[type] ?? 'an entry of an unknown type'
    throw new InvalidArchive(`${quoteText(name)} is ${what}: only files and folders are allowed`)
  }
  if (type === '5' && bytes > 0) throw new InvalidArchive(`the folder ${quoteText(name)} has content`)
  return { kind: type === '5' ? 'folder' : 'file', name, bytes }
}

/** Returns the header of a file. Throws InvalidArchive if the name is too long. */
export function writeHeader(name: string, bytes: number, modifiedAtMs: number): Buffer {
  const block = Buffer.alloc(blockBytes)
  const [prefix, own] = splitName(name)
  block.write(own, 0, nameBytes, 'utf8')
  writeOctal(block, { at: 100, bytes: 8, value: 0o600 })
  writeOctal(block, { at: 108, bytes: 8, value: 0 })
  writeOctal(block, { at: 116, bytes: 8, value: 0 })
  writeSize(block, bytes)
  writeOctal(block, { at: 136, bytes: 12, value: Math.floor(modifiedAtMs / 1_000) })
  block.write('0', typeAt, 'latin1')
  block.write('ustar\u000000', magicAt, 'latin1')
  block.write(prefix, prefixAt, prefixBytes, 'utf8')
  block.write(`${computeChecksum(block).toString(8).padStart(6, '0')}\0 `, checksumAt, 'latin1')
  return block
}

/** Returns the number of bytes that fill the last block of a content. */
export function computePadding(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes
}

export function isEmpty(block: Buffer): boolean {
  return block.every((byte) => byte === 0)
}

function splitName(name: string): readonly [prefix: string, own: string] {
  if (Buffer.byteLength(name) <= nameBytes) return ['', name]
  for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) {
    const [prefix, own] = [name.slice(0, at), name.slice(at + 1)]
    if (Buffer.byteLength(own) <= nameBytes && Buffer.byteLength(prefix) <= prefixBytes) return [prefix, own]
  }
  throw new InvalidArchive(`the name ${quoteText(name)} is too long for an archive`)
}

const maxOctalSize = 0o77777777777

function writeSize(block: Buffer, value: number): void {
  if (value <= maxOctalSize) return writeOctal(block, { at: sizeAt, bytes: 12, value })
  block[sizeAt] = 0x80
  block.writeUIntBE(value, sizeAt + 6, 6)
}

function writeOctal(
  block: Buffer,
  { at, bytes, value }: { readonly at: number; readonly bytes: number; readonly value: number },
): void {
  block.write(`${value.toString(8).padStart(bytes - 1, '0')}\0`, at, 'latin1')
}

/** Reads a number in octal digits, or in the binary form of GNU; undefined if it is neither. */
function readNumber(block: Buffer, at: number, bytes: number): number | undefined {
  // If the first bit is set, the rest of the field is a binary number, too large for octal digits.
  if (block[at] === 0x80) {
    const high = block.subarray(at + 1, at + bytes - 6)
    return isEmpty(high) ? block.readUIntBE(at + bytes - 6, 6) : undefined
  }
  const text = block
    .toString('latin1', at, at + bytes)
    .replace(/[\0 ]+$/, '')
    .trimStart()
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : undefined
}

function readText(block: Buffer, at: number, bytes: number): string {
  const field = block.subarray(at, at + bytes)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end === -1 ? bytes : end)
}

/** Sum of all bytes, with the bytes of the checksum field counted as spaces. */
function computeChecksum(block: Buffer): number {
  let sum = 8 * 0x20
  for (let index = 0; index < blockBytes; index++)
    if (index < checksumAt || index >= checksumAt + 8) sum += block[index]
  return sum
}
