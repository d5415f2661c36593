// Messages assigned to a peer that must not be sent before their assignment is durable. Later messages for shared
// subscriptions keep their order.
//
//   [ batch 7 ][ any ][ batch 8 ]   batch 7 is durable:  two are sent,  [ batch 8 ]

import { PendingQueue } from '../sessions/pending-queue.ts'

interface Entry {
  isDecided: boolean
  readonly payloadBytes: number
  readonly send: () => void
}

export class UncommittedForwards {
  readonly #entries = new PendingQueue<Entry>()
  /** Bytes of the payloads of all entries. */
  bytes = 0

  get length(): number {
    return this.#entries.length
  }

  /**
   * Adds an entry at the end. The caller calls the returned function when the assignment is durable; then all entries before
   * the first one that still waits are sent.
   */
  push(payloadBytes: number, send: () => void): () => void {
    const entry: Entry = { isDecided: false, payloadBytes, send }
    this.#entries.push(entry)
    this.bytes += payloadBytes
    return () => {
      entry.isDecided = true
      this.#sendDecided()
    }
  }

  #sendDecided(): void {
    for (let first = this.#entries.peek(); first?.isDecided === true; first = this.#entries.peek()) {
      this.#entries.shift()
      this.bytes -= first.payloadBytes
      first.send()
    }
  }
}
