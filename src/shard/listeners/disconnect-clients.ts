// Clients that cannot stay, told and let go a few at a time: the others are served between.

import type { Input } from '../../core/index.ts'
import type { ShardListener } from '../messages/messages.ts'
import type { ClientOutput } from '../io/client-output.ts'

export interface DisconnectDependencies {
  readonly clientOutputs: Iterable<ClientOutput>
  input(input: Input): void
}

const clientsPerTurn = 256

/** Resolves when everybody who came in by one of the listeners has been told to go. */
export async function disconnectClients(shard: DisconnectDependencies, listeners: ReadonlySet<number>): Promise<void> {
  const concerned = [...shard.clientOutputs].filter((output) => listeners.has(listenerNumberOf(output)))
  for (const [index, output] of concerned.entries()) {
    if (index > 0 && index % clientsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve))
    const { connection } = output
    // Who has not said who they are cannot be told.
    if (connection === undefined || connection.now.state === 'awaiting-connect') output.stream.destroy()
    else shard.input({ kind: 'listener-closed', connection })
  }
}

/** The driver makes connections with its own listeners, see `Shard.accept`. */
function listenerNumberOf({ connection }: ClientOutput): number {
  return (connection?.listener as ShardListener | undefined)?.number ?? -1
}
