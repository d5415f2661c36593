// Changes for the store are collected in batches. The shard takes a batch when no write is in progress. Usually that is the open
// batch, and a new one starts.
//
//   open ------taken--> committing --committed--> done
//        |                   ^
//        '--> waiting -------'      all its changes are messages that will soon be acknowledged: the batch waits for the acknowledgements
//               |
//               '--all cancelled--> done, without a write
//
// The first batch that must be written includes all waiting batches. It also includes the deferred writes, for which nothing waits.
// After a time, deferred writes are written in a batch of their own.

import { createAssertionError } from '../../protocol/index.ts'
import type { StoredChange } from '../../records/index.ts'
import type { Batch } from './outputs.ts'
import { SendList } from './send-list.ts'

/** While acknowledgements arrive at intervals of at most `ackPauseMs`, a batch waits longer, at most `maxAckWaitMs`. */
const ackPauseMs = 10
const maxAckWaitMs = 180

/** Maximum delay and maximum number of deferred writes. */
const deferredWriteMs = 50
const maxDeferredWrites = 1_024

/** Number of commits that the average commit time covers, approximately. */
const commitsRemembered = 16

/** Maximum difference between the clock and its stored value, while batches are written. */
const clockRecordIntervalMs = 60_000

/** Parts of the broker state that batches read. */
interface BatchDependencies {
  readonly nowMs: number
  readonly isShuttingDown: boolean
}

export class Batches {
  openBatch: Batch = createBatch(1)
  /** Number of the last committed batch. */
  committed = 0
  /** Average commit time of the latest batches, in milliseconds. */
  commitMs = 0
  readonly #dependencies: BatchDependencies
  /** Taken and not committed yet, in order. */
  readonly #committing: Batch[] = []
  /** Closed and not taken, in order, directly before the open batch. */
  readonly #waiting: Batch[] = []
  #deferredWrites: StoredChange[] = []
  #deferredSinceMs = 0
  #lastTaken = 0
  /** Time of the last acknowledgement that cancelled a write. */
  #lastCancelAtMs = 0
  #clockRecordedMs = -Infinity

  constructor(dependencies: BatchDependencies) {
    this.#dependencies = dependencies
  }

  /** Number of the last batch that has changes: the open one, or the one before. An empty batch is never written. */
  get lastOpenNumber(): number {
    return hasAnything(this.openBatch) ? this.openBatch.number : this.openBatch.number - 1
  }

  /** Returns the batch with that number as long as its changes can be cancelled. */
  open(number: number): Batch | undefined {
    if (number === this.openBatch.number) return this.openBatch
    const waiting = this.#waiting
    return waiting.length > 0 && number >= waiting[0].number ? waiting[number - waiting[0].number] : undefined
  }

  /**
   * Defers the last change until `untilMs` at most: its message may be acknowledged before it is written.
   */
  deferCommit(untilMs: number): void {
    const { openBatch } = this
    openBatch.deferred++
    if (untilMs < openBatch.waitsUntilMs) openBatch.waitsUntilMs = untilMs
  }

  /** Revokes `deferCommit` for the last change: no acknowledgement is expected. */
  stopDeferring(): void {
    this.openBatch.deferred--
  }

  /** Cancels a change. `isAcknowledged`: the acknowledgement arrived for which the change was deferred. */
  cancelWrite(batch: Batch, index: number, isAcknowledged: boolean): void {
    batch.changes[index] = undefined
    batch.cancelled++
    if (!isAcknowledged) return
    batch.deferred--
    this.#lastCancelAtMs = this.#dependencies.nowMs
  }

