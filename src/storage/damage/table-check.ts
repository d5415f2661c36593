// Verifies the checksums of a LevelDB table. LevelDB can do that, but its binding does not offer it. A damaged block is worse
// than unreadable: merged with others it may break the order of keys, which ends the process.
//
//   data block, ..., filter block, meta index block, index block, footer of 48 bytes
//   block  = content | compression, 1 byte | checksum of both, 4 bytes
//   footer = handle of the meta index | handle of the index | padding | magic, 8 bytes
//   handle = offset varint | size varint

import { open, readFile } from 'node:fs/promises'
import { computeMaskedCrc32c } from './crc32c.ts'
import { decompressSnappy, readVarint } from './decompress-snappy.ts'

const footerBytes = 48
const magic = Buffer.from('57fb808b247547db', 'hex')
const trailerBytes = 5
/** Maximum size of an index. Indexes of Godwit's tables are much smaller. */
const maxIndexBytes = 64 * 1_024 * 1_024
/** A compression type that LevelDB does not know: it skips the block. */
const unknownCompression = 0xff

/** Result of a check: valid, damaged blocks, or a damaged index. */
export type TableCheckResult =
  | { readonly state: 'valid' }
  | { readonly state: 'partly-damaged'; readonly badBlocks: readonly BlockHandle[]; readonly blockCount: number }
  | { readonly state: 'unusable' }

interface BlockHandle {
  readonly offset: number
  readonly bytes: number
}

/** Reads a table file and checks every block. Rejects with the file system's error if it cannot be read. */
export async function checkTable(path: string): Promise<TableCheckResult> {
  return checkTableContent(await readFile(path))
}

/** Returns whether footer and index of a table file are valid. Reads only these. */
export async function hasIndex(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size < footerBytes) return false
    const footer = Buffer.alloc(footerBytes)
    await file.read(footer, 0, footerBytes, size - footerBytes)
    const index = readIndexHandle(footer)
    if (index === undefined || index.offset + index.bytes + trailerBytes > size) return false
    const block = Buffer.alloc(index.bytes + trailerBytes)
    await file.read(block, 0, block.length, index.offset)
    return readIndexedBlocks(block, { offset: 0, bytes: index.bytes }) !== undefined
  } finally {
    await file.close()
  }
}

function readIndexHandle(footer: Buffer): BlockHandle | undefined {
  if (!footer.subarray(footerBytes - magic.length).equals(magic)) return undefined
  const metaIndex = readHandle(footer, 0)
  return metaIndex && readHandle(footer, metaIndex.next)
}

/** Makes LevelDB skip the damaged blocks of a table, by changing its content `table`. */
export function invalidateBlocks(table: Buffer, badBlocks: readonly BlockHandle[]): void {
  for (const { offset, bytes } of badBlocks) {
    if (offset + bytes < table.length) table[offset + bytes] = unknownCompression
  }
}

/** Checks every block of a table in memory. */
export function checkTableContent(table: Buffer): TableCheckResult {
  const unusable: TableCheckResult = { state: 'unusable' }
  const footerAt = table.length - footerBytes
  if (footerAt < 0) return unusable
  const metaIndex = readHandle(table, footerAt)
  const index = readIndexHandle(table.subarray(footerAt))
  if (metaIndex === undefined || index === undefined) return unusable
  const blocks = readIndexedBlocks(table, index)
  if (blocks === undefined) return unusable
  // A damaged filter would hide records. The filter is found through the meta index, which is made unreadable with it.
  const filters = readIndexedBlocks(table, metaIndex)
  const badBlocks = blocks.filter((block) => !isIntactBlock(table, block))
  if (filters === undefined || !filters.every((block) => isIntactBlock(table, block))) badBlocks.push(metaIndex)
  return badBlocks.length === 0 ? { state: 'valid' } : { state: 'partly-damaged', badBlocks, blockCount: blocks.length }
}

/** Returns the blocks that an index block names; undefined if it is damaged. */
function readIndexedBlocks(table: Buffer, index: BlockHandle): BlockHandle[] | undefined {
  if (!isIntactBlock(table, index)) return undefined
  const end = index.offset + index.bytes
  const content = table.subarray(index.offset, end)
  const entries = table[end] === 0 ? content : decompressSnappy(content, maxIndexBytes)
  return entries === undefined ? undefined : readEntryHandles(entries)
}

/**
 * Reads the values of a block's entries: shared varint, unshared varint, value length varint, rest of the key, value.
 */
function readEntryHandles(block: Buffer): BlockHandle[] | undefined {
  if (block.length < 4) return undefined
  const end = block.length - 4 * (1 + block.readUInt32LE(block.length - 4))
  const handles: BlockHandle[] = []
  let at = 0
  while (at < end) {
    const shared = readVarint(block, at)
    const unshared = shared && readVarint(block, shared.next)
    const valueBytes = unshared && readVarint(block, unshared.next)
    if (unshared === undefined || valueBytes === undefined) return undefined
    const valueAt = valueBytes.next + unshared.value
    const handle = readHandle(block, valueAt)
    if (handle === undefined) return undefined
    handles.push(handle)
    at = valueAt + valueBytes.value
  }
  return handles
}

function readHandle(bytes: Buffer, at: number): (BlockHandle & { readonly next: number }) | undefined {
  const offset = readVarint(bytes, at)
  const size = offset && readVarint(bytes, offset.next)
  return offset === undefined || size === undefined
    ? undefined
    : { offset: offset.value, bytes: size.value, next: size.next }
}

function isIntactBlock(table: Buffer, { offset, bytes }: BlockHandle): boolean {
  const end = offset + bytes
  if (end + trailerBytes > table.length) return false
  return computeMaskedCrc32c(table, offset, end + 1) === table.readUInt32LE(end + 1)
}
