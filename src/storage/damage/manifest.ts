// Reads LevelDB's list of its files before the database is opened. LevelDB does not detect an old list: it deletes or overwrites
// tables that the list does not contain.
//
//   file      blocks of 32 KiB: fragment, fragment, ... , less than 7 bytes unused
//   fragment  checksum of type and content u32 | length u16 | type: 1 whole, 2 first, 3 middle, 4 last | content
//   edit      tag varint and its fields, repeated: 2 number of the log, 6 a table is removed, 7 a table is added, ...

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { computeMaskedCrc32c } from './crc32c.ts'

const blockBytes = 32_768
const headerBytes = 7

/** The files that a database needs. */
export interface NeededFiles {
  /** Number of the oldest log whose records are not in tables; 0 for a new database. */
  log: number
  /** The size in bytes of each table by its number. */
  readonly tables: Map<number, number>
}

/** Returns the content of the list; undefined if it is unreadable, which LevelDB reports itself. */
export async function readNeededFiles(directory: string): Promise<NeededFiles | undefined> {
  try {
    const name = (await readFile(join(directory, 'CURRENT'), 'utf8')).trimEnd()
    return replayManifest(await readFile(join(directory, name)))
  } catch (error) {
    if (error instanceof RangeError || (error instanceof Error && 'code' in error)) return undefined
    throw error
  }
}

function replayManifest(manifest: Buffer): NeededFiles | undefined {
  const needed: NeededFiles = { log: 0, tables: new Map() }
  let edit: Buffer[] = []
  let at = 0
  while (at + headerBytes <= manifest.length) {
    const leftInBlock = blockBytes - (at % blockBytes)
    if (leftInBlock < headerBytes) {
      at += leftInBlock
      continue
    }
    const bytes = manifest.readUInt16LE(at + 4)
    const type = manifest[at + 6] ?? 0
    const end = at + headerBytes + bytes
    if (end > manifest.length) break // A fragment that a kill truncated was not in effect.
    if (type < 1 || type > 4 || computeMaskedCrc32c(manifest, at + 6, end) !== manifest.readUInt32LE(at))
      return undefined
    if (type <= 2) edit = []
    edit.push(manifest.subarray(at + headerBytes, end))
    if (type === 1 || type === 4) applyEdit(new EditReader(Buffer.concat(edit)), needed)
    at = end
  }
  return needed
}

/** Throws RangeError for a tag that LevelDB does not have. */
function applyEdit(edit: EditReader, needed: NeededFiles): void {
  while (!edit.isAtEnd) {
    const tag = edit.readNumber()
    switch (tag) {
      case 1: // Name of the key order.
        edit.skipText()
        break
      case 2:
        needed.log = edit.readNumber()
        break
      case 3: // Next number of a file.
      case 4: // Last sequence number.
      case 9: // An older log, no longer used.
        edit.readNumber()
        break
      case 5: // Continuation of a compaction.
        edit.readNumber()
        edit.skipText()
        break
      case 6:
        edit.readNumber()
        needed.tables.delete(edit.readNumber())
        break
      case 7:
        edit.readNumber()
        needed.tables.set(edit.readNumber(), edit.readNumber())
        edit.skipText()
        edit.skipText()
        break
      default:
        throw new RangeError(`the list of files has an unknown tag ${tag}`)
    }
  }
}

class EditReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  readNumber(): number {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const next = this.#bytes.readUInt8(this.#at)
      this.#at += 1
      value += (next & 0x7f) * scale
      if (next < 0x80) return value
    }
  }

  skipText(): void {
    const bytes = this.readNumber()
    this.#at += bytes
  }
}
