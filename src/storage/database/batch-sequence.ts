// Each batch contains its number, which is written into one of many slots in turn:
//
//   slot    0     1     2    ...  16383
//   number 16384 16385  [2]       16383      slot 2 still has the number of the round before: batch 16386 is lost
//
// LevelDB silently drops unreadable parts of its log. A gap in the numbers shows a lost batch before others; the mark
// (batch-marks.ts) shows a lost end of the log.

import { newestVersion, openValue, writeChecksum } from '../encoding/checked-value.ts'
import { DamagedRecord } from '../encoding/record-byte-reader.ts'
import type { LevelDatabase } from './level-database.ts'
import type { OperationList } from './operation-list.ts'
import {
  createBatchSequenceRange,
  createBatchSequencesRange,
  shardNumbers,
  writeBatchSlotKey,
} from '../encoding/record-keys.ts'

const slotCount = 16_384

/** Batches that were written and are missing. Inclusive. */
export interface Gap {
  readonly first: number
  readonly last: number
}

/** The running number of the batches. */
export class BatchSequence {
  readonly #shard: number
  #last: number

  constructor(shard: number, last: number) {
    this.#shard = shard
    this.#last = last
  }

  /** Returns the shards with slots, in order. */
  static async listShards(database: LevelDatabase): Promise<number[]> {
    const shards: number[] = []
    for (let next = 0; next < shardNumbers;) {
      const key = await database.findFirstKey(createBatchSequencesRange(next))
      if (key === undefined) break
      const shard = key[1] ?? 0
      shards.push(shard)
      next = shard + 1
    }
    return shards
  }

  /**
   * Reads the slots of a shard. Returns its sequence, and the recent batches that are missing. `mark`: batches up to it
   * were durable.
   */
  static async read(
    database: LevelDatabase,
    shard: number,
    mark = 0,
  ): Promise<{ batchSequence: BatchSequence; gaps: Gap[] }> {
    const numbers = new Set<number>()
    let last = 0
    for await (const slice of database.readSlices(createBatchSequenceRange(shard))) {
      for (const [key, value] of slice) {
        const number = tryReadBatchNumber(key, value)
        if (number === undefined) continue
        numbers.add(number)
        last = Math.max(last, number)
      }
    }
    const gaps = findGaps(numbers, last)
    if (mark > last) gaps.push({ first: last + 1, last: mark })
    return { batchSequence: new BatchSequence(shard, Math.max(last, mark)), gaps }
  }

  get shard(): number {
    return this.#shard
  }

  get last(): number {
    return this.#last
  }

  /** Appends the number of the batch that is being written. It counts after `confirm` was called. */
  encodeNext(operations: OperationList): void {
    this.#encode(operations, this.#last + 1)
  }

  /** Appends the number of the last batch again: a write without changes. */
  encodeLast(operations: OperationList): void {
    if (this.#last > 0) this.#encode(operations, this.#last)
  }

  confirm(): void {
    this.#last += 1
  }

  /** Appends the numbers of missing batches, so that they are reported only once. */
  encodeReported(operations: OperationList, gaps: readonly Gap[]): void {
    for (const { first, last } of gaps) {
      for (let number = Math.max(first, last - slotCount + 1); number <= last; number++)
        this.#encode(operations, number)
    }
  }

  #encode(operations: OperationList, number: number): void {
    operations.begin()
    writeBatchSlotKey(operations.writer, this.#shard, number % slotCount)
    operations.endKey()
    operations.writer.byte(newestVersion)
    operations.writer.uint64(number)
    writeChecksum(operations.writer, operations.keyStart)
    operations.endValue()
  }
}

function tryReadBatchNumber(key: Buffer, value: Buffer): number | undefined {
  try {
    return openValue(key, value).reader.uint64()
  } catch (error) {
    // A damaged slot may stand for a missing batch, so it counts as one.
    if (error instanceof DamagedRecord) return undefined
    throw error
  }
}

function findGaps(numbers: ReadonlySet<number>, last: number): Gap[] {
  const gaps: Gap[] = []
  let first: number | undefined
  for (let number = Math.max(1, last - slotCount + 1); number <= last; number++) {
    if (!numbers.has(number)) {
      first ??= number
    } else if (first !== undefined) {
      gaps.push({ first, last: number - 1 })
      first = undefined
    }
  }
  return gaps
}
