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

/** The process has four threads for reads, and each message may have a megabyte. */
const maxUnderWay = 8

export interface MessageLoadsCallbacks {
  /** `marked` runs the handling of the response; the mark stays if that throws. */
  respond(response: MessageLoaded, marked: (work: () => void) => void): void
  noteFailure(text: string): void
  /** Called when all data that could not be read has been read since. */
  noteRecovery(): void
  /** Reports an internal error: the shard cannot continue. */
  fail(error: unknown): void
}

export class MessageLoads {
  readonly #store: Store
  readonly #callbacks: MessageLoadsCallbacks
  readonly #mark: CrashMarker | undefined
  readonly #inLine = new PendingQueue<LoadMessage>()
  #underWay = 0
  #failing = 0
  #isEnding = false
  #whenIdle: (() => void) | undefined

  constructor(store: Store, callbacks: MessageLoadsCallbacks, mark?: CrashMarker) {
    this.#store = store
    this.#callbacks = callbacks
    this.#mark = mark
  }

  add(load: LoadMessage): void {
    this.#inLine.push(load)
    this.#readNext()
  }

  /** Starts no further reads; resolves when none is in progress. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve))
  }

  #readNext(): void {
    if (this.#isEnding || this.#underWay >= maxUnderWay) return
    const load = this.#inLine.shift()
    if (load !== undefined) this.#read(load)
  }

  #read(load: LoadMessage): void {
    this.#underWay++
    this.#readUntilRead(load.of).then(
      (read) => {
        this.#underWay--
        if (read !== undefined) this.#take(load, read.message)
        this.#readNext()
        if (this.#underWay === 0) this.#whenIdle?.()
      },
      (error: unknown) => {
        this.#mark?.set(suspectOf(load))
        this.#callbacks.fail(error)
      },
    )
  }

  /** The shard catches an internal error and ends: then the mark stays. */
  #take(load: LoadMessage, message: StoredMessage | undefined): void {
    const response = { kind: 'message-loaded', requestId: load.requestId, message } as const
    this.#callbacks.respond(response, (work) =>
      this.#mark === undefined ? work() : this.#mark.during(suspectOf(load), work),
    )
  }

  /** Undefined: the shard ends. */
  async #readUntilRead(of: MessageRecordKey): Promise<{ message: StoredMessage | undefined } | undefined> {
    let hasFailed = false
    for (let pauseMs = firstPauseMs; !this.#isEnding; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        const message = await readMessage(this.#store, of)
        if (hasFailed && --this.#failing === 0) this.#callbacks.noteRecovery()
        return { message }
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        if (!hasFailed) this.#failing++
        hasFailed = true
        const what = of.kind === 'will' ? 'a will' : 'a retained message'
        this.#callbacks.noteFailure(`${what} could not be read: ${error.message}`)
      }
      await pause(pauseMs)
    }
    return undefined
  }
}

/** Undefined if there is no such record, or if it is damaged, which the store reports. Throws StorageFailure. */
async function readMessage(store: Store, of: MessageRecordKey): Promise<StoredMessage | undefined> {
  for await (const record of store.read(of))
    if (record.kind === 'will' || record.kind === 'retained') return record.message
  return undefined
}

function suspectOf({ of }: LoadMessage): CrashCandidate {
  return of.kind === 'will' ? { kind: 'session', clientId: of.clientId } : { kind: 'retained', topic: of.topic }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
