// The right of the publisher to the topic of its message.

import { type PacketId, reasonCodes } from '../../protocol/index.ts'
import { resolvePermission, waitForAuthorization } from '../connect/authorization-wait.ts'
import { endConnection } from '../connect/close-connection.ts'
import { authorizePublish, recordAuthorization } from '../publish/authorize-publish.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Session } from '../state/sessions/session.ts'
import { forgetReceived } from './hold-publish.ts'
import type { PublishAttempt } from '../state/publish-attempt.ts'

/**
 * Decides whether the client may publish to its topic. A denied message goes on, because it may have to be acknowledged. Returns false if the
 * packet waits for the decision, or the connection is closed because of it.
 */
export function authorizeAttempt(state: BrokerState, attempt: PublishAttempt): boolean {
  const { connection, open, packet, topic } = attempt
  const { session } = open
  // [MQTT-4.3.3-2] A duplicate of an accepted message.
  if (packet.qos === 2 && isAccepted(session, packet.packetId)) return true
  const known = authorizePublish(state.access, connection, session.identity, topic, packet)
  const permission = known === 'unknown' ? resolvePermission(open, packet, topic.name, known) : known
  if (permission === 'allow') return true
  if (permission === 'deny') {
    attempt.isDenied = true
    return true
  }
  if (permission === 'unknown') {
    forgetReceived(state, session)
    const { qos, retain } = packet
    const wanted = [{ action: 'publish', topic: topic.name, qos, retain }] as const
    waitForAuthorization(state, connection, open, { packet, wanted })
    return false
  }
  if (state.rules.triggers.wanted.authorization) recordDecision(state, attempt, false)
  const text = 'not allowed to publish'
  endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
  return false
}

/** Records the decision for rules. */
export function recordDecision(
  state: Parts<'nowMs' | 'rules'>,
  { connection, open, topic }: PublishAttempt,
  isAllowed: boolean,
): void {
  recordAuthorization(state, connection, open.session, { action: 'publish', topic: topic.name, isAllowed })
}

/**
 * Returns whether this start of the shard has accepted the message already. Returns false for a message that was accepted before the
 * restart of this shard: it may still have to go to peers, and its permission is not known.
 */
function isAccepted({ incoming }: Session, packetId: PacketId): boolean {
  const isIncomplete =
    incoming.forwarded?.get(packetId)?.isFromEarlierGeneration === true ||
    incoming.partial?.get(packetId)?.isRouted === false
  return !isIncomplete && incoming.packetIds?.has(packetId) === true
}
