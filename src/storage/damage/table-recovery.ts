// Rebuilds a table that has lost its footer or its index from its data blocks. Blocks are adjacent, so each valid block shows
// where the next one starts:
//
//   damaged   data block | data block | data block | filter | rest of meta index, index and footer
//   rebuilt   data block | data block | data block | empty meta index | new index | new footer
//
// Data blocks are copied unchanged, with the sequence numbers of their entries and with deletions, so LevelDB still prefers newer
// entries. The walk ends at the first damaged block and never searches for a later start: the bytes there may be a client's
// payload, which could look like a block with arbitrary records.

import { verifyChecksum } from '../encoding/checked-value.ts'
import { DamagedRecord } from '../encoding/record-byte-reader.ts'
import { findCheckedEnd, computeMaskedCrc32c } from './crc32c.ts'
import { decompressSnappyFrom, readVarint } from './decompress-snappy.ts'

const footerBytes = 48
const magic = Buffer.from('57fb808b247547db', 'hex')
const trailerBytes = 5
/** Sequence number and type of an entry, after its key. */
const tagBytes = 8
const compression = { none: 0, snappy: 1 } as const
/** Snappy produces at most 64 bytes from three. */
const maxExpansion = Math.ceil(64 / 3)

export interface RecoveredTable {
  /** The content of a table file that LevelDB can read. */
  readonly content: Buffer
  readonly blockCount: number
  /** No data block is missing: a valid block of another kind follows the last one. */
  readonly isWhole: boolean
}

interface Block {
  readonly offset: number
  /** Size of its content, without the trailer. */
  readonly bytes: number
  readonly lastKey: Buffer
}

/** Undefined if not even the first block can be read. */
export function recoverTable(table: Buffer): RecoveredTable | undefined {
  const blocks: Block[] = []
  let end = 0
  for (;;) {
    const block = findDataBlock(table, end, blocks.at(-1)?.lastKey)
    if (block === undefined) break
    blocks.push(block)
    end = block.offset + block.bytes + trailerBytes
  }
  if (blocks.length === 0) return undefined
  const content = Buffer.concat([table.subarray(0, end), ...encodeIndexAndFooter(blocks, end)])
  return { content, blockCount: blocks.length, isWhole: findCheckedEnd(table, end) !== undefined }
}

/**
 * Returns the data block that starts here; undefined if there is no valid one, or if its keys do not continue after
 * `previous`.
 */
function findDataBlock(table: Buffer, offset: number, previous: Buffer | undefined): Block | undefined {
  const plainEnd = findPlainBlockEnd(table, offset)
  if (plainEnd !== undefined && hasValidTrailer(table, offset, plainEnd, compression.none)) {
    const lastKey = readLastKey(table.subarray(offset, plainEnd), previous)
    return lastKey && { offset, bytes: plainEnd - offset, lastKey }
  }
  const decompressed = decompressSnappyFrom(table, offset, (table.length - offset) * maxExpansion)
  if (decompressed === undefined || !hasValidTrailer(table, offset, decompressed.end, compression.snappy))
    return undefined
  const lastKey = readLastKey(decompressed.output, previous)
  return lastKey && { offset, bytes: decompressed.end - offset, lastKey }
}

/** Returns whether the block ends with a valid trailer: the compression (one byte) and the checksum. */
function hasValidTrailer(table: Buffer, offset: number, end: number, compressedBy: number): boolean {
  if (end + trailerBytes > table.length || table[end] !== compressedBy) return false
  return computeMaskedCrc32c(table, offset, end + 1) === table.readUInt32LE(end + 1)
}

/**
 * Returns the end of an uncompressed block: entries, restart points (offsets of some entries; the first is 0), number of restart
 * points. No entry starts with four zeros.
 */
function findPlainBlockEnd(table: Buffer, start: number): number | undefined {
  let at = start
  while (at + 8 <= table.length && table.readUInt32LE(at) !== 0) {
    const entry = readEntry(table, at)
    if (entry === undefined) return undefined
    at = entry.next
  }
  for (let offsets = 1; at + 4 * offsets + 4 <= table.length; offsets++) {
    const next = table.readUInt32LE(at + 4 * offsets)
    if (next === offsets) return at + 4 * offsets + 4
    if (next >= at - start) return undefined
  }
  return undefined
}

interface Entry {
  readonly shared: number
  readonly keyAt: number
  readonly valueAt: number
  readonly next: number
}

