// DISCONNECT of the client, possibly with a new session expiry or a request to publish its will.

import { reasonCodes, type DisconnectPacket } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { startStoring } from '../sessions/end-session.ts'
import { neverExpires, type Session } from '../state/sessions/session.ts'
import { closeAfterAcks, endConnection, detachConnection } from '../connect/close-connection.ts'
import type { Open } from '../state/connection-state.ts'

export function handleDisconnect(
  state: BrokerState,
  connection: Connection,
  { session, hasSessionExpiry }: Open,
  packet: DisconnectPacket,
): void {
  const expiry = packet.properties?.sessionExpiryIntervalSeconds
  if (expiry !== undefined) {
    const isOfGateway = connection.listener.gateway !== undefined
    if (!hasSessionExpiry && expiry > 0 && !isOfGateway) {
      // [MQTT5-3.14.2-2] A session that ends with its connection cannot become persistent in DISCONNECT.
      const text = 'a session expiry for a session without one'
      return endConnection(state, connection, { reason: reasonCodes.protocolError, text, publishWill: true })
    }
    changeExpiry(state, session, { expirySeconds: expiry, isOfGateway })
  }
  // [MQTT-3.14.4-3] [MQTT5-3.14.4-3] A normal DISCONNECT deletes the will, unless the client requests its publication.
  const publishWill = packet.reasonCode !== reasonCodes.normalDisconnection
  const { reasonCode: reason, properties } = packet
  detachConnection(state, connection, { reason, text: 'the client has disconnected', publishWill, properties })
  closeAfterAcks(state, connection, packet.reasonCode)
}

/**
 * A session with expiry 0 has no records: it ends with its connection, even if the maximum was raised meanwhile. The session of a gateway
 * client may outlive its connection in memory, because a gateway opens a new connection to change a will.
 */
function changeExpiry(
  state: Parts<'batches' | 'settings'>,
  session: Session,
  { expirySeconds, isOfGateway }: { readonly expirySeconds: number; readonly isOfGateway: boolean },
): void {
  if (session.expirySeconds === 0 && !isOfGateway) return
  session.expirySeconds = Math.min(expirySeconds, state.settings.maxSessionExpirySeconds ?? neverExpires)
  if (session.expirySeconds > 0 && session.stored !== undefined) startStoring(state.batches, session)
}
