// Packet identifiers of QoS 2 messages whose PUBREL has not arrived. They are stored as long as the session, so that
// the duplicate of a client that returns after any time is not delivered again [MQTT-4.3.3-2] [MQTT5-4.3.3-10].

import { isInternalClient } from '../messages/internal-clients.ts'
import { releaseOnPeers } from '../peers/qos2-forwarding.ts'
import { deleteRecord } from '../queues/persistent-queue.ts'
import type { ExchangeParts, Parts } from '../state/parts.ts'
import type { PartialMessage } from '../state/sessions/incoming-messages.ts'
import type { Session } from '../state/sessions/session.ts'

/** Shards keep a packet identifier of another shard for this number of timeouts: see `peer-handlers/expire-received-ids.ts`. */
const timeoutsUntilForgotten = 3

/** Returns whether a partial message is so old that its packet identifier may be that of a new message. */
export function isForgotten({ nowMs, settings }: Parts<'nowMs' | 'settings'>, partial: PartialMessage): boolean {
  const { awaitReleaseTimeoutMs } = settings
  return awaitReleaseTimeoutMs > 0 && nowMs - partial.restoredAtMs > timeoutsUntilForgotten * awaitReleaseTimeoutMs
}

/**
 * Frees packet identifiers older than mqtt.await_rel_timeout, for a session that reached mqtt.max_awaiting_rel.
 * Otherwise a client that lost its own state could not publish with QoS 2 in this session.
 */
export function expireUnreleased(state: ExchangeParts, session: Session): void {
  const { awaitReleaseTimeoutMs } = state.settings
  // A remote broker remembers its packet identifiers, regardless of the time.
  if (session.incoming.packetIds === undefined || awaitReleaseTimeoutMs === 0 || isInternalClient(session.clientId))
    return
  if (state.nowMs < session.incoming.nextExpiryAtMs) return
  let oldestMs = state.nowMs
  for (const [packetId, sinceMs] of session.incoming.packetIds.entries()) {
    if (sinceMs + awaitReleaseTimeoutMs > state.nowMs) {
      oldestMs = Math.min(oldestMs, sinceMs)
      continue
    }
    session.incoming.release(packetId)
    if (session.stored !== undefined)
      deleteRecord(state.batches, { kind: 'incoming', clientId: session.clientId, packetId })
    releaseOnPeers(state, session, packetId)
  }
  // Before this time no identifier can expire, so the loop over up to 65,535 of them does not run at each PUBLISH.
  session.incoming.nextExpiryAtMs = oldestMs + awaitReleaseTimeoutMs
}
