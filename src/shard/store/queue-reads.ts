// Reads queues for the core: each after the batches before it are durable. After a failure it reads again, with
// increasing pauses: only that client waits.

import { PendingQueue, type Input, type CoreRequest } from '../../core/index.ts'
import { QueueReaders, StorageFailure, type QueuePart, type Store } from '../../storage/index.ts'
import type { CrashMarker } from './crash-marker.ts'

type LoadQueue = Extract<CoreRequest, { kind: 'load-queue' }>
const firstPauseMs = 100
const longestPauseMs = 5_000
/**
 * Maximum number of reads at once; others wait. More would not be faster, because the process has four threads for
 * them, and each result is handled as one step. Without the limit, after 16,000 clients had reconnected at once, each
 * turn took two seconds and the reads used more than a gigabyte.
 */
const mostUnderWay = 64

type QueueLoaded = Extract<Input, { kind: 'queue-loaded' }>

export interface QueueReadsOwner {
  /** `marked` runs the handling of the response; the mark stays if that throws. */
  answer(answer: QueueLoaded, marked: (work: () => void) => void): void
  /** A read failed; it is tried again. */
  noteFailure(text: string): void
  /** Everything that could not be read was read since. */
  noteRecovery(): void
  /** Reports an internal error, or a store that broke its contract: the shard cannot continue. */
  fail(error: unknown): void
}

export class QueueReads {
  readonly #readers: QueueReaders
  readonly #owner: QueueReadsOwner
  readonly #mark: CrashMarker | undefined
  /** Requests that wait for a commit. */
  #waiting: LoadQueue[] = []
  /** Requests that wait for other reads, in order. */
  readonly #inLine = new PendingQueue<LoadQueue>()
  #underWay = 0
  /** Reads in progress that have failed once. */
  #failing = 0
  #isEnding = false
  #whenIdle: (() => void) | undefined

  constructor(store: Store, owner: QueueReadsOwner, mark?: CrashMarker) {
    this.#mark = mark
    this.#readers = new QueueReaders(store)
    this.#owner = owner
  }

  /** Starts no further reads; resolves when none is in progress and no snapshot is held. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await this.#readers.closeAll()
  }

  add(load: LoadQueue, committedBatch: number): void {
    if (load.afterBatch <= committedBatch) this.#enter(load)
    else this.#waiting.push(load)
  }

  noteCommitted(batch: number): void {
    if (this.#waiting.length === 0) return
    const ready = this.#waiting.filter((load) => load.afterBatch <= batch)
    this.#waiting = this.#waiting.filter((load) => load.afterBatch > batch)
    for (const load of ready) this.#enter(load)
  }

  #enter(load: LoadQueue): void {
    this.#inLine.push(load)
    this.#readNext()
  }

  #readNext(): void {
    if (this.#isEnding || this.#underWay >= mostUnderWay) return
    const load = this.#inLine.shift()
    if (load !== undefined) this.#read(load)
  }

  #read(load: LoadQueue): void {
    this.#underWay++
    this.#readUntilRead(load).then(
      (part) => {
        this.#underWay--
        if (part !== undefined) this.#take(load, part)
        this.#readNext()
        if (this.#underWay === 0) this.#whenIdle?.()
      },
      (error: unknown) => {
        this.#mark?.set({ kind: 'session', clientId: load.clientId })
        this.#owner.fail(error)
      },
    )
  }

  /** The shard catches an internal error and ends: then the mark stays. */
  #take({ requestId, clientId }: LoadQueue, part: QueuePart): void {
    const answer = { kind: 'queue-loaded', requestId, ...part } as const
    this.#owner.answer(answer, (work) =>
      this.#mark === undefined ? work() : this.#mark.during({ kind: 'session', clientId }, work),
    )
  }

  /** Undefined: the shard ends, and the result is not needed. */
  async #readUntilRead(load: LoadQueue): Promise<QueuePart | undefined> {
    let hasFailed = false
    for (let pauseMs = firstPauseMs; !this.#isEnding; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        const part = await this.#readers.read(load)
        if (hasFailed) this.#noteRecovery()
        return part
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        if (!hasFailed) this.#failing++
        hasFailed = true
        this.#owner.noteFailure(`the queue of a session could not be read: ${error.message}`)
      }
      await pause(pauseMs)
    }
    return undefined
  }

  #noteRecovery(): void {
    this.#failing--
    if (this.#failing === 0) this.#owner.noteRecovery()
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
