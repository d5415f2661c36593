// Queues that the core wants back from disk: each is read once the batches before it are there. A disk that fails is
// asked again, with growing pauses: the client waits, and the others are served.

import { PendingQueue, type Input, type CoreRequest } from '../../core/index.ts'
import { QueueReaders, StorageFailure, type QueuePart, type Store } from '../../storage/index.ts'
import type { CrashMarker } from './crash-marker.ts'

type LoadQueue = Extract<CoreRequest, { kind: 'load-queue' }>
const firstPauseMs = 100
const longestPauseMs = 5_000
/**
 * So many readings are under way at once; others wait for their turn. More would not be quicker, as the process has some four threads
 * for them, and what they bring comes to the loop in one piece: after sixteen thousand clients had come back at once each turn took
 * two seconds, and their readings more than a gigabyte.
 */
const mostUnderWay = 64

type QueueLoaded = Extract<Input, { kind: 'queue-loaded' }>

export interface QueueReadsOwner {
  /** `marked` runs what takes the answer in, and its mark stays if that throws. */
  answer(answer: QueueLoaded, marked: (work: () => void) => void): void
  /** The disk could not be read; it is tried again. */
  noteFailure(text: string): void
  /** Everything that could not be read has been read since. */
  noteRecovery(): void
  /** A mistake of ours, or a store that broke its promises: the shard cannot go on. */
  fail(error: unknown): void
}

export class QueueReads {
  readonly #readers: QueueReaders
  readonly #owner: QueueReadsOwner
  readonly #mark: CrashMarker | undefined
  /** For what they want to be on disk. */
  #waiting: LoadQueue[] = []
  /** For others to be read, the first to be asked first. */
  readonly #inLine = new PendingQueue<LoadQueue>()
  #underWay = 0
  /** Readings under way that have failed once. */
  #failing = 0
  #isEnding = false
  #whenIdle: (() => void) | undefined

  constructor(store: Store, owner: QueueReadsOwner, mark?: CrashMarker) {
    this.#mark = mark
    this.#readers = new QueueReaders(store)
    this.#owner = owner
  }

  /** No reading begins any more; resolves when none is under way and nothing of the store is held. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
    await this.#readers.closeAll()
  }

  add(question: LoadQueue, committedBatch: number): void {
    if (question.afterBatch <= committedBatch) this.#enter(question)
    else this.#waiting.push(question)
  }

  noteCommitted(batch: number): void {
    if (this.#waiting.length === 0) return
    const ready = this.#waiting.filter((question) => question.afterBatch <= batch)
    this.#waiting = this.#waiting.filter((question) => question.afterBatch > batch)
    for (const question of ready) this.#enter(question)
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

  /** A mistake of ours in it is caught by the owner, who ends the shard: then the mark stays. */
  #take({ question, clientId }: LoadQueue, part: QueuePart): void {
    const answer = { kind: 'queue-loaded', question, ...part } as const
    this.#owner.answer(answer, (work) =>
      this.#mark === undefined ? work() : this.#mark.during({ kind: 'session', clientId }, work),
    )
  }

  /** Undefined: the shard ends and nobody wants to know any more. */
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
