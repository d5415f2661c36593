// A message after it was decoded. Each publication has one object, regardless of the number of receivers.

import {
  copyBytes,
  Topic,
  type MessageProperties,
  type PublishPacket,
  type QoS,
  type TopicName,
} from '../../protocol/index.ts'
import type { StoredMessage } from '../../records/index.ts'
import type { Identity } from './identity.ts'
import type { BufferPool } from './buffer-pool.ts'

/** Retained messages up to this size are stored in compact form, because the objects of a buffer take about 0.4 KiB. */
export const maxSmallPayloadBytes = 512

/** No expiry. */
export const never = Infinity

/**
 * Versions that can receive the bytes of the frame unchanged. 0: no frame, only a payload; 4: without properties (3.1,
 * 3.1.1); 5: with properties.
 */
export type FrameShape = 0 | 4 | 5

/**
 * A message and the place of its bytes. During one turn they are in the publisher's chunk (`isOwned` false). What is kept
 * longer is copied first: otherwise 64 bytes would keep a chunk of 64 KiB in memory.
 *
 *   chunk:  ... | first byte | length | topic length | topic | packet id? | properties? | payload | ...
 *               ^ frameStart                                ^ packetIdAt                ^ payloadStart
 *                                                                                        frameEnd ^
 */
export class Message {
  readonly topic: Topic
  /** The value in the packet of the publisher. */
  readonly qos: QoS
  /** The value in the packet of the publisher. */
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  /** Client ID of the publisher, '' if it is not a client. */
  readonly publisher: string
  /** Set for retained messages and wills, if known. */
  publisherUsername: string | undefined
  /** The publisher is a superuser or has grants of its own: its permission is not checked again later. Set for retained messages
   * and wills. */
  isByOwnRight: boolean
  /**
   * Mount point in the topic that the publisher did not send; '' if there is none. Set for retained messages and wills.
   */
  publisherMountpoint: string
  /** The message came to this shard before, and its receivers are not known. At QoS 1 it is sent with DUP. */
  isRepeat: boolean
  readonly publishedAtMs: number
  /** `never` or a time. */
  readonly expiresAtMs: number
  chunk: Buffer
  frameShape: FrameShape
  frameStart: number
  /** 0 if the frame has no packet identifier. */
  packetIdAt: number
  payloadStart: number
  frameEnd: number
  isOwned: boolean
  /** ID of the stored payload that several queues share; 0 if there is none. */
  payloadId: number
  /** Set for retained messages that were published since the start of the broker. */
  retainedOrigin: RetainedOrigin | undefined
  /** Number of deliveries that hold it in memory: see `outgoing/held-bytes.ts`. */
  holders: number

  constructor(topic: Topic, from: MessageSource) {
    this.topic = topic
    this.qos = from.qos
    this.retain = from.retain
    this.properties = from.properties
    this.publisher = from.publisher
    this.publisherUsername = undefined
    this.isByOwnRight = false
    this.publisherMountpoint = ''
    this.isRepeat = false
    this.publishedAtMs = from.publishedAtMs
    this.expiresAtMs = from.expiresAtMs
    this.chunk = from.chunk
    this.frameShape = 0
    this.frameStart = from.payloadStart
    this.packetIdAt = 0
    this.payloadStart = from.payloadStart
    this.frameEnd = from.payloadEnd
    this.isOwned = false
    this.payloadId = 0
    this.retainedOrigin = undefined
    this.holders = 0
  }

  get topicName(): TopicName {
    return this.topic.name
  }

  get payloadBytes(): number {
    return this.frameEnd - this.payloadStart
  }

  readPayload(): Buffer {
    if (this.payloadStart === 0 && this.frameEnd === this.chunk.length) return this.chunk
    return this.chunk.subarray(this.payloadStart, this.frameEnd)
  }
}

/** How a retained message came to the shard that owns its topic. */
export interface RetainedOrigin {
  /** The shard on which it was published. */
  readonly shard: number
  /** The link, if it is not the current one: numbers restart with each link. */
  readonly link: object
  readonly number: number
}

