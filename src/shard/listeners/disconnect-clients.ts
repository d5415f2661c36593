// Disconnects clients in small groups, so that other clients are served in between.

import type { Input } from '../../core/index.ts'
import type { ShardListener } from '../messages/messages.ts'
import type { ClientOutput } from '../io/client-output.ts'

export interface DisconnectDependencies {
  readonly clientOutputs: Iterable<ClientOutput>
  handleInput(input: Input): void
}

const clientsPerTurn = 256

/** Resolves when all clients of the listeners have been told to disconnect. */
export async function disconnectClients(shard: DisconnectDependencies, listeners: ReadonlySet<number>): Promise<void> {
  const concerned = [...shard.clientOutputs].filter((output) => listeners.has(findListenerNumber(output)))
  for (const [index, output] of concerned.entries()) {
    if (index > 0 && index % clientsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve))
    const { connection } = output
    // A client before CONNECT cannot be told.
    if (connection === undefined || connection.now.state === 'awaiting-connect') output.stream.destroy()
    else shard.handleInput({ kind: 'listener-closed', connection })
  }
}

/** The driver creates connections with its own listeners, see `Shard.accept`. */
function findListenerNumber({ connection }: ClientOutput): number {
  return (connection?.listener as ShardListener | undefined)?.number ?? -1
}
