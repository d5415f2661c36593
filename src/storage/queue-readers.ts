// Queues that are read part after part, as a client takes them. Each part would take a moment of the database and open an
// iterator, and give both back, which needs LevelDB's lock four times: LevelDB's own thread holds it for up to ten
// milliseconds while it deletes files. So they are kept from one part to the next:
//
//   part 0         part 1         part 2                        part 67
//   open --16-->   --32-->        --48-->    ...   close, open  --128-->  ...  close: the end, or nobody has asked for a while
//
// That a block could not be read LevelDB says at the end of a reading alone: one that nobody asks for is read to its end, if not too
// many are. Otherwise the core notices that records are missing (core/delivery/queue-gaps.ts), and reads that part to its end.
//
// What was written since a moment was taken is not in it, and what was deleted is: the end of a moment is no end of the queue
// unless it was taken for this part, and who asks has told by `part` that nothing has gone which was not read.

import type { StoredRecord } from '../records/index.ts'
import { maxPartBytes, payloadBytes, type QueuePart, readQueue } from './queue-reading.ts'
import { ReadingInterrupted, StorageFailure, type Store } from './store.ts'

/** As the core's question `load-queue` has it. */
export interface PartRequest {
  readonly clientId: string
  /** Inclusive. */
  readonly fromSequence: number
  /** Records at most. */
  readonly limit: number
  /** 0: nothing that was read before is to be relied on; undefined: this part stands by itself. */
  readonly part: number | undefined
}

/**
 * So many records at most come from the database at once: what is made of them is one piece of work. The first ones, which
 * code that is not compiled yet may have to deal with, are as few as its part.
 */
const maxSliceRecords = 128
/** What was deleted takes room on disk for as long as a moment from before is kept. */
const maxSnapshotRecords = 8_192
/** Kept for clients that take their queues at the same time; for further ones each part is a reading of its own. */
const maxKeptReadings = 64
/**
 * Readings that nobody goes on with, and that are read to their end at the same time. Further ones are closed where they are: a client
 * that reconnects again and again leaves one each time, of up to 8,192 messages.
 */
const maxFinishing = 4
/** And for so long behind a part, as a moment keeps files and up to 16 MiB of memory. */
const keepMs = 1_000

export class QueueReaders {
  readonly #store: Store
  readonly #readings = new Map<string, Reading>()
  readonly #finishing = new Set<Reading>()

  constructor(store: Store) {
    this.#store = store
  }

