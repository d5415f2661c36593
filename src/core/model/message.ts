// What people sent, once it has come off the wire. One object for each publication, however many receive it.

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

/** Retained messages up to this size are kept in compact form: the objects of a buffer take about 0.4 KiB. */
export const maxSmallPayloadBytes = 512

/** No expiry. */
export const never = Infinity

/**
 * Which versions can take the bytes of the frame as they are: 0: there is no frame, only a payload;
 * 4: without a property section (3.1, 3.1.1); 5: with one.
 */
export type FrameShape = 0 | 4 | 5

/**
 * A message and where its bytes lie. While it is on its way through one turn they are the publisher's chunk
 * (`isOwned` false); what stays longer is copied by `own` first, or 64 bytes keep 64 KiB alive.
 *
 *   chunk:  ... | first byte | length | topic length | topic | packet id? | properties? | payload | ...
 *               ^ frameStart                                ^ packetIdAt                ^ payloadStart
 *                                                                                        frameEnd ^
 */
export class Message {
  readonly topic: Topic
  /** As published. */
  readonly qos: QoS
  /** As published. */
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  /** The client id of the publisher, '' where it is not a client. */
  readonly publisher: string
  /** Where it is known: of retained messages and wills. */
  publisherUsername: string | undefined
  /** Its publisher is a superuser, or had a right of its own: known of retained messages and wills. */
  isByOwnRight: boolean
  /** In front of its topic, and not said by its publisher; '' where nothing is: known of retained messages and wills. */
  publisherMountpoint: string
  /** It came to this shard once before, and nobody knows whom it reached then: sent at QoS 1 it has DUP. */
  isRepeat: boolean
  readonly publishedAtMs: number
  /** `never` or a time. */
  readonly expiresAtMs: number
  chunk: Buffer
  frameShape: FrameShape
  frameStart: number
  /** 0 where the frame has no packet id. */
  packetIdAt: number
  payloadStart: number
  frameEnd: number
  isOwned: boolean
  /** The id of the stored body that several queues share, 0 where there is none. */
  bodyId: number
  /** Of retained messages that came as a publication in this life of the broker. */
  retainedOrigin: RetainedOrigin | undefined
  /** Deliveries that hold it in memory: see `outgoing/held-bytes.ts`. */
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
    this.bodyId = 0
    this.retainedOrigin = undefined
    this.holders = 0
  }

  get topicName(): TopicName {
    return this.topic.name
  }

  get payloadBytes(): number {
    return this.frameEnd - this.payloadStart
  }

  payload(): Buffer {
    return this.chunk.subarray(this.payloadStart, this.frameEnd)
  }
}

/** How it came to the shard that keeps it for its topic. */
export interface RetainedOrigin {
  /** The shard on which it was published. */
  readonly shard: number
  /** Which life of the link, if it is another one: numbers begin anew with each. */
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

/** The message in a PUBLISH. `topic` is the packet's, or what its alias stands for. */
export function messageFromPublish(
  packet: PublishPacket,
  topic: Topic,
  from: { publisher: string; version: number; nowMs: number },
): Message {
  const properties = packet.properties
  const expiry = properties === undefined ? undefined : properties.messageExpiryIntervalSeconds
  const message = new Message(topic, {
    qos: packet.qos,
    retain: packet.retain,
    properties: properties === undefined || properties.topicAlias === undefined ? properties : withoutAlias(properties),
    publisher: from.publisher,
    publishedAtMs: from.nowMs,
    expiresAtMs: expiry === undefined ? never : from.nowMs + expiry * 1_000,
    chunk: packet.chunk,
    payloadStart: packet.payloadStart,
    payloadEnd: packet.frameEnd,
  })
  // An alias means nothing to others and an expiry counts down: with either of them the frame can not be passed on.
  if (properties === undefined || (properties.topicAlias === undefined && expiry === undefined)) {
    message.frameShape = from.version === 5 ? 5 : 4
    message.frameStart = packet.frameStart
    message.packetIdAt = packet.packetIdAt
  }
  return message
}

/** Notes by what right it is published, for the day when that is looked at again. */
export function recordPublisherRights(
  message: Message,
  { username, isSuperuser, grants }: Identity,
  mountpoint: string,
): void {
  message.publisherUsername = username
  message.isByOwnRight = isSuperuser || grants !== undefined
  message.publisherMountpoint = mountpoint
}

/** What `noteRight` has noted of the one is noted of the other. */
export function copyPublisherRights(message: Message, from: Message): void {
  message.publisherUsername = from.publisherUsername
  message.isByOwnRight = from.isByOwnRight
  message.publisherMountpoint = from.publisherMountpoint
}

/** What is known of a retained message beside what was published. Its bytes are its own. */
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

/** The same message, and the same bytes of its payload, under another topic. */
export function withTopic(message: Message, topic: Topic): Message {
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

/** To be written anew where it goes, as something of it has changed. */
export function withoutFrame(message: Message): Message {
  message.frameShape = 0
  message.frameStart = message.payloadStart
  message.packetIdAt = 0
  return message
}

function withoutAlias(properties: MessageProperties & { topicAlias?: number }): MessageProperties | undefined {
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

/** Returns a copy for long-lived messages (delayed). Its payload has a buffer of just its size. */
export function copyAlone(message: Message, expiresAtMost: number): Message {
  return copyWithPayload(message, expiresAtMost, copyBytes(message.chunk, message.payloadStart, message.frameEnd))
}

/**
 * Returns a copy of a retained message. The copy of a small one is needed only until its record is written (see `SmallRetained`), so
 * its payload is in Node's shared block: a block of the C library for each left holes in its heap.
 */
export function copyRetained(message: Message, expiresAtMost: number): Message {
  if (message.payloadBytes > maxSmallPayloadBytes) return copyAlone(message, expiresAtMost)
  return copyWithPayload(message, expiresAtMost, Buffer.from(message.payload()))
}

function copyWithPayload(message: Message, expiresAtMost: number, payload: Buffer): Message {
  // A topic of its own: the interned one keeps its route, which a million retained messages have no use for.
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

/** The same, for what may stay for years: their bytes are in memory of their own. */
export function copyProperties<P extends MessageProperties>(properties: P | undefined): P | undefined {
  const correlationData = properties?.correlationData
  if (properties === undefined || correlationData === undefined) return properties
  return { ...properties, correlationData: copyBytes(correlationData) }
}

/** Whole seconds that are left, a begun one counted as whole; undefined where it never expires. */
export function remainingSeconds(message: Message, nowMs: number): number | undefined {
  if (message.expiresAtMs === never) return undefined
  return Math.max(0, Math.ceil((message.expiresAtMs - nowMs) / 1_000))
}

export function toStored(message: Message): StoredMessage {
  return {
    topic: message.topic.name,
    payload: message.payload(),
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

export function fromStored(stored: StoredMessage, topic: Topic): Message {
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
