// Publishers that wait until the queue of a session has space: `mqtt.stored_messages_overflow = reject_publish`, and queues of bridges.

import type { PublishPacket } from '../../protocol/index.ts'
import type { Message } from '../messages/message.ts'
import type { Connection } from '../model/connection.ts'
import {
  isGroupOverfull,
  matchesFullPeerSession,
  matchesFullSession,
  matchesOverfullSession,
} from '../delivery/check-receivers.ts'
import type { PermitParts } from '../state/parts.ts'
import type { Session } from '../state/sessions/session.ts'

/**
 * Returns whether the publisher waits: it cannot be refused with a reason, and an acknowledgement would confirm a message that is
 * thrown away. A repeated QoS 2 message was accepted before. A publisher whose own queue is full does not wait, because the
 * acknowledgements that free its queue would wait behind the message. Its messages are stored beyond the limit; at the further limit, it
 * is disconnected without an acknowledgement (`refuse`).
 */
export function decideQueuesPermit(
  state: PermitParts,
  connection: Connection,
  session: Session,
  { packet, message, isRouted }: { packet: PublishPacket; message: Message; isRouted: boolean },
): 'go' | 'wait' | 'refuse' {
  const mayBeFull = state.sessions.full.size > 0 || state.peers.fullFilters > 0
  if (!mayBeFull || !isRouted || packet.qos === 0 || connection.canRefuseMessages) return 'go'
  if (packet.qos === 2 && session.incoming.packetIds?.has(packet.packetId) === true) return 'go'
  if (!state.sessions.full.has(session))
    return matchesFullSession(state, message) || matchesFullPeerSession(state, message) ? 'wait' : 'go'
  const { groups } = state.router.resolvePlan(message.topic)
  const isOverfull =
    matchesOverfullSession(state, message) || groups.some((group) => isGroupOverfull(state, group, message))
  return isOverfull ? 'refuse' : 'go'
}
