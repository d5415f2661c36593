// Whose buffers are to be handed to their streams at the end of the turn.

import type { ClientOutput } from './client-output.ts'

export class FlushQueue {
  #outlets: ClientOutput[] = []

  add(outlet: ClientOutput): void {
    this.#outlets.push(outlet)
  }

  /** `isShortOfRoom`: all readers together hold too much. Those that have not taken their last write get nothing more for now. */
  flush(isShortOfRoom: boolean): void {
    const outlets = this.#outlets
    this.#outlets = []
    for (const outlet of outlets) {
      outlet.flush()
      if (isShortOfRoom && outlet.isWriting && outlet.connection !== undefined) outlet.connection.unsentBytes = Infinity
    }
  }
}
