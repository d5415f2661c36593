// Packet identifiers of QoS 2 messages whose PUBREL has not arrived. They are kept as long as the session, so that a client
// that returns after any time and sends the same PUBLISH again has it delivered once [MQTT-4.3.3-2] [MQTT5-4.3.3-10].

import { isBridgeClient } from '../model/bridge-client-id.ts'
import { releaseOnPeers } from '../peers/qos2-forwarding.ts'
import { deleteRecord } from '../queues/persistent-queue.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Session } from '../state/sessions/session.ts'

/**
 * Frees the packet identifiers that are older than mqtt.await_rel_timeout. For a session that has mqtt.max_awaiting_rel of
 * them: without it a client that lost its own state could not publish with QoS 2 in this session.
 */
export function expireUnreleased(state: BrokerState, session: Session): void {
  const { awaitReleaseTimeoutMs } = state.settings
  // A remote broker knows its own packet identifiers, however long it was away.
  if (session.incoming === undefined || awaitReleaseTimeoutMs === 0 || isBridgeClient(session.clientId)) return
  if (state.nowMs < session.unreleasedExpireAtMs) return
  let oldestMs = state.nowMs
  for (const [packetId, sinceMs] of session.incoming.entries()) {
    if (sinceMs + awaitReleaseTimeoutMs > state.nowMs) {
      oldestMs = Math.min(oldestMs, sinceMs)
      continue
    }
    session.incoming.delete(packetId)
    if (session.stored !== undefined) deleteRecord(state, { kind: 'incoming', clientId: session.clientId, packetId })
    releaseOnPeers(state, session, packetId)
  }
  // Until then no identifier can expire: this loop over up to 65,535 of them runs once in that time, not for each PUBLISH.
  session.unreleasedExpireAtMs = oldestMs + awaitReleaseTimeoutMs
}
