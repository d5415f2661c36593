// Connections whose buffers are written at the end of the turn.

import type { ClientOutput } from './client-output.ts'

export class FlushQueue {
  #outputs: ClientOutput[] = []

  add(output: ClientOutput): void {
    this.#outputs.push(output)
  }

  /**
   * `isMemoryShort`: all clients together have too many unsent bytes. Those with a write in progress get nothing more
   * for now.
   */
  flush(isMemoryShort: boolean): void {
    const outputs = this.#outputs
    this.#outputs = []
    for (const output of outputs) {
      output.flush()
      if (isMemoryShort && output.isWriting && output.connection !== undefined) output.connection.unsentBytes = Infinity
    }
  }
}
