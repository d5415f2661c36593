// Reads queues from the store for the core. A read starts when the batches before the request are durable. After a failure it
// is repeated with increasing pauses, and only the client of that queue waits.

import { PendingQueue, type Input, type CoreRequest } from '../../core/index.ts'
import { QueueReaders, StorageFailure, type QueuePart, type Store } from '../../storage/index.ts'
import type { CrashMarker } from './crash-marker.ts'

type LoadQueue = Extract<CoreRequest, { kind: 'load-queue' }>
const firstPauseMs = 100
const maxPauseMs = 5_000
/**
 * Maximum number of concurrent reads. More would not be faster, because the process has four threads for them. Without a limit,
 * when 16,000 clients reconnected at once, each turn took two seconds and the reads used more than a gigabyte.
 */
const maxConcurrentReads = 64

type QueueLoaded = Extract<Input, { kind: 'queue-loaded' }>

export interface QueueReadsCallbacks {
  /**
   * Passes a response to the core. The callback must handle it within `marked(() => ...)`: if that throws, the crash marker keeps the
   * name of the session.
   */
  respond(response: QueueLoaded, marked: (work: () => void) => void): void
  /** Called when a read failed. The read is retried. */
  onFailure(text: string): void
  /** Called when all reads that had failed have succeeded. */
  onRecovery(): void
  /** Reports an internal error, or a store that broke its contract: the shard cannot continue. */
  fail(error: unknown): void
}

export class QueueReads {
  readonly #readers: QueueReaders
  readonly #callbacks: QueueReadsCallbacks
  readonly #crashMarker: CrashMarker | undefined
  /** Requests that wait for a commit. */
  #waitingForCommit: LoadQueue[] = []
  /** Requests that wait for the end of other reads, in order. */
  readonly #waitingForRead = new PendingQueue<LoadQueue>()
  #activeReads = 0
  /** Number of active reads that have failed at least once. */
  #failing = 0
  #isEnding = false
  #onIdle: (() => void) | undefined

  constructor(store: Store, callbacks: QueueReadsCallbacks, crashMarker?: CrashMarker) {
    this.#crashMarker = crashMarker
    this.#readers = new QueueReaders(store)
    this.#callbacks = callbacks
  }

  /** Starts no further reads. Resolves when no read is in progress and no snapshot is open. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#activeReads > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await this.#readers.closeAll()
  }

  add(load: LoadQueue, committedBatch: number): void {
    if (load.afterBatch <= committedBatch) this.#enqueue(load)
    else this.#waitingForCommit.push(load)
  }

  handleCommitted(batch: number): void {
    if (this.#waitingForCommit.length === 0) return
    const ready = this.#waitingForCommit.filter((load) => load.afterBatch <= batch)
    this.#waitingForCommit = this.#waitingForCommit.filter((load) => load.afterBatch > batch)
    for (const load of ready) this.#enqueue(load)
  }

  #enqueue(load: LoadQueue): void {
    this.#waitingForRead.push(load)
    this.#readNext()
  }

  #readNext(): void {
    if (this.#isEnding || this.#activeReads >= maxConcurrentReads) return
    const load = this.#waitingForRead.shift()
    if (load !== undefined) this.#read(load)
  }

  #read(load: LoadQueue): void {
    this.#activeReads++
    this.#readWithRetries(load).then(
      (part) => {
        this.#activeReads--
        if (part !== undefined) this.#respond(load, part)
        this.#readNext()
        if (this.#activeReads === 0) this.#onIdle?.()
      },
      (error: unknown) => {
        this.#crashMarker?.set({ kind: 'session', clientId: load.clientId })
        this.#callbacks.fail(error)
      },
    )
  }

  /** Passes a response to the core. If that fails, the shard ends, and the crash marker keeps the name of the session. */
  #respond({ requestId, clientId }: LoadQueue, part: QueuePart): void {
    const response = { kind: 'queue-loaded', requestId, ...part } as const
    this.#callbacks.respond(response, (work) =>
      this.#crashMarker === undefined ? work() : this.#crashMarker.runMarked({ kind: 'session', clientId }, work),
    )
  }

  /** Resolves with the part; undefined if the shard ends before it could be read. */
  async #readWithRetries(load: LoadQueue): Promise<QueuePart | undefined> {
    let hasFailed = false
    for (let pauseMs = firstPauseMs; !this.#isEnding; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        const part = await this.#readers.read(load)
        if (hasFailed) this.#handleRecovery()
        return part
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        if (!hasFailed) this.#failing++
        hasFailed = true
        this.#callbacks.onFailure(`the queue of a session could not be read: ${error.message}`)
      }
      await pause(pauseMs)
    }
    return undefined
  }

  #handleRecovery(): void {
    this.#failing--
    if (this.#failing === 0) this.#callbacks.onRecovery()
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
