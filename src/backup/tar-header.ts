// The blocks of a tar archive that say what comes next. Only plain files and folders are known, and headers of pax that
// alter nothing but a name: no links, no devices. A reader of its own, as those of libraries gather such headers in memory
// however long they say that they are.
//
//   0 name 100 | mode 8 | uid 8 | gid 8 | 124 size 12 | mtime 12 | 148 sum 8 | 156 kind | 157 link 100 |
//   257 magic 8 | user 32 | group 32 | device 16 | 345 prefix 155 | 500

import { InvalidArchive, quoteText } from './invalid-archive.ts'
import { maxExtendedBytes } from './extended-header.ts'

export const blockBytes = 512

const nameBytes = 100
const prefixAt = 345
const prefixBytes = 155
const sizeAt = 124
const sumAt = 148
const kindAt = 156
const magicAt = 257

export interface TarEntry {
  /** `extended`: its content is about the next one. */
  readonly kind: 'file' | 'folder' | 'extended'
  readonly name: string
  readonly bytes: number
}

const kindNames: Readonly<Record<string, string>> = {
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

/** What the block says. undefined: it is empty, as at the end. Throws InvalidArchive. */
export function readHeader(block: Buffer): TarEntry | undefined {
  if (isEmpty(block)) return undefined
  if (readNumber(block, sumAt, 8) !== sumOf(block)) throw new InvalidArchive('it is no tar archive, or it is damaged')
  const kind = String.fromCharCode(block[kindAt] === 0 ? 0x30 : block[kindAt])
  const own = readText(block, 0, nameBytes)
  // The older format of GNU has other things where the prefix would be.
  const isPosix = block.toString('latin1', magicAt, magicAt + 6) === 'ustar\0'
  const prefix = isPosix ? readText(block, prefixAt, prefixBytes) : ''
  const name = prefix === '' ? own : `${prefix}/${own}`
  const bytes = readNumber(block, sizeAt, 12)
  if (bytes === undefined) throw new InvalidArchive(`the size of ${quoteText(name)} is no number`)
  if (kind === 'x') {
    if (bytes <= maxExtendedBytes) return { kind: 'extended', name, bytes }
    throw new InvalidArchive(`an extended header has ${bytes} bytes, and ${maxExtendedBytes} are enough`)
  }
  if (kind !== '0' && kind !== '5') {
    const what = kindNames[kind] ?? 'an unknown kind of member'
    throw new InvalidArchive(`${quoteText(name)} is ${what}: there may be plain files and folders only`)
  }
  if (kind === '5' && bytes > 0) throw new InvalidArchive(`the folder ${quoteText(name)} has content`)
  return { kind: kind === '5' ? 'folder' : 'file', name, bytes }
}

/** Of a plain file. The name must fit. */
export function writeHeader(name: string, bytes: number, modifiedAtMs: number): Buffer {
  const block = Buffer.alloc(blockBytes)
  const [prefix, own] = splitName(name)
  block.write(own, 0, nameBytes, 'utf8')
  writeOctal(block, { at: 100, bytes: 8, value: 0o600 })
  writeOctal(block, { at: 108, bytes: 8, value: 0 })
  writeOctal(block, { at: 116, bytes: 8, value: 0 })
  writeSize(block, bytes)
  writeOctal(block, { at: 136, bytes: 12, value: Math.floor(modifiedAtMs / 1_000) })
  block.write('0', kindAt, 'latin1')
  block.write('ustar\u000000', magicAt, 'latin1')
  block.write(prefix, prefixAt, prefixBytes, 'utf8')
  block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, sumAt, 'latin1')
  return block
}

/** Bytes that are missing to a whole block. */
export function paddingOf(bytes: number): number {
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

/** undefined: there is no number. */
function readNumber(block: Buffer, at: number, bytes: number): number | undefined {
  // Beyond what octal digits can say, the first bit is set and the rest is binary.
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

/** Of all bytes, those of the sum itself counted as spaces. */
function sumOf(block: Buffer): number {
  let sum = 8 * 0x20
  for (let index = 0; index < blockBytes; index++) if (index < sumAt || index >= sumAt + 8) sum += block[index]
  return sum
}
