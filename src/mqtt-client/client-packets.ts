// Packets with which a client begins and ends a connection, and limits of the packets that it receives.

import {
  type ConnectPacket,
  type DisconnectPacket,
  type PacketLimits,
  type ProtocolVersion,
  reasonCodes,
} from '../protocol/index.ts'

/** The largest packet of MQTT. */
const largestPacketBytes = 268_435_460

/** Default: none. Packets of a broker in this process need no limit: in MQTT 5.0 they may be larger than the original packet. */
export function createReceiveLimits(maxPacketBytes = largestPacketBytes): PacketLimits {
  return { maxPacketBytes, maxPropertyBytes: maxPacketBytes, maxTopicLevels: 65_535, maxTopicBytes: 65_535 }
}

/** Returns a CONNECT of a client without a keep alive, credentials and a will, unless they are given. */
export function createConnectPacket(
  fields: Pick<ConnectPacket, 'version' | 'clientId' | 'cleanStart'> & Partial<ConnectPacket>,
): ConnectPacket {
  const { version, username, password } = fields
  return {
    type: 'connect',
    keepAliveSeconds: 0,
    will: undefined,
    properties: undefined,
    isBridge: false,
    ...fields,
    username,
    // [MQTT-3.1.2-22] Before 5.0 a password requires a user name.
    password: version === 5 || username !== undefined ? password : undefined,
  }
}

export function createDisconnectPacket(
  version: ProtocolVersion,
  options: { reason?: DisconnectPacket['reasonCode']; deletesSession?: boolean },
): DisconnectPacket {
  const { reason = reasonCodes.normalDisconnection, deletesSession = false } = options
  return {
    type: 'disconnect',
    reasonCode: reason,
    properties: version === 5 && deletesSession ? { sessionExpiryIntervalSeconds: 0 } : undefined,
  }
}
