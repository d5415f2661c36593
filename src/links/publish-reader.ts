// Reads messages from a link buffer, see publish-writer.ts. Their frames are not copied: a forwarded message is copied once
// more, from the link buffer into the buffer of its receiver.

import { Message, createMessageFromPublish, never, type PeerNames, type PeerPublish } from '../core/index.ts'
import {
  ProtocolError,
  readPublish,
  type ProtocolVersion,
  type PublishContext,
  type PublishPacket,
  type QoS,
  type Topic,
  type TopicTable,
} from '../protocol/index.ts'
import type { LinkBufferReader } from './link-buffer-reader.ts'
import { LinkDecodeError } from './link-decode-error.ts'
import { type MessageDetails, readDetails } from './publish-details.ts'
import { singleFlags, plainFlags, publishFlags } from './publish-writer.ts'

/** No limits, because the shard of the publisher has checked them. */
const noLimits = {
  maxPacketBytes: Infinity,
  maxPropertyBytes: Infinity,
  maxTopicLevels: Infinity,
  maxTopicBytes: Infinity,
}

const knownFlags = Object.values(publishFlags).reduce((flags, flag) => flags | flag, 0)
const knownSingleFlags = singleFlags.hasExpiry | singleFlags.hasDetails
/** Packet type of PUBLISH, in the upper half of the first byte of a frame. */
const publishType = 3
/** Maximum bytes of the length of a frame. */
const maxLengthBytes = 4

const flagsOfSend = publishFlags.isForSubscribers | publishFlags.isToBeRetained | publishFlags.isAwaited

export interface SingleMessage {
  readonly flags: number
  readonly more: MessageDetails | undefined
  readonly message: Message
}

export class PublishReader implements PublishContext {
  readonly role = 'client'
  readonly limits = noLimits
  readonly lastProperties = undefined
  version: ProtocolVersion = 4
  readonly #reader: LinkBufferReader
  readonly #topics: TopicTable
  readonly #names: PeerNames
  #flags = 0
  #publisher = ''
  #publishedAtMs = 0
  #lastTopic: Topic | undefined

  constructor(reader: LinkBufferReader, topics: TopicTable, names: PeerNames) {
    this.#reader = reader
    this.#topics = topics
    this.#names = names
    this.#lastTopic = undefined
  }

