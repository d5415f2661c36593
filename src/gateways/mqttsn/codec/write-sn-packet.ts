// Encodes packets of MQTT-SN 1.2 [5.4] of a gateway.

import { packetTypes, type SnQoS, type TopicKind, type WirelessNode } from './sn-packets.ts'

/** A longer packet has a length of three bytes [5.2.1]. */
const maxShortBytes = 255
/** Maximum UDP datagram over IPv4. */
export const maxDatagramBytes = 65_507

/** Puts length and type before a body; both versions do so. */
export function encodePacket(type: number, body: Buffer): Buffer {
  if (body.length + 2 <= maxShortBytes) return Buffer.concat([Buffer.of(body.length + 2, type), body])
  const length = body.length + 4
  return Buffer.concat([Buffer.of(0x01, length >> 8, length & 0xff, type), body])
}

/** Concatenates them, the high octet of each first. */
export function uint16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  values.forEach((value, index) => bytes.writeUInt16BE(value, index * 2))
  return bytes
}

export function encodeFlags(flags: { dup?: boolean; qos?: SnQoS; retain?: boolean; topicKind?: TopicKind }): number {
  const { dup = false, qos = 0, retain = false, topicKind = 0 } = flags
  return (dup ? 0x80 : 0) | ((qos & 3) << 5) | (retain ? 0x10 : 0) | topicKind
}

export function writeAdvertise(gatewayId: number, durationSeconds: number): Buffer {
  return encodePacket(packetTypes.advertise, Buffer.concat([Buffer.of(gatewayId), uint16(durationSeconds)]))
}

export function writeGwinfo(gatewayId: number): Buffer {
  return encodePacket(packetTypes.gwinfo, Buffer.of(gatewayId))
}

export function writeConnack(returnCode: number): Buffer {
  return encodePacket(packetTypes.connack, Buffer.of(returnCode))
}

export function writeBare(type: 'willtopicreq' | 'willmsgreq' | 'pingreq' | 'pingresp' | 'disconnect'): Buffer {
  return encodePacket(packetTypes[type], Buffer.alloc(0))
}

export function writeResponse(type: 'willtopicresp' | 'willmsgresp', returnCode: number): Buffer {
  return encodePacket(packetTypes[type], Buffer.of(returnCode))
}

export function writeRegister(topicId: number, messageId: number, topic: string): Buffer {
  return encodePacket(packetTypes.register, Buffer.concat([uint16(topicId, messageId), Buffer.from(topic)]))
}

export function writeTopicAck(
  type: 'regack' | 'puback',
  topicId: number,
  messageId: number,
  returnCode: number,
): Buffer {
  return encodePacket(packetTypes[type], Buffer.concat([uint16(topicId, messageId), Buffer.of(returnCode)]))
}

export function writeAck(type: 'pubrec' | 'pubrel' | 'pubcomp' | 'unsuback', messageId: number): Buffer {
  return encodePacket(packetTypes[type], uint16(messageId))
}

export function writeSuback(qos: SnQoS, topicId: number, messageId: number, returnCode: number): Buffer {
  const body = Buffer.concat([Buffer.of(encodeFlags({ qos })), uint16(topicId, messageId), Buffer.of(returnCode)])
  return encodePacket(packetTypes.suback, body)
}

export interface SnPublishFields {
  readonly dup: boolean
  readonly qos: SnQoS
  readonly retain: boolean
  readonly topicKind: TopicKind
  readonly topicId: number
  readonly messageId: number
  readonly payload: Buffer
}

/** Undefined: too large for a datagram. */
export function writePublish(fields: SnPublishFields): Buffer | undefined {
  const { topicId, messageId, payload } = fields
  if (payload.length + 9 > maxDatagramBytes) return undefined
  const head = Buffer.concat([Buffer.of(encodeFlags(fields)), uint16(topicId, messageId)])
  return encodePacket(packetTypes.publish, Buffer.concat([head, payload]))
}

/** Encapsulates a packet for a forwarder [5.4.20]. */
export function wrapForwarded(node: WirelessNode, bytes: Buffer): Buffer {
  const head = node.length + 3
  const wrapped = Buffer.allocUnsafe(head + bytes.length)
  wrapped.set([head, packetTypes.forward, 0])
  wrapped.write(node, 3, 'latin1')
  wrapped.set(bytes, head)
  return wrapped
}