export interface MessageSource {
  qos: QoS
  retain: boolean
  properties: MessageProperties | undefined
  publisher: string
  publishedAtMs: number
  expiresAtMs: number
  chunk: Buffer
  payloadStart: number
  payloadEnd: number
}

/** Creates the message of a PUBLISH. `topic` is the packet's topic, or the one that its alias stands for. */
export function createMessageFromPublish(
  packet: PublishPacket,
  topic: Topic,
  from: { publisher: string; version: number; nowMs: number },
): Message {
  const properties = packet.properties
  const expiry = properties === undefined ? undefined : properties.messageExpiryIntervalSeconds
  const message = new Message(topic, {
    qos: packet.qos,
    retain: packet.retain,
    properties: properties === undefined || properties.topicAlias === undefined ? properties : removeAlias(properties),
    publisher: from.publisher,
    publishedAtMs: from.nowMs,
    expiresAtMs: expiry === undefined ? never : from.nowMs + expiry * 1_000,
    chunk: packet.chunk,
    payloadStart: packet.payloadStart,
    payloadEnd: packet.frameEnd,
  })
  // The frame cannot be forwarded if it contains an alias, which is valid for one connection, or an expiry, which
  // decreases.
  if (properties === undefined || (properties.topicAlias === undefined && expiry === undefined)) {
    message.frameShape = from.version === 5 ? 5 : 4
    message.frameStart = packet.frameStart
    message.packetIdAt = packet.packetIdAt
  }
  return message
}

/** Records the publisher's rights, for a later check of the retained message. */
export function recordPublisherRights(
  message: Message,
  { username, isSuperuser, grants }: Identity,
  mountpoint: string,
): void {
  message.publisherUsername = username
  message.isByOwnRight = isSuperuser || grants !== undefined
  message.publisherMountpoint = mountpoint
}

/** Copies the result of `recordPublisherRights`. */
export function copyPublisherRights(message: Message, from: Message): void {
  message.publisherUsername = from.publisherUsername
  message.isByOwnRight = from.isByOwnRight
  message.publisherMountpoint = from.publisherMountpoint
}

/** Sets the fields of a retained message that are not part of the publication. Its bytes become its own. */
export function copyRetainedFields(
  message: Message,
  from: Pick<Message, 'publisherUsername' | 'isByOwnRight' | 'publisherMountpoint' | 'retainedOrigin'>,
): void {
  message.publisherUsername = from.publisherUsername
  message.isByOwnRight = from.isByOwnRight
  message.publisherMountpoint = from.publisherMountpoint
  message.retainedOrigin = from.retainedOrigin
  message.isOwned = true
}

/** Returns the same message with the same payload bytes and another topic. */
export function copyWithTopic(message: Message, topic: Topic): Message {
  const copy = new Message(topic, {
    qos: message.qos,
    retain: message.retain,
    properties: message.properties,
    publisher: message.publisher,
    publishedAtMs: message.publishedAtMs,
    expiresAtMs: message.expiresAtMs,
    chunk: message.chunk,
    payloadStart: message.payloadStart,
    payloadEnd: message.frameEnd,
  })
  copy.isOwned = message.isOwned
  return copy
}

/** Returns the message without its frame, because a field has changed. It is encoded for each receiver. */
export function removeFrame(message: Message): Message {
  message.frameShape = 0
  message.frameStart = message.payloadStart
  message.packetIdAt = 0
  return message
}

function removeAlias(properties: MessageProperties & { topicAlias?: number }): MessageProperties | undefined {
  const { topicAlias: _, ...rest } = properties
  return Object.keys(rest).length === 0 ? undefined : rest
}

/** Copies the bytes into a shared block, once: for short-lived messages (in flight, queued). */
export function copyOut(message: Message, buffers: BufferPool): void {
  if (message.isOwned) return
  copyInto(message, buffers, buffers.reserve(message.frameEnd - message.frameStart))
}

