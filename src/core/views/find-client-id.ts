// The client ID of a connection.

import type { Connection } from '../model/connection.ts'
import { getState } from '../state/connection-state.ts'

/** Undefined if its client was not accepted yet, or is disconnected. */
export function findClientId(connection: Connection): string | undefined {
  const now = getState(connection)
  return now.state === 'open' ? now.session.clientId : undefined
}
