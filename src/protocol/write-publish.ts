// PUBLISH (section 3.3) from its parts, for every receiver anew: QoS, flags, packet id, alias and subscription
// identifiers differ from one to the next.

import { ByteWriter, variableIntegerBytes, writeVariableInteger } from './byte-sink.ts'
import { packetTypes, publishFlagBits } from './packet-types.ts'
import type { PacketId, ProtocolVersion, QoS } from './packets.ts'
import type { MessageProperties, PublishProperties } from './properties.ts'
import type { Topic } from './topic-table.ts'
import { measureProperties, writeProperties } from './write-properties.ts'

export interface PublishFields {
  topic: Topic
  /** 5.0 only: `topicAlias` stands for the name, which is left out. */
  topicIsOmitted: boolean
  /** 5.0 only; 0: none. */
  topicAlias: number
  qos: QoS
  retain: boolean
  dup: boolean
  /** Written only where qos is not 0. */
  packetId: PacketId
  /** The message's own; left out before 5.0. */
  properties: MessageProperties | undefined
  /** What is left of the message's expiry interval, in place of the one in `properties`. */
  messageExpiryIntervalSeconds: number | undefined
  /** In the order in which they are to stand; left out before 5.0. */
  subscriptionIdentifiers: readonly number[] | undefined
  /** The payload is `chunk[payloadStart, payloadEnd)`. */
  chunk: Buffer
  payloadStart: number
  payloadEnd: number
}

/** How many bytes `writePublish` will write. */
export function measurePublish(fields: PublishFields, version: ProtocolVersion): number {
  const body = measureBody(fields, version === 5 ? measureSection(propertiesOf(fields)) : 0)
  return 1 + variableIntegerBytes(body) + body
}

/** Writes at `at`, where the caller has made room for `measurePublish` bytes; returns the offset behind it. */
export function writePublish(fields: PublishFields, version: ProtocolVersion, target: Buffer, at: number): number {
  const { topic, qos, packetId, topicIsOmitted } = fields
  const properties = version === 5 ? propertiesOf(fields) : undefined
  target[at] = firstByteOf(fields)
  let next = writeVariableInteger(measureBody(fields, version === 5 ? measureSection(properties) : 0), target, at + 1)
  const topicBytes = topicIsOmitted ? 0 : topic.bytes.length
  target[next] = topicBytes >> 8
  target[next + 1] = topicBytes
  next = copyBytes(topic.bytes, 0, topicBytes, target, next + 2)
  if (qos !== 0) {
    target[next] = packetId >> 8
    target[next + 1] = packetId
    next += 2
  }
  if (version === 5) next = writeSection(properties, target, next)
  return copyBytes(fields.chunk, fields.payloadStart, fields.payloadEnd, target, next)
}

function firstByteOf({ qos, retain, dup }: PublishFields): number {
  return (
    (packetTypes.publish << 4) |
    (dup ? publishFlagBits.dup : 0) |
    (qos << publishFlagBits.qosShift) |
    (retain ? publishFlagBits.retain : 0)
  )
}

function measureBody(fields: PublishFields, propertySectionBytes: number): number {
  const topicBytes = fields.topicIsOmitted ? 0 : fields.topic.bytes.length
  const packetIdBytes = fields.qos === 0 ? 0 : 2
  return 2 + topicBytes + packetIdBytes + propertySectionBytes + fields.payloadEnd - fields.payloadStart
}

/** `undefined` where nothing is to be said: the way of most messages. */
function propertiesOf(fields: PublishFields): PublishProperties | undefined {
  const { properties, topicAlias, subscriptionIdentifiers, messageExpiryIntervalSeconds } = fields
  const isPlain =
    topicAlias === 0 && subscriptionIdentifiers === undefined && messageExpiryIntervalSeconds === undefined
  if (isPlain) return properties
  const all: PublishProperties = { ...properties }
  if (topicAlias !== 0) all.topicAlias = topicAlias
  if (subscriptionIdentifiers !== undefined) all.subscriptionIdentifiers = [...subscriptionIdentifiers]
  if (messageExpiryIntervalSeconds !== undefined) all.messageExpiryIntervalSeconds = messageExpiryIntervalSeconds
  return all
}

function measureSection(properties: PublishProperties | undefined): number {
  if (properties === undefined) return 1
  const bytes = measureProperties('publish', properties)
  return variableIntegerBytes(bytes) + bytes
}

function writeSection(properties: PublishProperties | undefined, target: Buffer, at: number): number {
  if (properties === undefined) {
    target[at] = 0
    return at + 1
  }
  const writer = new ByteWriter(target, at)
  writeProperties(writer, 'publish', properties)
  return writer.at
}

/** Below so many bytes a loop is faster than the call of `copy`. */
const shortCopyBytes = 48

/** Copies `source[start, end)` to `at`; returns the offset behind it. */
function copyBytes(source: Buffer, start: number, end: number, target: Buffer, at: number): number {
  const length = end - start
  if (length > shortCopyBytes) source.copy(target, at, start, end)
  else for (let index = 0; index < length; index++) target[at + index] = source[start + index]
  return at + length
}