/** An entry: bytes shared with the previous key, bytes not shared, bytes of the value (three varints), the rest of the key, the value. */
function readEntry(block: Buffer, at: number): Entry | undefined {
  const shared = readVarint(block, at)
  const unshared = shared && readVarint(block, shared.next)
  const valueBytes = unshared && readVarint(block, unshared.next)
  if (shared === undefined || unshared === undefined || valueBytes === undefined) return undefined
  const valueAt = valueBytes.next + unshared.value
  const next = valueAt + valueBytes.value
  return next > block.length ? undefined : { shared: shared.value, keyAt: valueBytes.next, valueAt, next }
}

/**
 * Returns the last key of a data block. Undefined if its keys are not in order, or if none of its values has a checksum of Godwit: then
 * it is an index block.
 */
function readLastKey(block: Buffer, previous: Buffer | undefined): Buffer | undefined {
  if (block.length < 4) return undefined
  const end = block.length - 4 * (1 + block.readUInt32LE(block.length - 4))
  let key = Buffer.alloc(0)
  let last = previous
  let puts = 0
  let validPuts = 0
  for (let at = 0; at < end;) {
    const entry = readEntry(block, at)
    if (entry === undefined || entry.shared > key.length) return undefined
    key = Buffer.concat([key.subarray(0, entry.shared), block.subarray(entry.keyAt, entry.valueAt)])
    if (key.length <= tagBytes || (last !== undefined && compareKeys(last, key) >= 0)) return undefined
    last = key
    if (isPut(key)) {
      puts += 1
      if (hasChecksum(key, block.subarray(entry.valueAt, entry.next))) validPuts += 1
    }
    at = entry.next
  }
  return validPuts > 0 || puts === 0 ? last : undefined
}

/** The order of LevelDB: by key, and for equal keys the newest first. */
function compareKeys(one: Buffer, other: Buffer): number {
  const byKey = Buffer.compare(one.subarray(0, -tagBytes), other.subarray(0, -tagBytes))
  if (byKey !== 0) return byKey
  const difference = other.readBigUInt64LE(other.length - tagBytes) - one.readBigUInt64LE(one.length - tagBytes)
  return difference === 0n ? 0 : difference > 0n ? 1 : -1
}

/** Returns whether the entry is a value: the tag of a deletion has 0 in place of 1. */
function isPut(key: Buffer): boolean {
  return key[key.length - tagBytes] === 1
}

function hasChecksum(key: Buffer, value: Buffer): boolean {
  try {
    verifyChecksum(key.subarray(0, -tagBytes), value)
    return true
  } catch (error) {
    if (error instanceof DamagedRecord) return false
    throw error
  }
}

/** Returns the meta index, the index and the footer of a table whose data blocks end at `at`. */
function encodeIndexAndFooter(blocks: readonly Block[], at: number): Buffer[] {
  const metaIndex = encodeBlock([])
  const index = encodeBlock(blocks.map(({ lastKey, offset, bytes }) => [lastKey, encodeHandle(offset, bytes)]))
  const metaIndexHandle = encodeHandle(at, metaIndex.length - trailerBytes)
  const indexHandle = encodeHandle(at + metaIndex.length, index.length - trailerBytes)
  const footer = Buffer.alloc(footerBytes)
  metaIndexHandle.copy(footer)
  indexHandle.copy(footer, metaIndexHandle.length)
  magic.copy(footer, footerBytes - magic.length)
  return [metaIndex, index, footer]
}

/** Returns an uncompressed block with its trailer. */
function encodeBlock(entries: readonly (readonly [key: Buffer, value: Buffer])[]): Buffer {
  const parts: Buffer[] = []
  const offsets = entries.length === 0 ? [0] : []
  let length = 0
  for (const [key, value] of entries) {
    offsets.push(length)
    const header = Buffer.concat([encodeVarint(0), encodeVarint(key.length), encodeVarint(value.length)])
    parts.push(header, key, value)
    length += header.length + key.length + value.length
  }
  const tail = Buffer.alloc(4 * offsets.length + 4 + trailerBytes)
  for (const [index, offset] of offsets.entries()) tail.writeUInt32LE(offset, 4 * index)
  tail.writeUInt32LE(offsets.length, 4 * offsets.length)
  const block = Buffer.concat([...parts, tail])
  block.writeUInt32LE(computeMaskedCrc32c(block, 0, block.length - 4), block.length - 4)
  return block
}

function encodeHandle(offset: number, bytes: number): Buffer {
  return Buffer.concat([encodeVarint(offset), encodeVarint(bytes)])
}

function encodeVarint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}