function copyInto(message: Message, buffers: BufferPool, at: number): void {
  const moved = at - message.frameStart
  message.chunk.copy(buffers.current, at, message.frameStart, message.frameEnd)
  message.chunk = buffers.current
  message.frameStart += moved
  message.payloadStart += moved
  message.frameEnd += moved
  if (message.packetIdAt !== 0) message.packetIdAt += moved
  message.isOwned = true
}

/** Returns a copy for long-lived messages (delayed). Its payload has a buffer of exactly its size. */
export function copyAlone(message: Message, expiresAtMost: number): Message {
  return copyWithPayload(message, expiresAtMost, copyBytes(message.chunk, message.payloadStart, message.frameEnd))
}

/**
 * Returns a copy of a retained message. The copy of a small one is needed only until its record is written (see `SmallRetained`), so
 * its payload is in Node's shared block: a block of the C library for each left holes in its heap.
 */
export function copyRetained(message: Message, expiresAtMost: number): Message {
  if (message.payloadBytes > maxSmallPayloadBytes) return copyAlone(message, expiresAtMost)
  return copyWithPayload(message, expiresAtMost, Buffer.from(message.readPayload()))
}

function copyWithPayload(message: Message, expiresAtMost: number, payload: Buffer): Message {
  // A separate topic object: the interned one refers to its route, which retained messages do not need.
  const apart = new Message(new Topic(message.topic.name, message.topic.bytes), {
    qos: message.qos,
    retain: message.retain,
    properties: copyProperties(message.properties),
    publisher: message.publisher,
    publishedAtMs: message.publishedAtMs,
    expiresAtMs: message.expiresAtMs === never ? expiresAtMost : message.expiresAtMs,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payload.length,
  })
  copyPublisherRights(apart, message)
  apart.isOwned = true
  return apart
}

/** Copies properties for messages that may be stored for years: their bytes get memory of their own. */
export function copyProperties<P extends MessageProperties>(properties: P | undefined): P | undefined {
  const correlationData = properties?.correlationData
  if (properties === undefined || correlationData === undefined) return properties
  return { ...properties, correlationData: copyBytes(correlationData) }
}

/**
 * Returns the remaining seconds, rounded up; undefined if the message never expires. Never more than the publisher gave [MQTT5-3.3.2-6]: the
 * turn of this shard may have begun before another shard received the message.
 */
export function computeRemainingSeconds(message: Message, nowMs: number): number | undefined {
  if (message.expiresAtMs === never) return undefined
  const waitedUntilMs = Math.max(nowMs, message.publishedAtMs)
  return Math.max(0, Math.ceil((message.expiresAtMs - waitedUntilMs) / 1_000))
}

export function toStored(message: Message): StoredMessage {
  return {
    topic: message.topic.name,
    payload: message.readPayload(),
    qos: message.qos,
    retain: message.retain,
    properties: message.properties,
    publisher: message.publisher,
    publisherUsername: message.publisherUsername,
    isByOwnRight: message.isByOwnRight,
    publisherMountpoint: message.publisherMountpoint,
    isRepeat: message.isRepeat,
    publishedAtMs: message.publishedAtMs,
    expiresAtMs: message.expiresAtMs === never ? undefined : message.expiresAtMs,
  }
}

export function createMessageFromStored(stored: StoredMessage, topic: Topic): Message {
  const payload = Buffer.from(stored.payload.buffer, stored.payload.byteOffset, stored.payload.byteLength)
  const message = new Message(topic, {
    qos: stored.qos,
    retain: stored.retain,
    properties: stored.properties,
    publisher: stored.publisher,
    publishedAtMs: stored.publishedAtMs,
    expiresAtMs: stored.expiresAtMs ?? never,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payload.length,
  })
  message.publisherUsername = stored.publisherUsername
  message.isByOwnRight = stored.isByOwnRight
  message.publisherMountpoint = stored.publisherMountpoint
  message.isRepeat = stored.isRepeat
  message.isOwned = true
  return message
}
