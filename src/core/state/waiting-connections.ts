// Connections that wait for an event other than a packet of their client.

import type { Connection } from '../model/connection.ts'

export class WaitingConnections {
  /** By client ID: each connection waits until an older connection with the client ID is read to its end. */
  readonly forTakeover = new Map<string, Set<Connection>>()
  /** By client ID: the input of the older connection is being read to its end, or was. An entry of `forTakeover` exists too. */
  readonly drains = new Map<string, 'requested' | 'done'>()
  /** Reading pauses until the store works again. */
  readonly forStorage = new Set<Connection>()
  /** Reading pauses until the next check of the node's memory. */
  readonly forMemory = new Set<Connection>()
  /** Reading pauses until action queues have space. */
  readonly forActions = new Set<Connection>()
  /** Reading pauses until queues of sessions have space. */
  readonly forQueues = new Set<Connection>()
  /** Reading pauses until the next part of a packet was handled, in the next turn. */
  readonly forTurn = new Set<Connection>()
  /** Reading pauses until a peer can receive, or has responded. */
  readonly forPeers = new Set<Connection>()

  /** Returns whether a publication of the connection waits for a receiver or the store. */
  isHeld(connection: Connection): boolean {
    return (
      this.forStorage.has(connection) ||
      this.forActions.has(connection) ||
      this.forQueues.has(connection) ||
      this.forPeers.has(connection)
    )
  }

  /** Called when an open connection closes: it no longer waits for anything. */
  forget(connection: Connection): void {
    this.forStorage.delete(connection)
    this.forMemory.delete(connection)
    this.forActions.delete(connection)
    this.forQueues.delete(connection)
    this.forTurn.delete(connection)
    this.forPeers.delete(connection)
  }
}
