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
  gathering: Batch = newBatch(1)
  /** How long the disk takes for a batch, of late. */
  commitMs = 0
  readonly #ground: BatchDependencies
  /** Taken and not yet committed, in order. */
  readonly #committing: Batch[] = []
  /** Ended and not taken. In order, right before `gathering`. */
  readonly #aside: Batch[] = []
  #putOff: StoredChange[] = []
  #putOffSinceMs = 0
  #lastTaken = 0
  /** When something was last acknowledged before it was written. */
  #lastAnswerAtMs = 0
  #clockRecordedMs = -Infinity

  constructor(ground: BatchDependencies) {
    this.#ground = ground
  }

  /** The last batch with anything in it: the one that gathers, or one before. An empty one is never written. */
  get lastBegun(): number {
    return hasAnything(this.gathering) ? this.gathering.number : this.gathering.number - 1
  }

  /** The batch of that number, while what is in it can still be struck. */
  open(number: number): Batch | undefined {
    if (number === this.gathering.number) return this.gathering
    const aside = this.#aside
    return aside.length > 0 && number >= aside[0].number ? aside[number - aside[0].number] : undefined
  }

  /** The last change is of a message whose answer may come before the disk is asked; it waits till then at most. */
  hope(untilMs: number): void {
    const { gathering } = this
    gathering.hoped++
    if (untilMs < gathering.waitsUntilMs) gathering.waitsUntilMs = untilMs
  }

  /** Of the last change: no answer will come for now. */
  hopeNoMore(): void {
    this.gathering.hoped--
  }

  /** `isHoped`: by the answer that it waited for. */
  strike(batch: Batch, index: number, isHoped: boolean): void {
    batch.changes[index] = undefined
    batch.struck++
    if (!isHoped) return
    batch.hoped--
    this.#lastAnswerAtMs = this.#ground.nowMs
  }

  /** To be written some time soon: after a crash it may not have happened, and that does no harm. */
  putOff(change: StoredChange): void {
    if (this.#putOff.length === 0) this.#putOffSinceMs = this.#ground.nowMs
    this.#putOff.push(change)
  }

  /** What was put off comes before what gathers from here on. */
  bringIn(): void {
    const { changes } = this.gathering
    for (const change of this.#putOff) changes.push(change)
    this.#putOff = []
  }

  /** Something is there for `take`: to be taken, or to be set aside. */
  get isAny(): boolean {
    const aside = this.#aside
    return hasAnything(this.gathering) || this.#putOffIsDue || (aside.length > 0 && !this.#isWaiting(aside[0]))
  }

  /** When the first of what waits has waited for long enough; Infinity: nothing waits, or for the driver alone. */
  get dueAtMs(): number {
    const aside = this.#aside
    const asideAtMs = aside.length > 0 && this.#isWaiting(aside[0]) ? this.#waitsUntilMs(aside[0]) : Infinity
    const isPutOff = this.#putOff.length > 0 && !this.#putOffIsDue
    return Math.min(asideAtMs, isPutOff ? this.#putOffSinceMs + deferredWriteMs : Infinity)
  }

  /** What is to be written now, or has been struck whole; undefined: nothing. */
  take(): Batch | undefined {
    const aside = this.#aside
    const { gathering } = this
    const isSetAside =
      aside.length > 0 ? isFullyCancelled(gathering) || this.#isWaiting(gathering) : this.#isWaiting(gathering)
    if (isSetAside && hasAnything(gathering)) aside.push(this.#startNext())
    if (aside.length > 0 && isFullyCancelled(aside[0])) return this.#begin(aside.shift())
    const isUrgent = hasAnything(this.gathering) || (aside.length > 0 && !this.#isWaiting(aside[0]))
    if (!isUrgent) return this.#putOffIsDue ? this.#begin(this.#takePutOff()) : undefined
    if (aside.length > 0 || !isFullyCancelled(this.gathering)) this.bringIn()
    return this.#begin(aside.length === 0 ? this.#startNext() : joinBatches(aside.splice(0), this.#startNext()))
  }

  /** The batch that was taken first is where it belongs. */
  commit(number: number): Batch {
    const batch = this.#committing.shift()
    if (batch === undefined || batch.number !== number)
      throw failedAssertion(`batch ${number} was committed out of turn`)
    // While none goes to the disk nobody knows how long that takes, and it may have become quick.
    if (isFullyCancelled(batch)) this.commitMs *= 1 - 1 / commitsRemembered
    else this.commitMs += (this.#ground.nowMs - batch.takenAtMs - this.commitMs) / commitsRemembered
    return batch
  }

  #begin(batch: Batch | undefined): Batch | undefined {
    if (batch === undefined) return undefined
    if (!isFullyCancelled(batch)) this.#recordClock(batch)
    this.#committing.push(batch)
    batch.takenAtMs = this.#ground.nowMs
    this.#lastTaken = batch.number
    return batch
  }

  #startNext(): Batch {
    const ended = this.gathering
    this.gathering = newBatch(ended.number + 1)
    return ended
  }

  get #putOffIsDue(): boolean {
    const { length } = this.#putOff
    if (length === 0) return false
    const { nowMs, isShuttingDown } = this.#ground
    return length >= maxDeferredWrites || nowMs >= this.#putOffSinceMs + deferredWriteMs || isShuttingDown
  }

  /** By themselves, and nobody waits for them: the number is that of a batch that is where it belongs. */
  #takePutOff(): Batch {
    const batch = newBatch(this.#lastTaken)
    for (const change of this.#putOff) batch.changes.push(change)
    this.#putOff = []
    return batch
  }

  /** Nothing is left in it but what will soon be acknowledged. */
  #isWaiting(batch: Batch): boolean {
    const { changes, struck, hoped } = batch
    const { nowMs, isShuttingDown } = this.#ground
    return hoped > 0 && changes.length - struck === hoped && nowMs < this.#waitsUntilMs(batch) && !isShuttingDown
  }

  /** As long as answers come the disk would only keep them up. */
  #waitsUntilMs({ waitsUntilMs }: Batch): number {
    return Math.max(waitsUntilMs, Math.min(this.#lastAnswerAtMs + ackPauseMs, waitsUntilMs + maxAckWaitMs))
  }

  /** So that after a restart time never goes back behind what is stored, whatever the machine's clock says. */
  #recordClock(batch: Batch): void {
    const { nowMs } = this.#ground
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
    struck: 0,
    hoped: 0,
    waitsUntilMs: Infinity,
    takenAtMs: 0,
  }
}

function hasAnything({ changes, sendsAfterCommit }: Batch): boolean {
  return changes.length > 0 || sendsAfterCommit.length > 0
}

/** Nothing of it needs the disk. */
function isFullyCancelled({ changes, struck }: Batch): boolean {
  return changes.length === struck
}
