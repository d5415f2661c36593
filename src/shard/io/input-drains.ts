// Handles the input of a connection that has arrived by now, before another connection takes its session over. The input may be in the
// kernel, at another shard, on a link, or in the decoder of the connection.

import type { Connection } from '../../core/index.ts'
import type { ClientOutput } from './client-output.ts'

export interface InputDrainsCallbacks {
  onDrained(connection: Connection): void
}

export class InputDrains {
  readonly #callbacks: InputDrainsCallbacks
  /** Everything was received, but not all of it is handled: the turn was over. */
  readonly #backlogged = new Set<Connection>()

  constructor(callbacks: InputDrainsCallbacks) {
    this.#callbacks = callbacks
  }

  /** Calls `onDrained` later. */
  start(connections: readonly Connection[]): void {
    for (const connection of connections) {
      const { stream } = connection.output as ClientOutput
      const onReceived = (): void => this.#handleReceived(connection)
      if (stream.waitUntilDrained === undefined) setImmediate(onReceived)
      else stream.waitUntilDrained(onReceived)
    }
  }

  /** Called at the end of a turn, after postponed input was handled. */
  continue(): void {
    if (this.#backlogged.size === 0) return
    for (const connection of this.#backlogged) {
      if (isBacklogged(connection)) continue
      this.#backlogged.delete(connection)
      this.#callbacks.onDrained(connection)
    }
  }

  #handleReceived(connection: Connection): void {
    if (isBacklogged(connection)) this.#backlogged.add(connection)
    else this.#callbacks.onDrained(connection)
  }
}

/** A connection with a backlog is read in a later turn, which is planned already. */
function isBacklogged({ output }: Connection): boolean {
  const { isBacklogged: hasBacklog, isClosed } = output as ClientOutput
  return hasBacklog && !isClosed
}
