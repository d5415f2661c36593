// A file next to the database with the number of the last batch of each shard that is known to be durable. LevelDB does not
// report a log that ends too early at a record boundary. If the number in the database is below its mark, acknowledged writes
// are missing. A mark is written after a synced commit; nothing waits for it and it is not synced. After a power cut it may be
// too low, never too high.
//
//   at 16 * shard: number u64 | CRC-32 of shard and number | unused u32

import { constants, type FileHandle, open, readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { isMissing } from './database-files.ts'
import { shardNumbers } from '../encoding/record-keys.ts'

const slotBytes = 16
const checksumAt = 8
/** A write takes 60 us of CPU, as much as a small commit, so this is the minimum time between two. */
const pauseMs = 20

/** The path of the file for a database. */
export function toMarksPath(directory: string): string {
  return `${directory}.batches`
}

/** Returns the number of the last batch by shard. A missing or damaged mark is ignored. */
export async function readMarks(directory: string): Promise<Map<number, number>> {
  const marks = new Map<number, number>()
  const bytes = await readFileOrEmpty(toMarksPath(directory))
  for (let shard = 0; shard < shardNumbers && (shard + 1) * slotBytes <= bytes.length; shard++) {
    const slot = bytes.subarray(shard * slotBytes, (shard + 1) * slotBytes)
    const number = Number(slot.readBigUInt64BE(0))
    if (number > 0 && Number.isSafeInteger(number) && slot.equals(encodeSlot(shard, number))) marks.set(shard, number)
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
    this.#path = toMarksPath(directory)
    this.#shard = shard
  }

  /** Batches up to this number are durable. The first mark is written at once; marks that follow soon are combined. */
  recordDurable(number: number): void {
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
      await this.#file.write(encodeSlot(this.#shard, number), 0, slotBytes, this.#shard * slotBytes)
      this.#written = number
    } catch (error) {
      // A low mark only hides a later loss. Commits report a disk that fails.
      if (!(error instanceof Error && 'code' in error)) throw error
    }
  }
}

function encodeSlot(shard: number, number: number): Buffer {
  const slot = Buffer.alloc(slotBytes)
  slot.writeBigUInt64BE(BigInt(number), 0)
  slot.writeUInt32BE(crc32(slot.subarray(0, checksumAt), shard), checksumAt)
  return slot
}

async function readFileOrEmpty(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isMissing(error)) return Buffer.alloc(0)
    throw error
  }
}
