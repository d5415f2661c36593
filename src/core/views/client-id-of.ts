// Whose connection it is.

import type { Connection } from '../model/connection.ts'
import { stateOf } from '../state/connection-state.ts'

/** Undefined: its client has not been let in, or is gone. */
export function clientIdOf(connection: Connection): string | undefined {
  const now = stateOf(connection)
  return now.state === 'open' ? now.session.clientId : undefined
}
