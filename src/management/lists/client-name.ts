// Whose session it is, in the words of the API.

import { splitNamespacedName } from '../../core/index.ts'

export interface ClientName {
  readonly clientid: string
  /** Absent: it belongs to none. */
  readonly namespace?: string
}

export function clientName(session: string): ClientName {
  const { namespace, name: clientid } = splitNamespacedName(session)
  return namespace === undefined ? { clientid } : { clientid, namespace }
}
