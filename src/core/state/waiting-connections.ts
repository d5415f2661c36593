// Connections that wait for something else than their client. Those that wait for peers are in the peer table.

import type { Connection } from '../model/connection.ts'

export class WaitingConnections {
  /** Wait until an older connection of the same client ID is read to its end, by client ID. */
  readonly forTakeover = new Map<string, Set<Connection>>()
  /** Reading pauses until the store works again. */
  readonly forStorage = new Set<Connection>()
  /** Reading pauses until the next check of the node's memory. */
  readonly forMemory = new Set<Connection>()
  /** Reading pauses until action queues have space. */
  readonly forActions = new Set<Connection>()
}
