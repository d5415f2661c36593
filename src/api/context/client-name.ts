// Client ID and namespace of a session, in the form of the API.

import { splitNamespacedName } from '../../core/index.ts'

export interface ClientName {
  readonly clientid: string
  /** Absent: in none. */
  readonly namespace?: string
}

export function toClientName(session: string): ClientName {
  const { namespace, name: clientid } = splitNamespacedName(session)
  return namespace === undefined ? { clientid } : { clientid, namespace }
}
