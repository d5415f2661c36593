// Writes PUBLISH (section 3.3) from its parts, for each receiver: QoS, flags, packet identifier, alias and subscription
// identifiers differ.
//
//   5.0 property section:  | length | the receiver's own | the message's: encoded once, copied to each |

import { ByteWriter, measureVariableInteger, writeVariableInteger } from '../bytes/byte-sink.ts'
import { packetTypes, publishFlagBits } from './packet-types.ts'
import type { PacketId, ProtocolVersion, QoS } from './packets.ts'
import type { MessageProperties } from '../properties/properties.ts'
import { findPropertyIdentifier } from '../properties/property-table.ts'
import type { Topic } from '../topics/topic-table.ts'
import { measureProperties, writePropertyFields } from '../properties/write-properties.ts'

export interface PublishFields {
  topic: Topic
  /** 5.0 only: the packet has `topicAlias` and no topic name. */
  topicIsOmitted: boolean
  /** 5.0 only; 0: no alias. */
  topicAlias: number
  qos: QoS
  retain: boolean
  dup: boolean
  /** Not written if `qos` is 0. */
  packetId: PacketId
  /** Properties of the message; not written before 5.0. They must not be changed after they were measured or written. */
  properties: MessageProperties | undefined
  /** The remaining expiry interval of the message; replaces the one in `properties`. */
  messageExpiryIntervalSeconds: number | undefined
  /** Subscription identifiers, in the order to encode; omitted before 5.0. */
  subscriptionIdentifiers: readonly number[] | undefined
  /** The payload is `chunk[payloadStart, payloadEnd)`. */
  chunk: Buffer
  payloadStart: number
  payloadEnd: number
}

/** Returns the number of bytes that `writePublish` will write. */
export function measurePublish(fields: PublishFields, version: ProtocolVersion): number {
  const body = measureBody(fields, version)
  return 1 + measureVariableInteger(body) + body
}

/** Writes at `at`, where the caller reserved `measurePublish` bytes; returns the offset after the packet. */
export function writePublish(fields: PublishFields, version: ProtocolVersion, target: Buffer, at: number): number {
  const next = writePublishHead(fields, version, target, at)
  return copyBytes(fields.chunk, fields.payloadStart, fields.payloadEnd, target, next)
}

/** Writes everything before the payload. */
export function writePublishHead(fields: PublishFields, version: ProtocolVersion, target: Buffer, at: number): number {
  const { topic, qos, packetId, topicIsOmitted } = fields
  target[at] = encodePublishFirstByte(fields)
  let next = writeVariableInteger(measureBody(fields, version), target, at + 1)
  const topicBytes = topicIsOmitted ? 0 : topic.bytes.length
  target[next] = topicBytes >> 8
  target[next + 1] = topicBytes
  next = copyBytes(topic.bytes, 0, topicBytes, target, next + 2)
  if (qos !== 0) {
    target[next] = packetId >> 8
    target[next + 1] = packetId
    next += 2
  }
  return version === 5 ? writeSection(fields, target, next) : next
}

function encodePublishFirstByte({ qos, retain, dup }: PublishFields): number {
  return (
    (packetTypes.publish << 4) |
    (dup ? publishFlagBits.dupMask : 0) |
    (qos << publishFlagBits.qosShift) |
    (retain ? publishFlagBits.retainMask : 0)
  )
}

function measureBody(fields: PublishFields, version: ProtocolVersion): number {
  const topicBytes = fields.topicIsOmitted ? 0 : fields.topic.bytes.length
  const packetIdBytes = fields.qos === 0 ? 0 : 2
  const withoutProperties = 2 + topicBytes + packetIdBytes + fields.payloadEnd - fields.payloadStart
  if (version !== 5) return withoutProperties
  const propertyBytes = measureReceiverPart(fields) + sharedProperties.encode(fields.properties)
  return withoutProperties + measureVariableInteger(propertyBytes) + propertyBytes
}

