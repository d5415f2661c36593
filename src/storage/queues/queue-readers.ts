// Reads queues part after part, as fast as a client receives them. Opening and closing a snapshot and an iterator for each part would
// take LevelDB's lock four times per part, and LevelDB's own thread holds it for up to ten milliseconds while it deletes files. So
// both are kept from one part to the next (the numbers are records that are read at once):
//
//   part 0         part 1         part 2                        part 67
//   open --16-->   --32-->        --48-->    ...   close, open  --128-->  ...  close: at the end, or after a pause
//
// LevelDB reports an unreadable block only at the end of a read. So a read that is not continued is read to its end, if there are
// not too many. Otherwise the core notices missing records (core/queues/queue-gaps.ts), and reads that part to its end.
//
// A snapshot does not contain later writes, and still contains deleted records. So the end of the snapshot is the end of the queue only
// if it was taken for this part. A caller that gives `part` has deleted no record without reading it.

import type { StoredRecord } from '../../records/index.ts'
import { maxPartBytes, countPayloadBytes, type QueuePart, readQueue } from './queue-reading.ts'
import { ReadingInterrupted, StorageFailure, type Store } from '../store.ts'

/** The fields are those of the core's request `load-queue`. */
export interface PartRequest {
  readonly clientId: string
  /** Inclusive. */
  readonly fromSequence: number
  /** Maximum number of records. */
  readonly limit: number
  /** 0: earlier parts are not used; undefined: the part is independent. */
  readonly part: number | undefined
}

/**
 * Maximum number of records read from the database at once, because they are handled as one step. The first slice is not larger than
 * its part: right after the start of a process, when the code is not compiled yet, a large slice takes too long.
 */
const maxSliceRecords = 128
/** Deleted records occupy disk space while an earlier snapshot exists. */
const maxSnapshotRecords = 8_192
/**
 * Maximum number of reads kept for clients that read their queues at the same time. For others each part is a separate
 * read.
 */
const maxKeptReadings = 64
/**
 * Maximum number of reads that are finished at the same time because they were not continued. Others are closed: a
 * client that reconnects again and again leaves one each time, of up to 8,192 messages.
 */
const maxFinishing = 4
/** Maximum pause after a part, because a snapshot keeps files and up to 16 MiB of memory. */
const keepMs = 1_000

export class QueueReaders {
  readonly #store: Store
  readonly #readings = new Map<string, Reading>()
  readonly #finishing = new Set<Reading>()

  constructor(store: Store) {
    this.#store = store
  }