  /** At most `limit` queued records in order, and no more than fit into some megabytes. Throws StorageFailure. */
  async read(wanted: PartRequest): Promise<QueuePart> {
    const { clientId, fromSequence, limit, part } = wanted
    const reading = part === undefined ? undefined : this.#readingFor(clientId, part)
    if (reading === undefined) return await readQueue(this.#store, clientId, fromSequence, limit)
    let isKept = false
    try {
      const read = await reading.read(fromSequence, limit)
      isKept = !read.isEnd && this.#readings.get(clientId) === reading
      return read
    } finally {
      if (isKept) reading.rest()
      else await this.#closeAll(reading)
    }
  }

  /** Gives everything back that is kept. What is read to its end for nobody ends with the slice that is on its way. */
  async closeAll(): Promise<void> {
    const held = [...this.#readings.values(), ...this.#finishing]
    await Promise.all(held.map((reading) => this.#closeAll(reading)))
  }

  /**
   * The reading for a part; undefined: the part is read by itself, and nothing is kept. A reading serves one request at a time. A
   * request of an earlier connection can come late, behind the first request of the present one: on the same reading each would take
   * records that the other needs. Part 0 begins anew, and a reading that is in progress then ends by itself and is not kept.
   */
  #readingFor(clientId: string, part: number): Reading | undefined {
    const kept = this.#readings.get(clientId)
    if (kept !== undefined && part > 0) return kept.isResting ? kept : undefined
    if (kept === undefined && this.#readings.size >= maxKeptReadings) return undefined
    if (kept?.isResting === true) this.#releaseReading(kept)
    const reading = new Reading(this.#store, clientId, () => this.#releaseReading(reading))
    this.#readings.set(clientId, reading)
    return reading
  }

  /** Nobody asks for the rest of it. */
  #releaseReading(reading: Reading): void {
    this.#readings.delete(reading.clientId)
    void this.#finish(reading)
  }

  async #finish(reading: Reading): Promise<void> {
    if (this.#finishing.size >= maxFinishing) return await reading.closeAll()
    this.#finishing.add(reading)
    await reading.finish()
    this.#finishing.delete(reading)
  }

  async #closeAll(reading: Reading): Promise<void> {
    if (this.#readings.get(reading.clientId) === reading) this.#readings.delete(reading.clientId)
    await reading.closeAll()
  }
}

class Reading {
  readonly clientId: string
  readonly #store: Store
  readonly #remaining: () => void
  #slices: AsyncIterator<readonly StoredRecord[]> | undefined
  /** What was read and not asked for yet: of the slice from `#at` on. */
  #slice: readonly StoredRecord[] = []
  #at = 0
  /** Behind the last record that was given out. */
  #position = 0
  /** The moment was taken for the part that is read: what is not in it is not there. */
  #isCurrent = false
  #timer: NodeJS.Timeout | undefined

  /** `left`: it has rested for so long that it is to be closed. */
  constructor(store: Store, clientId: string, remaining: () => void) {
    this.#store = store
    this.clientId = clientId
    this.#remaining = remaining
  }

  get isResting(): boolean {
    return this.#timer !== undefined
  }

  /** Until the next part is asked for. */
  rest(): void {
    this.#timer = setTimeout(this.#remaining, keepMs).unref()
  }

  /** Throws StorageFailure. */
  async read(fromSequence: number, limit: number): Promise<QueuePart> {
    this.#wake()
    for (;;) {
      try {
        return await this.#readPart(fromSequence, limit)
      } catch (error) {
        await this.closeAll()
        // Nothing of the part has been used yet, and the next reading waits until the store is open.
        if (!(error instanceof ReadingInterrupted)) throw error
      }
    }
  }

  /** Reads the rest for the sake of what the store says of it. */
  async finish(): Promise<void> {
    this.#wake()
    try {
      for (let hasMore = true; hasMore;) hasMore = await this.#nextSlice()
    } catch (error) {
      // Whoever reads it next meets the same.
      if (!(error instanceof StorageFailure)) throw error
    }
    await this.closeAll()
  }

  async closeAll(): Promise<void> {
    this.#wake()
    const slices = this.#slices
    this.#slices = undefined
    this.#slice = []
    this.#at = 0
    await slices?.return?.()
  }

  #wake(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  async #readPart(fromSequence: number, limit: number): Promise<QueuePart> {
    this.#isCurrent = false
    if (this.#slices === undefined || this.#position !== fromSequence) await this.#open(fromSequence, limit)
    const records: StoredRecord[] = []
    let bytes = 0
    while (records.length < limit && bytes < maxPartBytes) {
      const record = this.#slice[this.#at]
      if (record !== undefined) {
        this.#at++
        bytes += payloadBytes(record)
        records.push(record)
        if (record.kind === 'queued') this.#position = record.sequence + 1
      } else if (!(await this.#nextSlice())) {
        if (this.#isCurrent) return { records, isEnd: true }
        await this.#open(this.#position, limit)
      }
    }
    return { records, isEnd: false }
  }

  async #open(fromSequence: number, first: number): Promise<void> {
    await this.closeAll()
    const slices = { first: Math.min(first, maxSliceRecords), most: maxSliceRecords }
    const queue = { kind: 'queued', clientId: this.clientId, fromSequence, limit: maxSnapshotRecords } as const
    this.#slices = this.#store.readQueue({ ...queue, slices, withPayloads: true })[Symbol.asyncIterator]()
    this.#position = fromSequence
    this.#isCurrent = true
  }

  /** False: the moment has no more of it. */
  async #nextSlice(): Promise<boolean> {
    const next = await this.#slices?.next()
    if (next === undefined || next.done === true) return false
    this.#slice = next.value
    this.#at = 0
    return true
  }
}
