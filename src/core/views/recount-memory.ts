// Counts the memory of all state again. The result must equal the account; otherwise a handler did not add or return
// bytes. It visits all sessions and messages, so it is for tests only.

import { measureMessageMemory, deliveryBytes } from '../outgoing/delivery-memory.ts'
import type { MemoryUse } from '../model/memory-account.ts'
import type { Message } from '../messages/message.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'
import { measureSession, type SessionTable } from '../state/sessions/session-table.ts'

export type RecountedUse = Extract<MemoryUse, 'sessions' | 'queues' | 'aliases'>

export function recountMemory(sessions: SessionTable): Record<RecountedUse, number> {
  const counted = { sessions: 0, queues: 0, aliases: 0 }
  const messages = new Set<Message>()
  for (const session of sessions.values()) {
    counted.sessions += measureSession(session)
    counted.aliases += session.connection?.aliasBytes ?? 0
    for (const { message } of collectDeliveries(session)) {
      counted.queues += deliveryBytes
      if (message !== undefined) messages.add(message)
    }
  }
  for (const message of messages) counted.queues += measureMessageMemory(message)
  return counted
}

/** Returns the deliveries of the session whose message is in memory, each once. */
function collectDeliveries(session: Session): Set<SessionDelivery> {
  const { stored } = session
  const { inflight, pending } = session.outgoing
  const held = new Set<SessionDelivery>()
  for (const deliveries of [inflight?.listInSendOrder(), pending?.listItems(), stored?.reads.tailInMemory])
    for (const delivery of deliveries ?? []) if (delivery.message !== undefined) held.add(delivery)
  return held
}
