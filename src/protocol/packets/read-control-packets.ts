// Decodes the small packets: CONNACK, the four acknowledgements, DISCONNECT and AUTH
// (sections 3.2, 3.4 to 3.7, 3.14, 3.15).

import type { ByteReader } from '../bytes/byte-reader.ts'
import type { PacketLimits } from './packet-limits.ts'
import { AckPacket } from './packets.ts'
import type { AckType, AuthPacket, ConnackPacket, DisconnectPacket, ProtocolVersion } from './packets.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import { readProperties } from '../properties/read-properties.ts'
import { readPacketId } from './read-subscription-packets.ts'
import { reasonCodes } from '../reasons/reason-codes.ts'
import { checkReason } from './reason-rules.ts'

/** Throws `ProtocolError`. */
export function readConnack(reader: ByteReader, version: ProtocolVersion, limits: PacketLimits): ConnackPacket {
  const flags = reader.uint8('connack flags')
  // [MQTT-3.2.2-1] [MQTT5-3.2.2-1]
  if (flags > 1) throw new ProtocolError('malformedPacket', 'connack flags set a reserved bit')
  const reasonCode: number = checkReason('connack', reader.uint8('return code'), version)
  const properties = version === 5 ? readProperties(reader, 'connack', limits.maxPropertyBytes) : undefined
  reader.expectEnd('connack')
  return { type: 'connack', sessionPresent: flags === 1, reasonCode, properties }
}

/** Reads an acknowledgement that has more fields than the packet identifier. Throws `ProtocolError`. */
export function readAck(reader: ByteReader, type: AckType, version: ProtocolVersion, limits: PacketLimits): AckPacket {
  const packetId = readPacketId(reader, type)
  // In 5.0, a successful reason code without properties may be omitted; before 5.0 there are no further fields.
  if (version !== 5 || !reader.hasMore) {
    reader.expectEnd(type)
    return new AckPacket(type, packetId, reasonCodes.success, undefined)
  }
  const reasonCode = checkReason(type, reader.uint8('reason code'), version)
  const properties = reader.hasMore ? readProperties(reader, type, limits.maxPropertyBytes) : undefined
  reader.expectEnd(type)
  return new AckPacket(type, packetId, reasonCode, properties)
}

/** Throws `ProtocolError`. */
export function readDisconnect(reader: ByteReader, version: ProtocolVersion, limits: PacketLimits): DisconnectPacket {
  if (version !== 5 || !reader.hasMore) {
    reader.expectEnd('disconnect')
    return { type: 'disconnect', reasonCode: reasonCodes.normalDisconnection, properties: undefined }
  }
  const reasonCode = checkReason('disconnect', reader.uint8('reason code'), version)
  const properties = reader.hasMore ? readProperties(reader, 'disconnect', limits.maxPropertyBytes) : undefined
  reader.expectEnd('disconnect')
  return { type: 'disconnect', reasonCode, properties }
}

/** Throws `ProtocolError`. The broker checks whether the method is that of the CONNECT. */
export function readAuth(reader: ByteReader, limits: PacketLimits): AuthPacket {
  if (!reader.hasMore) return { type: 'auth', reasonCode: reasonCodes.success, properties: undefined }
  const reasonCode = checkReason('auth', reader.uint8('reason code'), 5)
  const properties = readProperties(reader, 'auth', limits.maxPropertyBytes)
  reader.expectEnd('auth')
  return { type: 'auth', reasonCode, properties }
}