  /** Adds a change that is written later. Losing it in a crash does no harm. */
  deferWrite(change: StoredChange): void {
    if (this.#deferredWrites.length === 0) this.#deferredSinceMs = this.#dependencies.nowMs
    this.#deferredWrites.push(change)
  }

  /** Moves the deferred writes into the open batch, before later changes. */
  includeDeferredWrites(): void {
    const { changes } = this.openBatch
    for (const change of this.#deferredWrites) changes.push(change)
    this.#deferredWrites = []
  }

  /** Returns whether `take` returns a batch. */
  get isAny(): boolean {
    const waiting = this.#waiting
    return (
      hasAnything(this.openBatch) || this.#isDeferredWriteDue || (waiting.length > 0 && !this.#isWaiting(waiting[0]))
    )
  }

  /** Time when the first waiting batch or the deferred writes must be written. Infinity: none waits for a time. */
  get dueAtMs(): number {
    const waiting = this.#waiting
    const waitingUntilMs =
      waiting.length > 0 && this.#isWaiting(waiting[0]) ? this.#computeWaitEndMs(waiting[0]) : Infinity
    const isDeferred = this.#deferredWrites.length > 0 && !this.#isDeferredWriteDue
    return Math.min(waitingUntilMs, isDeferred ? this.#deferredSinceMs + deferredWriteMs : Infinity)
  }

  /** Returns the batch to write now, or a batch whose changes are all cancelled; undefined if there is none. */
  take(): Batch | undefined {
    const waiting = this.#waiting
    const { openBatch } = this
    const mustWait =
      waiting.length > 0 ? isFullyCancelled(openBatch) || this.#isWaiting(openBatch) : this.#isWaiting(openBatch)
    if (mustWait && hasAnything(openBatch)) waiting.push(this.#startNext())
    if (waiting.length > 0 && isFullyCancelled(waiting[0])) return this.#begin(waiting.shift())
    const isUrgent = hasAnything(this.openBatch) || (waiting.length > 0 && !this.#isWaiting(waiting[0]))
    if (!isUrgent) return this.#isDeferredWriteDue ? this.#begin(this.#takeDeferredWrites()) : undefined
    if (waiting.length > 0 || !isFullyCancelled(this.openBatch)) this.includeDeferredWrites()
    return this.#begin(waiting.length === 0 ? this.#startNext() : joinBatches(waiting.splice(0), this.#startNext()))
  }

  /** Called when the batch that was taken first is durable. Returns it. */
  commit(number: number): Batch {
    const batch = this.#committing.shift()
    if (batch === undefined || batch.number !== number)
      throw createAssertionError(`batch ${number} was committed out of turn`)
    this.committed = number
    // While no batch is written, the commit time is unknown. It is reduced step by step, because the disk may be faster
    // now.
    if (isFullyCancelled(batch)) this.commitMs *= 1 - 1 / commitsRemembered
    else this.commitMs += (this.#dependencies.nowMs - batch.takenAtMs - this.commitMs) / commitsRemembered
    return batch
  }

  #begin(batch: Batch | undefined): Batch | undefined {
    if (batch === undefined) return undefined
    if (!isFullyCancelled(batch)) this.#recordClock(batch)
    this.#committing.push(batch)
    batch.takenAtMs = this.#dependencies.nowMs
    this.#lastTaken = batch.number
    return batch
  }

  #startNext(): Batch {
    const ended = this.openBatch
    this.openBatch = createBatch(ended.number + 1)
    return ended
  }

  get #isDeferredWriteDue(): boolean {
    const { length } = this.#deferredWrites
    if (length === 0) return false
    const { nowMs, isShuttingDown } = this.#dependencies
    return length >= maxDeferredWrites || nowMs >= this.#deferredSinceMs + deferredWriteMs || isShuttingDown
  }

  /** Returns a batch of deferred writes only. Nothing waits for it, so it has the number of a batch that was already taken. */
  #takeDeferredWrites(): Batch {
    const batch = createBatch(this.#lastTaken)
    for (const change of this.#deferredWrites) batch.changes.push(change)
    this.#deferredWrites = []
    return batch
  }

  /** Returns whether the batch contains only messages that will soon be acknowledged. */
  #isWaiting(batch: Batch): boolean {
    const { changes, cancelled, deferred } = batch
    const { nowMs, isShuttingDown } = this.#dependencies
    return (
      deferred > 0 &&
      changes.length - cancelled === deferred &&
      nowMs < this.#computeWaitEndMs(batch) &&
      !isShuttingDown
    )
  }

  /** While acknowledgements arrive, a write would only delay them. */
  #computeWaitEndMs({ waitsUntilMs }: Batch): number {
    return Math.max(waitsUntilMs, Math.min(this.#lastCancelAtMs + ackPauseMs, waitsUntilMs + maxAckWaitMs))
  }

  /**
   * Stores the time, so that after a restart it never goes back before the stored value, whatever the system clock
   * says.
   */
  #recordClock(batch: Batch): void {
    const { nowMs } = this.#dependencies
    if (nowMs - this.#clockRecordedMs < clockRecordIntervalMs) return
    this.#clockRecordedMs = nowMs
    batch.changes.push({ change: 'put', record: { kind: 'fact', name: 'clock', value: String(nowMs) } })
  }
}

function joinBatches(batches: readonly Batch[], last: Batch): Batch {
  const all = createBatch(last.number)
  for (const { changes, sendsAfterCommit } of [...batches, last]) {
    for (const change of changes) if (change !== undefined) all.changes.push(change)
    all.sendsAfterCommit.append(sendsAfterCommit)
  }
  return all
}

function createBatch(number: number): Batch {
  return {
    number,
    changes: [],
    sendsAfterCommit: new SendList(),
    cancelled: 0,
    deferred: 0,
    waitsUntilMs: Infinity,
    takenAtMs: 0,
  }
}

function hasAnything({ changes, sendsAfterCommit }: Batch): boolean {
  return changes.length > 0 || sendsAfterCommit.length > 0
}

/** Returns whether no change of the batch must be written. */
function isFullyCancelled({ changes, cancelled }: Batch): boolean {
  return changes.length === cancelled
}
