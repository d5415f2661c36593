// What was dealt to a peer and does not leave before it is on disk here that it was dealt to this one. What comes behind it
// for shared subscriptions keeps its place.
//
//   [ batch 7 ][ any ][ batch 8 ]   batch 7 is on disk:  two leave,  [ batch 8 ]

import { PendingQueue } from '../sessions/pending-queue.ts'

interface Place {
  isDecided: boolean
  readonly payloadBytes: number
  readonly leave: () => void
}

export class UncommittedForwards {
  readonly #places = new PendingQueue<Place>()
  /** Of payloads. */
  bytes = 0

  get length(): number {
    return this.#places.length
  }

  /** Behind all others. What it returns is called when it is decided; all that may leave by then does. */
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
