// Encodes the packets that the core sends into the buffers of connections. If possible, the received frame of a message is
// copied, and only its first byte and its packet identifier are changed. Large payloads are not copied.

import {
  headBits,
  computeRemainingSeconds,
  sendKinds,
  type Connection,
  type Message,
  type PublishExtra,
  type SendList,
} from '../../core/index.ts'
import {
  measurePacket,
  measurePublish,
  writeAck,
  writePacket,
  writePublish,
  writePublishHead,
  type AckType,
  type ControlPacket,
  type ProtocolVersion,
} from '../../protocol/index.ts'
import type { ClientOutput } from './client-output.ts'
import { minReferencedBytes } from './write-buffers.ts'

const ackBytes = 4
const ackTypes: Readonly<Record<number, AckType>> = {
  [sendKinds.puback]: 'puback',
  [sendKinds.pubrec]: 'pubrec',
  [sendKinds.pubrel]: 'pubrel',
  [sendKinds.pubcomp]: 'pubcomp',
}

/** Encodes all sends, in their order. Sends to closed connections are skipped. */
export function encodeSends(sends: SendList, nowMs: number): void {
  for (let index = 0; index < sends.length; index++) {
    const connection = sends.getConnection(index)
    const output = connection.output as ClientOutput
    if (output.isClosed) continue
    connection.sentPackets++
    const head = sends.head[index]
    const content = sends.what[index]
    if (headBits.kind(head) === sendKinds.publish) {
      encodePublish(output, connection, content as Message, { head, extra: sends.extra[index], nowMs })
    } else if (content === undefined) {
      const target = output.reserve(ackBytes)
      writeAck(ackTypes[headBits.kind(head)], headBits.packetId(head), target, output.at)
      output.advance(ackBytes)
      output.unreadResponseBytes += ackBytes
    } else {
      encodePacket(output, connection, content as ControlPacket)
    }
  }
}

/** Appends one packet for the connection. */
export function encodePacket(
  output: ClientOutput,
  { version }: { version: ProtocolVersion },
  packet: ControlPacket,
): void {
  const bytes = measurePacket(packet, version)
  const target = output.reserve(bytes)
  writePacket(packet, version, target, output.at)
  output.advance(bytes)
  output.unreadResponseBytes += bytes
}

/** The fields of a PUBLISH that differ for each subscriber. */
interface PublishHead {
  /** QoS, flags and packet identifier, see `headBits`. */
  readonly head: number
  readonly extra: PublishExtra | undefined
  readonly nowMs: number
}

function encodePublish(output: ClientOutput, connection: Connection, message: Message, publishHead: PublishHead): void {
  const { head, extra } = publishHead
  const shape = connection.version === 5 ? 5 : 4
  const hasPacketId = headBits.qos(head) !== 0
  if (message.frameShape === shape && extra === undefined && hasPacketId === (message.packetIdAt !== 0)) {
    copyFrame(output, message, head)
  } else {
    encodeFields(output, connection, message, publishHead)
  }
}

/** Copies the received frame, except for flags and packet identifier. Version and layout must be the same. */
function copyFrame(output: ClientOutput, message: Message, head: number): void {
  const { chunk, frameStart, packetIdAt, payloadStart, frameEnd } = message
  const isReferenced = isPayloadReferenced(message)
  const at = output.appendRange(chunk, frameStart, isReferenced ? payloadStart : frameEnd)
  const target = output.buffer
  // First byte: type 3, then DUP, QoS and RETAIN; `head` has RETAIN in bit 3, DUP in bit 4, QoS in bits 5 and 6.
  target[at] = 0x30 | ((head & 16) >> 1) | ((head >> 4) & 6) | ((head >> 3) & 1)
  if (packetIdAt !== 0) {
    const idAt = at + packetIdAt - frameStart
    target[idAt] = (head >> 16) & 0xff
    target[idAt + 1] = (head >> 8) & 0xff
  }
  if (isReferenced) output.appendReference(chunk, payloadStart, frameEnd)
}

/** Writes the packet field by field: for another version or layout, or properties that differ for each subscriber. */
function encodeFields(
  output: ClientOutput,
  connection: Connection,
  message: Message,
  { head, extra, nowMs }: PublishHead,
): void {
  const fields = {
    topic: message.topic,
    topicIsOmitted: extra !== undefined && extra.topicIsOmitted,
    topicAlias: extra === undefined ? 0 : extra.topicAlias,
    qos: headBits.qos(head),
    retain: headBits.retain(head),
    dup: headBits.dup(head),
    packetId: headBits.packetId(head),
    properties: message.properties,
    messageExpiryIntervalSeconds: computeRemainingSeconds(message, nowMs),
    subscriptionIdentifiers: extra === undefined ? undefined : extra.subscriptionIdentifiers,
    chunk: message.chunk,
    payloadStart: message.payloadStart,
    payloadEnd: message.frameEnd,
  }
  const { chunk, payloadStart, frameEnd } = message
  const isReferenced = isPayloadReferenced(message)
  const bytes = measurePublish(fields, connection.version) - (isReferenced ? frameEnd - payloadStart : 0)
  const target = output.reserve(bytes)
  const write = isReferenced ? writePublishHead : writePublish
  write(fields, connection.version, target, output.at)
  output.advance(bytes)
  if (isReferenced) output.appendReference(chunk, payloadStart, frameEnd)
}

/** Returns whether the payload is so large that the output refers to it. Smaller payloads are copied, which costs less. */
function isPayloadReferenced({ payloadStart, frameEnd }: Message): boolean {
  return frameEnd - payloadStart >= minReferencedBytes
}
