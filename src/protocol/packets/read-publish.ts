// Decodes PUBLISH (section 3.3) in place. Every message takes this path, so it allocates only the packet.

import { ByteReader } from '../bytes/byte-reader.ts'
import { copyBytes } from '../bytes/copy-bytes.ts'
import type { PacketLimits } from './packet-limits.ts'
import { readPublishFlags, type Role } from './packet-types.ts'
import { PublishPacket, type ProtocolVersion } from './packets.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import type { PublishProperties } from '../properties/properties.ts'
import { readProperties } from '../properties/read-properties.ts'
import { equalsBytes, type Topic } from '../topics/topic-table.ts'

/** Properties of the connection that decoding a PUBLISH needs. */
export interface PublishContext {
  readonly version: ProtocolVersion
  readonly role: Role
  readonly limits: PacketLimits
  /** Undefined: each packet has an object of its own. */
  readonly lastProperties: LastProperties | undefined
  /** Finds the topic whose name is `chunk[start, end)`, see `TopicTable.intern`. */
  findTopic(chunk: Buffer, start: number, end: number): Topic
}

/** Throws `ProtocolError` if the packet is malformed, or not allowed for this role. */
export function readPublish(
  context: PublishContext,
  chunk: Buffer,
  frameStart: number,
  bodyStart: number,
  frameEnd: number,
): PublishPacket {
  const flags = readPublishFlags(chunk[frameStart])
  const topicStart = bodyStart + 2
  if (topicStart > frameEnd) throw new ProtocolError('malformedPacket', 'publish ends within its topic name')
  const topicEnd = topicStart + ((chunk[bodyStart] << 8) | chunk[bodyStart + 1])
  if (topicEnd > frameEnd) throw new ProtocolError('malformedPacket', 'publish ends within its topic name')

  const topic = topicEnd === topicStart ? undefined : context.findTopic(chunk, topicStart, topicEnd)
  const packet = new PublishPacket(topic, flags, chunk)
  packet.frameStart = frameStart
  packet.frameEnd = frameEnd
  let at = topicEnd
  if (flags.qos !== 0) {
    if (at + 2 > frameEnd) throw new ProtocolError('malformedPacket', 'publish ends within its packet id')
    packet.packetIdAt = at
    packet.packetId = (chunk[at] << 8) | chunk[at + 1]
    if (packet.packetId === 0) throw new ProtocolError('protocolError', 'publish has packet id 0')
    at += 2
  }
  if (context.version === 5) at = readPublishProperties(context, packet, at)
  packet.payloadStart = at
  if (topic === undefined) expectAlias(packet)
  return packet
}

/** Returns the offset after the properties. */
function readPublishProperties(context: PublishContext, packet: PublishPacket, at: number): number {
  // Most messages have no properties: a length of 0.
  if (at < packet.frameEnd && packet.chunk[at] === 0) return at + 1
  const { lastProperties } = context
  const known = lastProperties?.find(packet.chunk, at, packet.frameEnd)
  if (known !== undefined) {
    packet.properties = known.properties
    return at + known.bytes.length
  }
  const reader = new ByteReader(packet.chunk, at, packet.frameEnd)
  packet.properties = readProperties(reader, 'publish', context.limits.maxPropertyBytes)
  if (context.role === 'server' && packet.properties?.subscriptionIdentifiers !== undefined) {
    // [MQTT5-3.3.4-6]
    throw new ProtocolError('protocolError', 'a client sends no subscription identifiers in publish')
  }
  lastProperties?.record(packet, at, reader.at)
  return reader.at
}

/** An encoded property section and its properties. */
interface KnownProperties {
  /** The bytes, with their length prefix. */
  readonly bytes: Buffer
  readonly properties: PublishProperties
}

/** Longer sections are read each time. */
const maxKnownBytes = 256

/** The properties of the last PUBLISH. */
export class LastProperties {
  #last: KnownProperties | undefined

  /** Returns the properties if the section at `start` is the same as the last one. */
  find(chunk: Buffer, start: number, end: number): KnownProperties | undefined {
    const last = this.#last
    if (last === undefined || start + last.bytes.length > end) return undefined
    return equalsBytes(last.bytes, chunk, start, start + last.bytes.length) ? last : undefined
  }

  record({ chunk, properties }: PublishPacket, start: number, end: number): void {
    // Correlation data is a part of the chunk.
    const canStay = properties !== undefined && properties.correlationData === undefined && end - start <= maxKnownBytes
    this.#last = canStay ? { bytes: copyBytes(chunk, start, end), properties } : undefined
  }
}

/** [MQTT-4.7.3-1] and section 3.3.2.1 of 5.0: only an alias can replace the topic name. */
function expectAlias(packet: PublishPacket): void {
  if (packet.properties?.topicAlias === undefined) {
    throw new ProtocolError('protocolError', 'publish has neither a topic name nor a topic alias')
  }
}
