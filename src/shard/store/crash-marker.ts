// What of the store a shard is taking in: a session's queue, or a record at its start. The node can read it when the
// shard has died of it:
//
//   length i32 | kind i32 | text, UTF-8 ...        length 0: nothing

import { Buffer } from 'node:buffer'

/** What is to be taken out of the store where it ends its shard. A session goes with all that is its. */
export type CrashCandidate =
  | { readonly kind: 'session'; readonly clientId: string }
  | { readonly kind: 'retained'; readonly topic: string }

/** The longest client id or topic that MQTT allows, and a namespace or mount point in front of it. */
const mostBytes = 2 * 65_535
const headerBytes = 2 * Int32Array.BYTES_PER_ELEMENT
const kinds = ['session', 'retained'] as const

/** Shared memory for the mark of one shard. */
export function createCrashMarker(): SharedArrayBuffer {
  return new SharedArrayBuffer(headerBytes + mostBytes)
}

export class CrashMarker {
  readonly #header: Int32Array
  readonly #text: Buffer

  constructor(memory: SharedArrayBuffer) {
    this.#header = new Int32Array(memory, 0, 2)
    this.#text = Buffer.from(memory, headerBytes, mostBytes)
  }

  /** Undefined: none. */
  get suspect(): CrashCandidate | undefined {
    const length = Atomics.load(this.#header, 0)
    if (length === 0) return undefined
    const text = this.#text.toString('utf8', 0, length)
    return kinds[Atomics.load(this.#header, 1)] === 'retained'
      ? { kind: 'retained', topic: text }
      : { kind: 'session', clientId: text }
  }

  /** What is there already stays: the shard is dying of it. */
  during(suspect: CrashCandidate, work: () => void): void {
    const isMine = Atomics.load(this.#header, 0) === 0
    if (isMine) this.set(suspect)
    work()
    if (isMine) this.clear()
  }

  set(suspect: CrashCandidate): void {
    const text = suspect.kind === 'session' ? suspect.clientId : suspect.topic
    Atomics.store(this.#header, 1, kinds.indexOf(suspect.kind))
    Atomics.store(this.#header, 0, this.#text.write(text))
  }

  clear(): void {
    Atomics.store(this.#header, 0, 0)
  }
}
