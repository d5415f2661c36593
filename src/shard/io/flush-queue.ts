// Connections whose buffers are written at the end of the turn.

import type { ClientOutput } from './client-output.ts'

export class FlushQueue {
  #outlets: ClientOutput[] = []

  add(output: ClientOutput): void {
    this.#outlets.push(output)
  }

  /**
   * `isShortOfRoom`: all clients together have too many unread bytes. Those with a write in progress get nothing more
   * for now.
   */
  flush(isShortOfRoom: boolean): void {
    const outlets = this.#outlets
    this.#outlets = []
    for (const output of outlets) {
      output.flush()
      if (isShortOfRoom && output.isWriting && output.connection !== undefined) output.connection.unsentBytes = Infinity
    }
  }
}
