// What is to be stored gathers in batches. The driver takes one when the disk is free; most often that is the one that
// gathers, and the next begins.
//
//   gathering --taken--> committing --committed--> done
//        |                   ^
//        '--> aside ---------'      only what will soon be acknowledged is left in it: it waits for that
//               |
//               '--struck whole--> done, and the disk has not been asked
//
// All that was set aside goes with the first batch that has to be written. What nobody waits for is put off: it goes along
// then as well, or by itself after a while.

import { failedAssertion } from '../../protocol/index.ts'
import type { StoredChange } from '../../records/index.ts'
import type { Batch } from './outputs.ts'
import { SendList } from './send-list.ts'

/** A batch waits for longer while answers come, with pauses of at most this and so long at most. */
const ackPauseMs = 10
const maxAckWaitMs = 180

/** What is put off is put off for so long at most, and so much of it. */
const deferredWriteMs = 50
const maxDeferredWrites = 1_024

/** As many batches tell how long one takes. */
const commitsRemembered = 16

/** How far the clock may have gone on beyond what is stored of it. */
const clockRecordIntervalMs = 60_000

/** The broker. */
interface BatchDependencies {
  readonly nowMs: number
  readonly isShuttingDown: boolean
}

export class Batches {
  openBatch: Batch = newBatch(1)
  /** How long the disk takes for a batch, of late. */
  commitMs = 0
  readonly #dependencies: BatchDependencies
  /** Taken and not yet committed, in order. */
  readonly #committing: Batch[] = []
  /** Ended and not taken. In order, right before `gathering`. */
  readonly #waiting: Batch[] = []
  #deferWrite: StoredChange[] = []
  #deferredSinceMs = 0
  #lastTaken = 0
  /** When something was last acknowledged before it was written. */
  #lastCancelAtMs = 0
  #clockRecordedMs = -Infinity

  constructor(dependencies: BatchDependencies) {
    this.#dependencies = dependencies
  }

  /** The last batch with anything in it: the one that gathers, or one before. An empty one is never written. */
  get lastOpenNumber(): number {
    return hasAnything(this.openBatch) ? this.openBatch.number : this.openBatch.number - 1
  }

  /** The batch of that number, while what is in it can still be struck. */
  open(number: number): Batch | undefined {
    if (number === this.openBatch.number) return this.openBatch
    const waiting = this.#waiting
    return waiting.length > 0 && number >= waiting[0].number ? waiting[number - waiting[0].number] : undefined
  }

  /** The last change is of a message whose answer may come before the disk is asked; it waits till then at most. */
  deferCommit(untilMs: number): void {
    const { openBatch } = this
    openBatch.deferred++
    if (untilMs < openBatch.waitsUntilMs) openBatch.waitsUntilMs = untilMs
  }

  /** Of the last change: no answer will come for now. */
  stopDeferring(): void {
    this.openBatch.deferred--
  }

  /** `isHoped`: by the answer that it waited for. */
  cancelWrite(batch: Batch, index: number, isHoped: boolean): void {
    batch.changes[index] = undefined
    batch.cancelled++
    if (!isHoped) return
    batch.deferred--
    this.#lastCancelAtMs = this.#dependencies.nowMs
  }

