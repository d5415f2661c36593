// Caches recently read payloads. A payload published once for thousands of disconnected clients is needed thousands of
// times when they reconnect. It is read once, and all these clients share its bytes.
//
// An ID is never used again and its payload never changes, so entries are valid for one opening of the database without
// invalidation.

import type { StoredMessage } from '../../records/index.ts'

/** Maximum bytes of the newer entries, with overhead. When they reach it, the older entries are removed and the newer ones become the older ones. */
const segmentBytes = 1_048_576
/** Larger payloads are not cached: only few would fit. */
const maxPayloadBytes = 65_536
/** Estimated memory of an entry without its payload: objects, topic, properties. */
const overheadBytes = 512

export class PayloadCache {
  #older = new Map<number, StoredMessage>()
  #newer = new Map<number, StoredMessage>()
  /** Bytes of the newer entries. */
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
