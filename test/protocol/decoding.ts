// Decoders for tests, and packets as plain values that can be compared.

import {
  PacketDecoder,
  ProtocolError,
  PublishPacket,
  TopicTable,
  measurePacket,
  measurePublish,
  writePacket,
  writePublish,
  type ConnectPacket,
  type ControlPacket,
  type Packet,
  type PacketDecoderOptions,
  type ProtocolVersion,
  type PublishProperties,
  type QoS,
  type Role,
  type TopicName,
} from '../../src/protocol/index.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

/** A PUBLISH without its chunk. */
export interface PlainPublish {
  type: 'publish'
  /** '' if the packet has a topic alias instead. */
  topic: string
  qos: QoS
  retain: boolean
  dup: boolean
  packetId: number
  properties: PublishProperties | undefined
  payload: Buffer
}

export type PlainPacket = PlainPublish | ControlPacket

export const topics = new TopicTable(1_000)

export const smallConnect = (version: ProtocolVersion): ConnectPacket => plainConnect(version, 'c')

/** Returns a decoder; that of a server has already read its CONNECT. */
export function decoderFor(
  version: ProtocolVersion,
  role: Role = 'server',
  limits: Partial<PacketDecoderOptions> = {},
): PacketDecoder {
  const decoder = freshDecoder({ role, version, ...limits })
  if (role === 'server') {
    decoder.push(encode(smallConnect(version), version))
    decoder.next()
  }
  return decoder
}

export function freshDecoder(options: Partial<PacketDecoderOptions> = {}): PacketDecoder {
  return new PacketDecoder({
    role: 'server',
    topics,
    maxPacketBytes: 1_048_576,
    maxPropertyBytes: 65_536,
    maxTopicLevels: 128,
    maxTopicBytes: 65_535,
    ...options,
  })
}

/** Returns all packets that the decoder can return now. */
export function drain(decoder: PacketDecoder): PlainPacket[] {
  const packets: PlainPacket[] = []
  for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) packets.push(plain(packet))
  return packets
}

export function plain(packet: Packet): PlainPacket {
  if (!(packet instanceof PublishPacket)) return packet
  const { type, topic, qos, retain, dup, packetId, properties, chunk, payloadStart, frameEnd } = packet
  const payload = Buffer.from(chunk.subarray(payloadStart, frameEnd))
  return { type, topic: topic?.name ?? '', qos, retain, dup, packetId, properties, payload }
}

export function encode(packet: PlainPacket, version: ProtocolVersion): Buffer {
  if (packet.type === 'publish') return encodePublish(packet, version)
  const target = Buffer.alloc(measurePacket(packet, version))
  const end = writePacket(packet, version, target, 0)
  if (end !== target.length) throw new Error(`${packet.type} measured ${target.length} bytes and wrote ${end}`)
  return target
}

function encodePublish(packet: PlainPublish, version: ProtocolVersion): Buffer {
  const { topicAlias, subscriptionIdentifiers, ...properties } = packet.properties ?? {}
  const fields = {
    topic: topics.internName((packet.topic === '' ? 'left/out' : packet.topic) as TopicName),
    topicIsOmitted: packet.topic === '',
    topicAlias: topicAlias ?? 0,
    qos: packet.qos,
    retain: packet.retain,
    dup: packet.dup,
    packetId: packet.packetId,
    properties: Object.keys(properties).length === 0 ? undefined : properties,
    messageExpiryIntervalSeconds: undefined,
    subscriptionIdentifiers,
    chunk: packet.payload,
    payloadStart: 0,
    payloadEnd: packet.payload.length,
  }
  const target = Buffer.alloc(measurePublish(fields, version))
  const end = writePublish(fields, version, target, 0)
  if (end !== target.length) throw new Error(`publish measured ${target.length} bytes and wrote ${end}`)
  return target
}

/** Returns the ProtocolError that decoding `input` causes; throws if there is none. */
export function faultOf(decoder: PacketDecoder, input: Buffer): ProtocolError {
  decoder.push(input)
  try {
    drain(decoder)
  } catch (fault) {
    if (fault instanceof ProtocolError) return fault
    throw fault
  }
  throw new Error(`nothing is wrong with ${input.toString('hex', 0, 100)}`)
}
