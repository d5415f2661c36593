// Detects the version of MQTT-SN from the octets of a datagram, before its client is known.

import { packetTypes } from './sn-packets.ts'
import { sn2PacketTypes, sn2TopicTypes } from './sn2-packet-types.ts'

const longLength = 0x01
/** CONNECT of 2.0 without optional fields [3.1]; SEARCHGW of 1.2 has the same type and three octets. */
const minConnectBytes = 10
/** CONNECT of 1.2 with a client ID; PUBACK of 2.0 has the same type and five octets at most. */
const minConnect1Bytes = 7

export function isSn2Connect(datagram: Buffer): boolean {
  return readType(datagram) === sn2PacketTypes.connect && datagram.length >= minConnectBytes
}

/** [3.6.1.2] SUBSCRIBE of 1.2 has the same type, and these flags for a predefined topic with QoS 0 only. */
export function isPublishWithoutSession(datagram: Buffer): boolean {
  const flags = datagram[datagram[0] === longLength ? 4 : 2] ?? 0
  const topicType = flags & 3
  const isNamed = topicType === sn2TopicTypes.predefined || topicType === sn2TopicTypes.name
  return readType(datagram) === sn2PacketTypes.pubwos && isNamed && (flags & 0xec) === 0
}

/** Whether the shard of the last CONNECT from the same address handles the datagram; other datagrams name their client. */
export function staysOnShardOfClient(datagram: Buffer): boolean {
  const type = readType(datagram)
  const isConnect = type === packetTypes.connect && datagram.length >= minConnect1Bytes
  return !isConnect && !isSn2Connect(datagram) && type !== packetTypes.pingreq && type !== packetTypes.searchgw
}

function readType(datagram: Buffer): number | undefined {
  return datagram[0] === longLength ? datagram[3] : datagram[1]
}
