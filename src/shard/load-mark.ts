// Which session's queue a shard is taking in, where the node can read it when the shard has died of it:
//
//   length i32 | client id, UTF-8 ...        0: none

import { Buffer } from 'node:buffer'

/** The longest client id that MQTT allows, and a namespace in front of it. */
const mostBytes = 65_535 + 256
const lengthBytes = Int32Array.BYTES_PER_ELEMENT

/** Shared memory for the mark of one shard. */
export function createLoadMark(): SharedArrayBuffer {
  return new SharedArrayBuffer(lengthBytes + mostBytes + 1)
}

export class LoadMark {
  readonly #length: Int32Array
  readonly #text: Buffer

  constructor(memory: SharedArrayBuffer) {
    this.#length = new Int32Array(memory, 0, 1)
    this.#text = Buffer.from(memory, lengthBytes, mostBytes)
  }

  /** Undefined: none. */
  get clientId(): string | undefined {
    const length = Atomics.load(this.#length, 0)
    return length === 0 ? undefined : this.#text.toString('utf8', 0, length)
  }

  /** What is there already stays: the shard is dying of it. */
  during(clientId: string, work: () => void): void {
    const isMine = this.clientId === undefined
    if (isMine) this.set(clientId)
    work()
    if (isMine) this.clear()
  }

  set(clientId: string): void {
    Atomics.store(this.#length, 0, this.#text.write(clientId))
  }

  clear(): void {
    Atomics.store(this.#length, 0, 0)
  }
}
