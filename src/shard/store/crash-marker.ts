// Marks what a shard is reading from the store: a session's queue, or a record at its start. If the shard fails because of it, the
// node reads the mark:
//
//   length i32 | kind i32 | text, UTF-8 ...        length 0: nothing

import { Buffer } from 'node:buffer'

/** A session or retained message that is quarantined if it makes its shard fail. A session is quarantined with all its records. */
export type CrashCandidate =
  | { readonly kind: 'session'; readonly clientId: string }
  | { readonly kind: 'retained'; readonly topic: string }

/** Maximum length: the longest client ID or topic of MQTT, with a namespace or mount point. */
const maxBytes = 2 * 65_535
const headerBytes = 2 * Int32Array.BYTES_PER_ELEMENT
const kinds = ['session', 'retained'] as const

/** Creates shared memory for the mark of one shard. */
export function createCrashMarker(): SharedArrayBuffer {
  return new SharedArrayBuffer(headerBytes + maxBytes)
}

export class CrashMarker {
  readonly #header: Int32Array
  readonly #text: Buffer

  constructor(memory: SharedArrayBuffer) {
    this.#header = new Int32Array(memory, 0, 2)
    this.#text = Buffer.from(memory, headerBytes, maxBytes)
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

  /** An existing mark stays, because the shard is failing because of it. */
  runMarked(suspect: CrashCandidate, work: () => void): void {
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