function writeSection(fields: PublishFields, target: Buffer, at: number): number {
  const own = measureReceiverPart(fields)
  const shared = sharedProperties.encode(fields.properties)
  let next = writeVariableInteger(own + shared, target, at)
  if (own > 0) next = writeReceiverPart(fields, target, next)
  return copyBytes(sharedProperties.encoded, 0, shared, target, next)
}

const receiverIdentifiers = {
  expiry: findPropertyIdentifier('publish', 'messageExpiryIntervalSeconds'),
  subscription: findPropertyIdentifier('publish', 'subscriptionIdentifiers'),
  alias: findPropertyIdentifier('publish', 'topicAlias'),
} as const

/** Returns the bytes of the properties that differ per receiver, mostly 0. Each property starts with one byte of identifier. */
function measureReceiverPart(fields: PublishFields): number {
  let bytes = selectExpirySeconds(fields) === undefined ? 0 : 1 + 4
  if (fields.topicAlias !== 0) bytes += 1 + 2
  if (fields.subscriptionIdentifiers === undefined) return bytes
  for (const identifier of fields.subscriptionIdentifiers) bytes += 1 + measureVariableInteger(identifier)
  return bytes
}

function writeReceiverPart(fields: PublishFields, target: Buffer, at: number): number {
  const expirySeconds = selectExpirySeconds(fields)
  let next = at
  if (expirySeconds !== undefined) {
    target[next] = receiverIdentifiers.expiry
    next = target.writeUInt32BE(expirySeconds, next + 1)
  }
  if (fields.topicAlias !== 0) {
    target[next] = receiverIdentifiers.alias
    next = target.writeUInt16BE(fields.topicAlias, next + 1)
  }
  if (fields.subscriptionIdentifiers === undefined) return next
  for (const identifier of fields.subscriptionIdentifiers) {
    target[next] = receiverIdentifiers.subscription
    next = writeVariableInteger(identifier, target, next + 1)
  }
  return next
}

function selectExpirySeconds({ messageExpiryIntervalSeconds, properties }: PublishFields): number | undefined {
  return messageExpiryIntervalSeconds ?? properties?.messageExpiryIntervalSeconds
}

/**
 * The encoded properties that are the same for every receiver [MQTT5-3.3.2-4, -15 to -20]. One message is written to its receivers
 * one after the other, so it is enough to keep those of the last message.
 */
class SharedProperties {
  encoded: Buffer = Buffer.alloc(0)
  #lastProperties: MessageProperties | undefined = undefined
  #lastBytes = 0

  /** Encodes the properties into `encoded`, unless they are there. Returns their length in bytes. */
  encode(properties: MessageProperties | undefined): number {
    if (properties === undefined) return 0
    if (properties !== this.#lastProperties) this.#refresh(properties)
    return this.#lastBytes
  }

  #refresh(properties: MessageProperties): void {
    // The expiry interval decreases with time: it is written for each receiver.
    const shared = { ...properties, messageExpiryIntervalSeconds: undefined }
    this.#lastBytes = measureProperties('publish', shared)
    if (this.#lastBytes > this.encoded.length) this.encoded = Buffer.allocUnsafeSlow(2 * this.#lastBytes)
    writePropertyFields(new ByteWriter(this.encoded, 0), 'publish', shared)
    this.#lastProperties = properties
  }
}

const sharedProperties = new SharedProperties()

/** Up to this size a loop is faster than `copy`. */
const maxLoopCopyBytes = 48

/** Copies `source[start, end)` to `at`. Returns the offset after it. */
function copyBytes(source: Buffer, start: number, end: number, target: Buffer, at: number): number {
  const length = end - start
  if (length > maxLoopCopyBytes) source.copy(target, at, start, end)
  else for (let index = 0; index < length; index++) target[at + index] = source[start + index]
  return at + length
}
