// Bodies that were read lately. What was published once for thousands of clients that were away is wanted thousands of
// times when they come back: it is read once, and all of them share its bytes.
//
// An id is never given out twice and its body never changes, so what is remembered of an opening of the database is true for as
// long as anything refers to it.

import type { StoredMessage } from '../records/index.ts'

/** Of payloads, and of what else a body takes: when those that came last reach it, the ones before them are forgotten. */
const segmentBytes = 1_048_576
/** Larger ones are too few to be worth their room. */
const maxPayloadBytes = 65_536
/** Objects, topic, properties: an estimate. */
const overheadBytes = 512

export class PayloadCache {
  #older = new Map<number, StoredMessage>()
  #newer = new Map<number, StoredMessage>()
  /** Of the newer ones. */
  #bytes = 0

  get(id: number): StoredMessage | undefined {
    return this.#newer.get(id) ?? this.#older.get(id)
  }

  add(id: number, message: StoredMessage): void {
    const bytes = message.payload.byteLength + overheadBytes
    if (bytes > maxPayloadBytes) return
    if (this.#bytes + bytes > segmentBytes) {
      this.#older = this.#newer
      this.#newer = new Map()
      this.#bytes = 0
    }
    this.#newer.set(id, message)
    this.#bytes += bytes
  }
}