  /** To be written some time soon: after a crash it may not have happened, and that does no harm. */
  deferWrite(change: StoredChange): void {
    if (this.#deferWrite.length === 0) this.#deferredSinceMs = this.#dependencies.nowMs
    this.#deferWrite.push(change)
  }

  /** What was put off comes before what gathers from here on. */
  includeDeferredWrites(): void {
    const { changes } = this.openBatch
    for (const change of this.#deferWrite) changes.push(change)
    this.#deferWrite = []
  }

  /** Something is there for `take`: to be taken, or to be set aside. */
  get isAny(): boolean {
    const waiting = this.#waiting
    return (
      hasAnything(this.openBatch) || this.#isDeferredWriteDue || (waiting.length > 0 && !this.#isWaiting(waiting[0]))
    )
  }

  /** When the first of what waits has waited for long enough; Infinity: nothing waits, or for the driver alone. */
  get dueAtMs(): number {
    const waiting = this.#waiting
    const asideAtMs = waiting.length > 0 && this.#isWaiting(waiting[0]) ? this.#waitsUntilMs(waiting[0]) : Infinity
    const isPutOff = this.#deferWrite.length > 0 && !this.#isDeferredWriteDue
    return Math.min(asideAtMs, isPutOff ? this.#deferredSinceMs + deferredWriteMs : Infinity)
  }

  /** What is to be written now, or has been struck whole; undefined: nothing. */
  take(): Batch | undefined {
    const waiting = this.#waiting
    const { openBatch } = this
    const isSetAside =
      waiting.length > 0 ? isFullyCancelled(openBatch) || this.#isWaiting(openBatch) : this.#isWaiting(openBatch)
    if (isSetAside && hasAnything(openBatch)) waiting.push(this.#startNext())
    if (waiting.length > 0 && isFullyCancelled(waiting[0])) return this.#begin(waiting.shift())
    const isUrgent = hasAnything(this.openBatch) || (waiting.length > 0 && !this.#isWaiting(waiting[0]))
    if (!isUrgent) return this.#isDeferredWriteDue ? this.#begin(this.#takeDeferredWrites()) : undefined
    if (waiting.length > 0 || !isFullyCancelled(this.openBatch)) this.includeDeferredWrites()
    return this.#begin(waiting.length === 0 ? this.#startNext() : joinBatches(waiting.splice(0), this.#startNext()))
  }

  /** The batch that was taken first is where it belongs. */
  commit(number: number): Batch {
    const batch = this.#committing.shift()
    if (batch === undefined || batch.number !== number)
      throw failedAssertion(`batch ${number} was committed out of turn`)
    // While none goes to the disk nobody knows how long that takes, and it may have become quick.
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
    this.openBatch = newBatch(ended.number + 1)
    return ended
  }

  get #isDeferredWriteDue(): boolean {
    const { length } = this.#deferWrite
    if (length === 0) return false
    const { nowMs, isShuttingDown } = this.#dependencies
    return length >= maxDeferredWrites || nowMs >= this.#deferredSinceMs + deferredWriteMs || isShuttingDown
  }

  /** By themselves, and nobody waits for them: the number is that of a batch that is where it belongs. */
  #takeDeferredWrites(): Batch {
    const batch = newBatch(this.#lastTaken)
    for (const change of this.#deferWrite) batch.changes.push(change)
    this.#deferWrite = []
    return batch
  }

  /** Nothing is left in it but what will soon be acknowledged. */
  #isWaiting(batch: Batch): boolean {
    const { changes, cancelled, deferred } = batch
    const { nowMs, isShuttingDown } = this.#dependencies
    return (
      deferred > 0 && changes.length - cancelled === deferred && nowMs < this.#waitsUntilMs(batch) && !isShuttingDown
    )
  }

  /** As long as answers come the disk would only keep them up. */
  #waitsUntilMs({ waitsUntilMs }: Batch): number {
    return Math.max(waitsUntilMs, Math.min(this.#lastCancelAtMs + ackPauseMs, waitsUntilMs + maxAckWaitMs))
  }

  /** So that after a restart time never goes back behind what is stored, whatever the machine's clock says. */
  #recordClock(batch: Batch): void {
    const { nowMs } = this.#dependencies
    if (nowMs - this.#clockRecordedMs < clockRecordIntervalMs) return
    this.#clockRecordedMs = nowMs
    batch.changes.push({ change: 'put', record: { kind: 'fact', name: 'clock', value: String(nowMs) } })
  }
}

function joinBatches(batches: readonly Batch[], last: Batch): Batch {
  const all = newBatch(last.number)
  for (const { changes, sendsAfterCommit } of [...batches, last]) {
    for (const change of changes) if (change !== undefined) all.changes.push(change)
    all.sendsAfterCommit.append(sendsAfterCommit)
  }
  return all
}

function newBatch(number: number): Batch {
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

/** Nothing of it needs the disk. */
function isFullyCancelled({ changes, cancelled }: Batch): boolean {
  return changes.length === cancelled
}