  /** See `PublishContext`. Messages in a run mostly have one topic. */
  findTopic(chunk: Buffer, start: number, end: number): Topic {
    const last = this.#lastTopic
    if (last !== undefined && isTopic(last, chunk, start, end)) return last
    try {
      return (this.#lastTopic = this.#topics.intern(chunk, start, end))
    } catch (error) {
      throw toDecodeError(error)
    }
  }

  /** Called after the header of a run: `next` returns its messages up to the end of the record. */
  beginRun(): void {
    this.#flags = this.#readSource()
    this.version = (this.#flags & publishFlags.hasProperties) === 0 ? 4 : 5
  }

  /** Returns the next message of a run. */
  next(): Message {
    return this.#readPlain()
  }

  /** Returns whether the messages of the run are plain, see `PeerSender`. */
  get isPlain(): boolean {
    return (this.#flags & flagsOfSend) === plainFlags
  }

  /** Returns a message of a run with the flags of the run. */
  toPublish(message: Message): PeerPublish {
    const flags = this.#flags
    return {
      kind: 'publish',
      message,
      hasSubscribers: (flags & publishFlags.isForSubscribers) !== 0,
      isRetained: (flags & publishFlags.isToBeRetained) !== 0,
      groups: undefined,
      tried: undefined,
      isAwaited: (flags & publishFlags.isAwaited) !== 0,
      exactlyOnce: undefined,
      isRepeat: undefined,
    }
  }

  /** Reads the record of a single message. */
  readSingle(): PeerPublish {
    const { flags, more, message } = this.readMessage()
    return {
      kind: 'publish',
      message,
      hasSubscribers: (flags & publishFlags.isForSubscribers) !== 0,
      isRetained: (flags & publishFlags.isToBeRetained) !== 0,
      groups: more?.groups,
      tried: more?.tried,
      isAwaited: (flags & publishFlags.isAwaited) !== 0,
      exactlyOnce: more?.exactlyOnce,
      isRepeat: more?.isRepeat,
      ...(more?.remaining !== undefined && { remaining: more.remaining }),
    }
  }

  /** Reads a record of `PublishWriter.writeMessage`. */
  readMessage(): SingleMessage {
    const reader = this.#reader
    const flags = this.#readSource()
    this.version = (flags & publishFlags.hasProperties) === 0 ? 4 : 5
    const single = reader.flags(knownSingleFlags)
    const expiresAtMs = (single & singleFlags.hasExpiry) === 0 ? never : reader.duration()
    const more = (single & singleFlags.hasDetails) === 0 ? undefined : readDetails(reader, this.#names)
    const message = expiresAtMs === never ? this.#readPlain() : this.#readExpiring(expiresAtMs)
    reader.expectEnd()
    if (more !== undefined) {
      message.publisherUsername = more.publisherUsername
      message.isByOwnRight = more.isByOwnRight
      message.publisherMountpoint = more.publisherMountpoint
    }
    return { flags, more, message }
  }

  #readExpiring(expiresAtMs: number): Message {
    const { chunk, at: frameStart } = this.#reader
    const bodyStart = this.#beginFrame()
    const packet = this.#readFrame(chunk, frameStart, bodyStart)
    return new Message(requireTopic(packet), {
      qos: packet.qos,
      retain: packet.retain,
      properties: packet.properties,
      publisher: this.#publisher,
      publishedAtMs: this.#publishedAtMs,
      expiresAtMs,
      chunk: packet.chunk,
      payloadStart: packet.payloadStart,
      payloadEnd: packet.frameEnd,
    })
  }

  #readPlain(): Message {
    const reader = this.#reader
    const { chunk, at: frameStart } = reader
    const bodyStart = this.#beginFrame()
    const frameEnd = reader.at
    const topicEnd = bodyStart + 2 + ((chunk[bodyStart] << 8) | chunk[bodyStart + 1])
    const qos = ((chunk[frameStart] >> 1) & 3) as QoS
    let payloadStart = qos === 0 ? topicEnd : topicEnd + 2
    if (this.version === 5) {
      if (chunk[payloadStart] !== 0) return this.#readWithProperties(frameStart, bodyStart)
      payloadStart++
    }
    if (payloadStart > frameEnd || topicEnd > frameEnd || qos > 2)
      throw new LinkDecodeError(`the frame at ${frameStart} ends before its payload begins, or has no QoS`)
    const message = new Message(this.findTopic(chunk, bodyStart + 2, topicEnd), {
      qos,
      retain: (chunk[frameStart] & 1) !== 0,
      properties: undefined,
      publisher: this.#publisher,
      publishedAtMs: this.#publishedAtMs,
      expiresAtMs: never,
      chunk,
      payloadStart,
      payloadEnd: frameEnd,
    })
    message.frameShape = this.version === 5 ? 5 : 4
    message.frameStart = frameStart
    message.packetIdAt = qos === 0 ? 0 : topicEnd
    return message
  }

  #readWithProperties(frameStart: number, bodyStart: number): Message {
    const packet = this.#readFrame(this.#reader.chunk, frameStart, bodyStart)
    return createMessageFromPublish(packet, requireTopic(packet), {
      publisher: this.#publisher,
      version: this.version,
      nowMs: this.#publishedAtMs,
    })
  }

  /** Returns the flags. */
  #readSource(): number {
    const reader = this.#reader
    const flags = reader.flags(knownFlags)
    if ((flags & publishFlags.sameSource) !== 0) return flags
    this.#publisher = reader.text()
    this.#publishedAtMs = reader.duration()
    return flags
  }

  /** Moves the reader past the frame; returns the offset of its body. */
  #beginFrame(): number {
    const reader = this.#reader
    const { chunk, at, recordEnd } = reader
    let bodyStart = at + 1
    let bodyBytes = 0
    let shift = 0
    let byte
    do {
      byte = chunk[bodyStart++]
      bodyBytes |= (byte & 0x7f) << shift
      shift += 7
    } while (byte >= 0x80 && shift < 7 * maxLengthBytes)
    const frameEnd = bodyStart + bodyBytes
    if (byte >= 0x80 || frameEnd > recordEnd || chunk[at] >> 4 !== publishType)
      throw new LinkDecodeError(`the bytes from ${at} to ${recordEnd} are not a frame of PUBLISH`)
    reader.at = frameEnd
    return bodyStart
  }

  /** Reads all fields of a frame that ends where the reader is. */
  #readFrame(chunk: Buffer, frameStart: number, bodyStart: number): PublishPacket {
    try {
      return readPublish(this, chunk, frameStart, bodyStart, this.#reader.at)
    } catch (error) {
      throw toDecodeError(error)
    }
  }
}

/** A frame that the protocol does not allow is an invalid record. Other errors stay as they are. */
function toDecodeError(error: unknown): unknown {
  return error instanceof ProtocolError ? new LinkDecodeError(`a frame is invalid: ${error.message}`) : error
}

function requireTopic(packet: PublishPacket): Topic {
  if (packet.topic === undefined) throw new LinkDecodeError('a frame has no topic')
  return packet.topic
}

function isTopic(topic: Topic, chunk: Buffer, start: number, end: number): boolean {
  const { bytes } = topic
  if (bytes.length !== end - start) return false
  for (let index = 0; index < bytes.length; index++) if (bytes[index] !== chunk[start + index]) return false
  return true
}
