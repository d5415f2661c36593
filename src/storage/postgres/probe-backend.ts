// Finds out on another connection whether the server still works on a statement. A slow commit is not a lost connection: it may wait for
// the standby.

import { StorageFailure } from '../store.ts'
import { ServerConnection, ServerError } from './server-connection.ts'
import type { StoreAddress } from './store-address.ts'

/**
 * Resolves if the server works on the statement of `connection`, or refuses another connection. Rejects with StorageFailure
 * otherwise.
 */
export async function probeBackend(address: StoreAddress, connection: ServerConnection): Promise<void> {
  const { host } = connection.server
  let probe: ServerConnection
  try {
    probe = await ServerConnection.open({ address, host, use: 'maintenance' })
  } catch (error) {
    if (error instanceof StorageFailure && error.cause instanceof ServerError) return
    throw error
  }
  try {
    // Between the statements of a transaction, and while it receives the next one, it is idle in its transaction.
    const { rows } = await probe.run({
      text: `SELECT state FROM pg_stat_activity WHERE pid = $1`,
      values: [connection.facts.backend],
    })
    const state = String(rows[0]?.[0])
    if (state !== 'active' && !state.startsWith('idle in transaction')) {
      throw new StorageFailure(`the response of the database was lost (${state})`)
    }
  } finally {
    probe.destroy()
  }
}
