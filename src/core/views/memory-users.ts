// Finds the clients that use most of the memory. This is computed only when memory is short, so it costs nothing on the message path.

import type { SessionTable } from '../state/sessions/session-table.ts'
import type { MemoryUse } from '../model/memory-account.ts'
import type { Session } from '../state/sessions/session.ts'

export interface MemoryUser {
  readonly use: MemoryUse
  readonly clientId: string
  /** Estimated memory. */
  readonly bytes: number
}

/** Estimated memory of a subscription with its options and its entries in the router. */
const subscriptionBytes = 512

/** Returns for each session its memory by use, in no order; small uses are omitted. */
export function* walkMemoryUsers(sessions: SessionTable): IterableIterator<readonly MemoryUser[]> {
  for (const session of sessions.values()) yield listUses(session)
}

const minReportedBytes = 65_536

function listUses({ clientId, connection, subscriptions, outgoing }: Session): MemoryUser[] {
  const all = [
    { use: 'queues', clientId, bytes: outgoing.heldBytes },
    { use: 'aliases', clientId, bytes: connection?.aliasBytes ?? 0 },
    { use: 'filters', clientId, bytes: (subscriptions?.size ?? 0) * subscriptionBytes },
    { use: 'buffers', clientId, bytes: connection?.unsentBytes ?? 0 },
  ] as const
  return all.filter(({ bytes }) => bytes >= minReportedBytes)
}
