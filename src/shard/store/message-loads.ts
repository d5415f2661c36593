// Reads single messages for the core: due wills and payloads of retained messages. After a failure it reads again, with
// increasing pauses.

import { type CoreRequest, type Input, type MessageRecordKey, PendingQueue } from '../../core/index.ts'
import type { StoredMessage } from '../../records/index.ts'
import { StorageFailure, type Store } from '../../storage/index.ts'
import type { CrashMarker, CrashCandidate } from './crash-marker.ts'

type LoadMessage = Extract<CoreRequest, { kind: 'load-message' }>
type MessageLoaded = Extract<Input, { kind: 'message-loaded' }>

const firstPauseMs = 100
const maxPauseMs = 5_000

/** Maximum number of concurrent reads. The process has four threads for reads, and each message may have a megabyte. */
const maxConcurrentReads = 8

export interface MessageLoadsCallbacks {
  /** Passes a response to the core, within `marked`. If that throws, the crash marker keeps the name of the record. */
  respond(response: MessageLoaded, marked: (work: () => void) => void): void
  onFailure(text: string): void
  /** Called when all reads that had failed have succeeded. */
  onRecovery(): void
  /** Reports an internal error: the shard cannot continue. */
  fail(error: unknown): void
}

export class MessageLoads {
  readonly #store: Store
  readonly #callbacks: MessageLoadsCallbacks
  readonly #crashMarker: CrashMarker | undefined
  readonly #waiting = new PendingQueue<LoadMessage>()
  #activeReads = 0
  #failing = 0
  #isEnding = false
  #onIdle: (() => void) | undefined

  constructor(store: Store, callbacks: MessageLoadsCallbacks, crashMarker?: CrashMarker) {
    this.#store = store
    this.#callbacks = callbacks
    this.#crashMarker = crashMarker
  }

  add(load: LoadMessage): void {
    this.#waiting.push(load)
    this.#readNext()
  }

  /** Starts no further reads; resolves when none is in progress. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#activeReads > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  #readNext(): void {
    if (this.#isEnding || this.#activeReads >= maxConcurrentReads) return
    const load = this.#waiting.shift()
    if (load !== undefined) this.#read(load)
  }

  #read(load: LoadMessage): void {
    this.#activeReads++
    this.#readWithRetries(load.of).then(
      (read) => {
        this.#activeReads--
        if (read !== undefined) this.#respond(load, read.message)
        this.#readNext()
        if (this.#activeReads === 0) this.#onIdle?.()
      },
      (error: unknown) => {
        this.#crashMarker?.set(toCrashCandidate(load))
        this.#callbacks.fail(error)
      },
    )
  }

  /** Passes a response to the core. If that fails, the shard ends, and the crash marker keeps the name of the record. */
  #respond(load: LoadMessage, message: StoredMessage | undefined): void {
    const response = { kind: 'message-loaded', requestId: load.requestId, message } as const
    this.#callbacks.respond(response, (work) =>
      this.#crashMarker === undefined ? work() : this.#crashMarker.runMarked(toCrashCandidate(load), work),
    )
  }

  /** Resolves with the message; undefined if the shard ends before it could be read. */
  async #readWithRetries(key: MessageRecordKey): Promise<{ message: StoredMessage | undefined } | undefined> {
    let hasFailed = false
    for (let pauseMs = firstPauseMs; !this.#isEnding; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        const message = await readMessage(this.#store, key)
        if (hasFailed && --this.#failing === 0) this.#callbacks.onRecovery()
        return { message }
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        if (!hasFailed) this.#failing++
        hasFailed = true
        const what = key.kind === 'will' ? 'a will' : 'a retained message'
        this.#callbacks.onFailure(`${what} could not be read: ${error.message}`)
      }
      await pause(pauseMs)
    }
    return undefined
  }
}

/** Returns undefined if there is no such record, or if it is damaged, which the store reports. Throws StorageFailure. */
async function readMessage(store: Store, key: MessageRecordKey): Promise<StoredMessage | undefined> {
  for await (const record of store.read(key))
    if (record.kind === 'will' || record.kind === 'retained') return record.message
  return undefined
}

function toCrashCandidate({ of: key }: LoadMessage): CrashCandidate {
  return key.kind === 'will' ? { kind: 'session', clientId: key.clientId } : { kind: 'retained', topic: key.topic }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
