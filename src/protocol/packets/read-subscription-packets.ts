// Decodes SUBSCRIBE, SUBACK, UNSUBSCRIBE and UNSUBACK (sections 3.8 to 3.11).

import type { ByteReader } from '../bytes/byte-reader.ts'
import type { PacketLimits } from './packet-limits.ts'
import type {
  PacketId,
  ProtocolVersion,
  QoS,
  RetainHandling,
  SubackPacket,
  SubscribePacket,
  SubscriptionRequest,
  UnsubackPacket,
  UnsubscribePacket,
} from './packets.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import { readProperties } from '../properties/read-properties.ts'
import { checkReason } from './reason-rules.ts'
import { parseTopicFilter, splitSharedFilter, type TopicFilter } from '../topics/topic-names.ts'

/** Bits of the subscription options (section 3.8.3.1 of 5.0); before 5.0 only the QoS. */
export const subscriptionOptionBits = {
  qos: 0x03,
  noLocal: 0x04,
  retainAsPublished: 0x08,
  retainHandlingShift: 4,
  reserved: 0xc0,
} as const

/**
 * Maximum number of filters in one packet. A packet is read in one step, which takes about half a microsecond for each filter, and other
 * clients of the shard wait meanwhile.
 */
export const maxFilters = 65_536

/** Reads a packet identifier. Throws `protocolError` for 0 [MQTT-2.3.1-1] [MQTT5-2.2.1-3]. */
export function readPacketId(reader: ByteReader, packet: string): PacketId {
  const packetId = reader.uint16('packet id')
  if (packetId === 0) throw new ProtocolError('protocolError', `${packet} has packet id 0`)
  return packetId
}

/** Reads SUBSCRIBE. Throws `ProtocolError`: an invalid filter makes the whole packet invalid. */
export function readSubscribe(reader: ByteReader, version: ProtocolVersion, limits: PacketLimits): SubscribePacket {
  const packetId = readPacketId(reader, 'subscribe')
  const properties = version === 5 ? readProperties(reader, 'subscribe', limits.maxPropertyBytes) : undefined
  const subscriptions: SubscriptionRequest[] = []
  while (reader.hasMore) {
    subscriptions.push(readSubscription(reader, version))
    checkFilterCount(subscriptions.length, 'subscribe')
  }
  // [MQTT-3.8.3-3] [MQTT5-3.8.3-2]
  if (subscriptions.length === 0) throw new ProtocolError('protocolError', 'subscribe has no topic filter')
  return { type: 'subscribe', packetId, subscriptions, properties }
}

/** Reads UNSUBSCRIBE. Throws `ProtocolError`, as for SUBSCRIBE. */
export function readUnsubscribe(reader: ByteReader, version: ProtocolVersion, limits: PacketLimits): UnsubscribePacket {
  const packetId = readPacketId(reader, 'unsubscribe')
  const properties = version === 5 ? readProperties(reader, 'unsubscribe', limits.maxPropertyBytes) : undefined
  const filters: TopicFilter[] = []
  while (reader.hasMore) {
    filters.push(readFilter(reader))
    checkFilterCount(filters.length, 'unsubscribe')
  }
  // [MQTT-3.10.3-2] [MQTT5-3.10.3-2]
  if (filters.length === 0) throw new ProtocolError('protocolError', 'unsubscribe has no topic filter')
  return { type: 'unsubscribe', packetId, filters, properties }
}

/** Reads SUBACK. Throws `ProtocolError`. */
export function readSuback(reader: ByteReader, version: ProtocolVersion, limits: PacketLimits): SubackPacket {
  const packetId = readPacketId(reader, 'suback')
  const properties = version === 5 ? readProperties(reader, 'suback', limits.maxPropertyBytes) : undefined
  return { type: 'suback', packetId, reasonCodes: readReasonCodes(reader, 'suback', version), properties }
}

/** Reads UNSUBACK. Throws `ProtocolError`. */
export function readUnsuback(reader: ByteReader, version: ProtocolVersion, limits: PacketLimits): UnsubackPacket {
  const packetId = readPacketId(reader, 'unsuback')
  if (version !== 5) {
    reader.expectEnd('unsuback')
    return { type: 'unsuback', packetId, reasonCodes: [], properties: undefined }
  }
  const properties = readProperties(reader, 'unsuback', limits.maxPropertyBytes)
  return { type: 'unsuback', packetId, reasonCodes: readReasonCodes(reader, 'unsuback', version), properties }
}

function checkFilterCount(filters: number, packet: string): void {
  if (filters > maxFilters) throw new ProtocolError('quotaExceeded', `${packet} has more than ${maxFilters} filters`)
}

function readReasonCodes(reader: ByteReader, packet: 'suback' | 'unsuback', version: ProtocolVersion): number[] {
  const reasonCodes: number[] = []
  while (reader.hasMore) reasonCodes.push(checkReason(packet, reader.uint8('reason code'), version))
  if (reasonCodes.length === 0) throw new ProtocolError('protocolError', `${packet} has no reason code`)
  return reasonCodes
}

function readSubscription(reader: ByteReader, version: ProtocolVersion): SubscriptionRequest {
  const filter = readFilter(reader)
  const byte = reader.uint8('subscription options')
  // MQTT 3.1 does not use the upper six bits (its section 3.8).
  const options = version === 3 ? byte & subscriptionOptionBits.qos : byte
  const qos = options & subscriptionOptionBits.qos
  const reserved = version === 5 ? subscriptionOptionBits.reserved : ~subscriptionOptionBits.qos
  // [MQTT-3.8.3-4] [MQTT5-3.8.3-5]
  if ((options & reserved) !== 0) throw new ProtocolError('malformedPacket', 'subscription options set a reserved bit')
  if (qos === 3) throw new ProtocolError('malformedPacket', 'a subscription requests QoS 3')
  const retainHandling = options >> subscriptionOptionBits.retainHandlingShift
  if (retainHandling === 3) throw new ProtocolError('protocolError', 'a subscription has retain handling 3')
  const noLocal = (options & subscriptionOptionBits.noLocal) !== 0
  // [MQTT5-3.8.3-4]
  if (noLocal && splitSharedFilter(filter) !== undefined) {
    throw new ProtocolError('protocolError', 'a shared subscription has No Local')
  }
  return {
    filter,
    qos: qos as QoS,
    noLocal,
    retainAsPublished: (options & subscriptionOptionBits.retainAsPublished) !== 0,
    retainHandling: retainHandling as RetainHandling,
  }
}

function readFilter(reader: ByteReader): TopicFilter {
  const filter = parseTopicFilter(reader.text('topic filter'))
  if (filter === undefined)
    throw new ProtocolError('malformedPacket', 'a topic filter is empty or has misplaced wildcards')
  return filter
}
