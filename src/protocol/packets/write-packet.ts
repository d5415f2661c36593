// Encodes every packet except PUBLISH (see `write-publish.ts`) into a buffer of the caller.

import { assert } from '../bytes/assert.ts'
import { ByteCounter, ByteWriter, measureVariableInteger, type ByteSink } from '../bytes/byte-sink.ts'
import { encodeFirstByte } from './packet-types.ts'
import type {
  AckPacket,
  AckType,
  ConnackPacket,
  ConnectPacket,
  ControlPacket,
  PacketId,
  ProtocolVersion,
  SubackPacket,
  SubscribePacket,
  SubscriptionRequest,
  UnsubackPacket,
  UnsubscribePacket,
  Will,
} from './packets.ts'
import type { PropertyHolder } from '../properties/property-table.ts'
import { bridgeBit, connectFlagBits } from './read-connect.ts'
import type { PropertiesOf } from '../properties/read-properties.ts'
import { subscriptionOptionBits } from './read-subscription-packets.ts'
import { reasonCodes } from '../reasons/reason-codes.ts'
import { measureProperties, writeProperties } from '../properties/write-properties.ts'

/** Returns the number of bytes that `writePacket` will write. */
export function measurePacket(packet: ControlPacket, version: ProtocolVersion): number {
  const body = measureBody(packet, version)
  return 1 + measureVariableInteger(body) + body
}

/**
 * Writes the packet at `at`, where the caller has reserved `measurePacket` bytes; returns the offset after it.
 * Fields that `version` does not have (before 5.0: properties, and reason codes of acknowledgements) are omitted.
 */
export function writePacket(packet: ControlPacket, version: ProtocolVersion, target: Buffer, at: number): number {
  const writer = new ByteWriter(target, at)
  writer.uint8(encodeFirstByte(packet.type))
  writer.variableInteger(measureBody(packet, version))
  writeBody(packet, version, writer)
  return writer.at
}

/** Writes a successful acknowledgement without properties, which has four bytes; returns the offset after it. */
export function writeAck(kind: AckType, packetId: PacketId, target: Buffer, at: number): number {
  target[at] = encodeFirstByte(kind)
  target[at + 1] = 2
  target[at + 2] = packetId >> 8
  target[at + 3] = packetId
  return at + 4
}

function measureBody(packet: ControlPacket, version: ProtocolVersion): number {
  const counter = new ByteCounter()
  writeBody(packet, version, counter)
  return counter.bytes
}

function writeBody(packet: ControlPacket, version: ProtocolVersion, sink: ByteSink): void {
  const { type } = packet
  switch (type) {
    case 'connect':
      return writeConnect(packet, sink)
    case 'connack':
      return writeConnack(packet, version, sink)
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      return writeAckBody(packet, version, sink)
    case 'subscribe':
      return writeSubscribe(packet, version, sink)
    case 'unsubscribe':
      return writeUnsubscribe(packet, version, sink)
    case 'suback':
    case 'unsuback':
      return writeReasonCodes(packet, version, sink)
    case 'pingreq':
    case 'pingresp':
      return
    case 'disconnect':
      if (version === 5) writeReason(sink, 'disconnect', packet)
      return
    case 'auth':
      assert(version === 5, 'auth exists only in MQTT 5.0')
      if (packet.reasonCode === reasonCodes.success && measureProperties('auth', packet.properties) === 0) return
      sink.uint8(packet.reasonCode)
      return writeProperties(sink, 'auth', packet.properties)
    default:
      return type satisfies never
  }
}

function writeConnect(packet: ConnectPacket, sink: ByteSink): void {
  const { version, will, username, password } = packet
  assert(version === 5 || password === undefined || username !== undefined, 'before 5.0 a password needs a username')
  sink.text(version === 3 ? 'MQIsdp' : 'MQTT')
  sink.uint8(version | (packet.isBridge ? bridgeBit : 0))
  sink.uint8(encodeConnectFlags(packet))
  sink.uint16(packet.keepAliveSeconds)
  if (version === 5) writeProperties(sink, 'connect', packet.properties)
  sink.text(packet.clientId)
  if (will !== undefined) writeWill(will, version, sink)
  if (username !== undefined) sink.text(username)
  if (password !== undefined) sink.binary(password)
}

function encodeConnectFlags({ cleanStart, will, username, password }: ConnectPacket): number {
  const willFlags =
    will === undefined
      ? 0
      : connectFlagBits.will |
        (will.qos << connectFlagBits.willQoSShift) |
        (will.retain ? connectFlagBits.willRetain : 0)
  return (
    willFlags |
    (cleanStart ? connectFlagBits.cleanStart : 0) |
    (username === undefined ? 0 : connectFlagBits.username) |
    (password === undefined ? 0 : connectFlagBits.password)
  )
}

function writeWill(will: Will, version: ProtocolVersion, sink: ByteSink): void {
  if (version === 5) writeProperties(sink, 'will', will.properties)
  sink.text(will.topic)
  sink.binary(will.payload)
}

function writeConnack(packet: ConnackPacket, version: ProtocolVersion, sink: ByteSink): void {
  sink.uint8(packet.sessionPresent ? 1 : 0)
  sink.uint8(packet.reasonCode)
  if (version === 5) writeProperties(sink, 'connack', packet.properties)
}

function writeAckBody(packet: AckPacket, version: ProtocolVersion, sink: ByteSink): void {
  sink.uint16(packet.packetId)
  if (version === 5) writeReason(sink, packet.type, packet)
}

/** Omits a successful reason code without properties, and an empty property section (sections 3.4.2.1 and 3.14.2.1 of 5.0). */
function writeReason<Holder extends PropertyHolder>(
  sink: ByteSink,
  holder: Holder,
  { reasonCode, properties }: { reasonCode: number; properties: PropertiesOf[Holder] | undefined },
): void {
  const hasProperties = measureProperties(holder, properties) > 0
  if (reasonCode === reasonCodes.success && !hasProperties) return
  sink.uint8(reasonCode)
  if (hasProperties) writeProperties(sink, holder, properties)
}

function writeSubscribe(packet: SubscribePacket, version: ProtocolVersion, sink: ByteSink): void {
  sink.uint16(packet.packetId)
  if (version === 5) writeProperties(sink, 'subscribe', packet.properties)
  for (const subscription of packet.subscriptions) {
    sink.text(subscription.filter)
    sink.uint8(version === 5 ? encodeSubscriptionOptions(subscription) : subscription.qos)
  }
}

function encodeSubscriptionOptions({ qos, noLocal, retainAsPublished, retainHandling }: SubscriptionRequest): number {
  return (
    qos |
    (noLocal ? subscriptionOptionBits.noLocal : 0) |
    (retainAsPublished ? subscriptionOptionBits.retainAsPublished : 0) |
    (retainHandling << subscriptionOptionBits.retainHandlingShift)
  )
}

function writeUnsubscribe(packet: UnsubscribePacket, version: ProtocolVersion, sink: ByteSink): void {
  sink.uint16(packet.packetId)
  if (version === 5) writeProperties(sink, 'unsubscribe', packet.properties)
  for (const filter of packet.filters) sink.text(filter)
}

/** SUBACK has reason codes in every version, UNSUBACK only in 5.0. */
function writeReasonCodes(packet: SubackPacket | UnsubackPacket, version: ProtocolVersion, sink: ByteSink): void {
  sink.uint16(packet.packetId)
  if (version === 5) writeProperties(sink, packet.type, packet.properties)
  else if (packet.type === 'unsuback') return
  for (const reasonCode of packet.reasonCodes) sink.uint8(reasonCode)
}
