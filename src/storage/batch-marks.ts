// A file beside the database with the number of the last batch of each shard that is known to be on disk. LevelDB does not
// notice a log that ends too early at a record; a number in the database below its mark tells that acknowledged writes are
// missing. A mark is written behind a synced commit, is waited for by nobody and is not synced itself: after a power loss it
// may be too low, never too high.
//
//   at 16 * shard: number u64 | CRC-32 of shard and number | unused u32

import { constants, type FileHandle, open, readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { isMissing } from './damage/database-files.ts'
import { shardNumbers } from './record-keys.ts'

const slotBytes = 16
const checksumAt = 8
/** A write takes 60 us of the processor, as much as a small commit: between two of them it is waited so long. */
const pauseMs = 20

/** The path of the file for a database. */
export function marksPath(directory: string): string {
  return `${directory}.batches`
}

/** The number of the last batch by shard. A mark that is missing or damaged says nothing. */
export async function readMarks(directory: string): Promise<Map<number, number>> {
  const marks = new Map<number, number>()
  const bytes = await contentOf(marksPath(directory))
  for (let shard = 0; shard < shardNumbers && (shard + 1) * slotBytes <= bytes.length; shard++) {
    const slot = bytes.subarray(shard * slotBytes, (shard + 1) * slotBytes)
    const number = Number(slot.readBigUInt64BE(0))
    if (number > 0 && Number.isSafeInteger(number) && slot.equals(slotOf(shard, number))) marks.set(shard, number)
  }
  return marks
}

/** The mark of one shard. */
export class BatchMark {
  readonly #path: string
  readonly #shard: number
  #file: FileHandle | undefined
  #wanted = 0
  #written = 0
  #writing: Promise<void> | undefined
  #pause: NodeJS.Timeout | undefined

  constructor(directory: string, shard: number) {
    this.#path = marksPath(directory)
    this.#shard = shard
  }

  /** Batches up to this number are on disk. The first mark is written at once, those that come soon after go together. */
  note(number: number): void {
    this.#wanted = number
    if (this.#pause === undefined) this.#start()
  }

  /** Resolves when the last mark is written. */
  async close(): Promise<void> {
    clearTimeout(this.#pause)
    this.#pause = undefined
    await this.#writing
    await this.#write()
    const file = this.#file
    this.#file = undefined
    await file?.close()
  }

  #start(): void {
    if (this.#wanted === this.#written) return
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      this.#start()
    }, pauseMs).unref()
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined))
  }

  async #write(): Promise<void> {
    if (this.#wanted === this.#written) return
    const number = this.#wanted
    try {
      this.#file ??= await open(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600)
      await this.#file.write(slotOf(this.#shard, number), 0, slotBytes, this.#shard * slotBytes)
      this.#written = number
    } catch (error) {
      // The mark stays lower than it could be, which only hides a later loss. A disk that takes nothing is told by commits.
      if (!(error instanceof Error && 'code' in error)) throw error
    }
  }
}

function slotOf(shard: number, number: number): Buffer {
  const slot = Buffer.alloc(slotBytes)
  slot.writeBigUInt64BE(BigInt(number), 0)
  slot.writeUInt32BE(crc32(slot.subarray(0, checksumAt), shard), checksumAt)
  return slot
}

async function contentOf(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isMissing(error)) return Buffer.alloc(0)
    throw error
  }
}
