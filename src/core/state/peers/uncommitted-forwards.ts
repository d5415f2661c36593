// Messages for a peer that must not be sent before their assignment to it is durable. Later messages for shared subscriptions wait
// behind them, so that the order is kept.
//
//   [ batch 7 ][ - ][ batch 8 ]   when batch 7 is durable, the first two are sent: the second waits for no batch

import { PendingQueue } from '../sessions/pending-queue.ts'

interface Entry {
  isCommitted: boolean
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
    const entry: Entry = { isCommitted: false, payloadBytes, send }
    this.#entries.push(entry)
    this.bytes += payloadBytes
    return () => {
      entry.isCommitted = true
      this.#sendCommitted()
    }
  }

  #sendCommitted(): void {
    for (let first = this.#entries.peek(); first?.isCommitted === true; first = this.#entries.peek()) {
      this.#entries.shift()
      this.bytes -= first.payloadBytes
      first.send()
    }
  }
}
