// Messages assigned to a peer that must not be sent before their assignment is durable. Later messages for shared
// subscriptions keep their order.
//
//   [ batch 7 ][ any ][ batch 8 ]   batch 7 is durable:  two are sent,  [ batch 8 ]

import { PendingQueue } from '../sessions/pending-queue.ts'

interface Place {
  isDecided: boolean
  readonly payloadBytes: number
  readonly leave: () => void
}

export class UncommittedForwards {
  readonly #places = new PendingQueue<Place>()
  /** Bytes of payloads. */
  bytes = 0

  get length(): number {
    return this.#places.length
  }

  /**
   * Adds an entry at the end. The returned function is called when the assignment is durable; then all entries up to
   * the next that waits are sent.
   */
  push(payloadBytes: number, leave: () => void): () => void {
    const place: Place = { isDecided: false, payloadBytes, leave }
    this.#places.push(place)
    this.bytes += payloadBytes
    return () => {
      place.isDecided = true
      this.#leave()
    }
  }

  #leave(): void {
    for (let first = this.#places.peek(); first?.isDecided === true; first = this.#places.peek()) {
      this.#places.shift()
      this.bytes -= first.payloadBytes
      first.leave()
    }
  }
}
