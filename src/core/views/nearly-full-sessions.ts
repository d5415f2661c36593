// Persistent sessions whose queue has 80 % of mqtt.max_stored_messages or more.

import { selectMaxStored, selectOverflow } from '../queues/persistent-queue.ts'
import type { Parts } from '../state/parts.ts'

export interface NearlyFullSession {
  readonly clientId: string
  readonly storedMessages: number
  readonly limit: number
  /** Undefined: the client is connected. */
  readonly lastSeenAtMs: number | undefined
  readonly dropsOldest: boolean
}

/** Returns at most `max` of these sessions. */
export function listNearlyFull(
  { sessions, settings }: Readonly<Parts<'sessions' | 'settings'>>,
  max: number,
): NearlyFullSession[] {
  const found: NearlyFullSession[] = []
  for (const session of sessions.nearlyFull) {
    if (found.length === max) break
    const { clientId, connection, disconnectedAtMs, stored } = session
    if (stored === undefined) continue
    found.push({
      clientId,
      storedMessages: stored.count,
      limit: selectMaxStored(settings, session),
      lastSeenAtMs: connection === undefined ? disconnectedAtMs : undefined,
      dropsOldest: selectOverflow(settings, session) === 'drop-oldest',
    })
  }
  return found
}