  /** Returns at most `limit` queued records in order, limited by bytes. Throws StorageFailure. */
  async read(request: PartRequest): Promise<QueuePart> {
    const { clientId, fromSequence, limit, part } = request
    const keepsReading = part !== undefined && this.#store.keepsSnapshots
    const reading = keepsReading ? this.#openReading(clientId, part) : undefined
    if (reading === undefined) return await readQueue(this.#store, clientId, fromSequence, limit)
    let isKept = false
    try {
      const read = await reading.read(fromSequence, limit)
      isKept = !read.isEnd && this.#readings.get(clientId) === reading
      return read
    } finally {
      if (isKept) reading.pause()
      else await this.#close(reading)
    }
  }

  /** Closes all kept reads. A read that is being finished ends with its current slice. */
  async closeAll(): Promise<void> {
    const held = [...this.#readings.values(), ...this.#finishing]
    await Promise.all(held.map((reading) => this.#close(reading)))
  }

  /**
   * Returns the read for a part; undefined: the part is read separately, and nothing is kept.
   *
   * A read serves one request at a time. A request of an earlier connection may arrive after the first request of the
   * current one: on the same read each would take records that the other needs. Part 0 starts again, and a read in
   * progress then ends by itself and is not kept.
   */
  #openReading(clientId: string, part: number): Reading | undefined {
    const kept = this.#readings.get(clientId)
    if (kept !== undefined && part > 0) return kept.isPaused ? kept : undefined
    if (kept === undefined && this.#readings.size >= maxKeptReadings) return undefined
    if (kept?.isPaused === true) this.#releaseReading(kept)
    const reading = new Reading(this.#store, clientId, () => this.#releaseReading(reading))
    this.#readings.set(clientId, reading)
    return reading
  }

  /** Ends a read whose further parts are not requested any more. */
  #releaseReading(reading: Reading): void {
    this.#readings.delete(reading.clientId)
    void this.#finish(reading)
  }

  async #finish(reading: Reading): Promise<void> {
    if (this.#finishing.size >= maxFinishing) return await reading.close()
    this.#finishing.add(reading)
    await reading.finish()
    this.#finishing.delete(reading)
  }

  async #close(reading: Reading): Promise<void> {
    if (this.#readings.get(reading.clientId) === reading) this.#readings.delete(reading.clientId)
    await reading.close()
  }
}

class Reading {
  readonly clientId: string
  readonly #store: Store
  readonly #onPauseTooLong: () => void
  #slices: AsyncIterator<readonly StoredRecord[]> | undefined
  /** Records read and not returned yet: from `#at` of the slice. */
  #slice: readonly StoredRecord[] = []
  #at = 0
  /** Position after the last returned record. */
  #position = 0
  /** Records that the store found since the read was opened, including damaged ones. */
  #found = 0
  /** The snapshot was taken for the current part, so a missing record does not exist. */
  #isCurrent = false
  #timer: NodeJS.Timeout | undefined

  /** `onPauseTooLong` is called when no further part was requested for `keepMs`: the read must be closed. */
  constructor(store: Store, clientId: string, onPauseTooLong: () => void) {
    this.#store = store
    this.clientId = clientId
    this.#onPauseTooLong = onPauseTooLong
  }

  get isPaused(): boolean {
    return this.#timer !== undefined
  }

  /** Starts to wait for the request for the next part. */
  pause(): void {
    this.#timer = setTimeout(this.#onPauseTooLong, keepMs).unref()
  }

  /** Throws StorageFailure. */
  async read(fromSequence: number, limit: number): Promise<QueuePart> {
    this.#wake()
    for (;;) {
      try {
        return await this.#readPart(fromSequence, limit)
      } catch (error) {
        await this.close()
        // No record of the part has been used yet, and the next read waits until the store is open.
        if (!(error instanceof ReadingInterrupted)) throw error
      }
    }
  }

  /** Reads the remaining records, so that the store reports damage in them. */
  async finish(): Promise<void> {
    this.#wake()
    try {
      for (let hasMore = true; hasMore;) hasMore = await this.#readNextSlice()
    } catch (error) {
      // The next read meets the same error.
      if (!(error instanceof StorageFailure)) throw error
    }
    await this.close()
  }

  async close(): Promise<void> {
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
        bytes += countPayloadBytes(record)
        records.push(record)
        if (record.kind === 'queued') this.#position = record.sequence + 1
      } else if (!(await this.#readNextSlice())) {
        if (this.#isCurrent && this.#found < maxSnapshotRecords) return { records, isEnd: true }
        // So many damaged records at the position that others may follow: each new read would begin with them.
        if (this.#isCurrent) return await this.#readBeyond(records, limit)
        await this.#open(this.#position, limit)
      }
    }
    return { records, isEnd: false }
  }

  async #readBeyond(records: StoredRecord[], limit: number): Promise<QueuePart> {
    const rest = await readQueue(this.#store, this.clientId, this.#position, limit - records.length)
    return { records: [...records, ...rest.records], isEnd: rest.isEnd }
  }

  async #open(fromSequence: number, first: number): Promise<void> {
    await this.close()
    this.#found = 0
    const slices = { first: Math.min(first, maxSliceRecords), max: maxSliceRecords }
    const queue = { kind: 'queued', clientId: this.clientId, fromSequence, limit: maxSnapshotRecords } as const
    const onOmitted = (count: number): void => {
      this.#found += count
    }
    this.#slices = this.#store.readQueue({ ...queue, slices, withPayloads: true, onOmitted })[Symbol.asyncIterator]()
    this.#position = fromSequence
    this.#isCurrent = true
  }

  /** Returns false if the snapshot has no more records. */
  async #readNextSlice(): Promise<boolean> {
    const next = await this.#slices?.next()
    if (next === undefined || next.done === true) return false
    this.#slice = next.value
    this.#found += next.value.length
    this.#at = 0
    return true
  }
}
