// Connections whose buffers are written at the end of the turn.

import type { ClientOutput } from './client-output.ts'

export class FlushQueue {
  #outputs: ClientOutput[] = []

  add(output: ClientOutput): void {
    this.#outputs.push(output)
  }

  /**
   * Writes the buffers. `isMemoryShort`: all clients together have too many unsent bytes. Then connections with a write in
   * progress count as full, so the core sends them no further messages for now.
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
