// Reads messages from a link buffer, see publish-writer.ts. Their frames are not copied: a forwarded message is copied once
// more, from the link buffer into the buffer of its receiver.

import { Message, createMessageFromPublish, never, type PeerPublish } from '../core/index.ts'
import {
  assert,
  createAssertionError,
  readPublish,
  type ProtocolVersion,
  type PublishContext,
  type PublishPacket,
  type QoS,
  type Topic,
  type TopicTable,
} from '../protocol/index.ts'
import type { LinkBufferReader } from './link-buffer-reader.ts'
import { singleFlags, plainFlags, publishFlags, type MessageDetails } from './publish-writer.ts'

/** No limits, because the shard of the publisher has checked them. */
const noLimits = {
  maxPacketBytes: Infinity,
  maxPropertyBytes: Infinity,
  maxTopicLevels: Infinity,
  maxTopicBytes: Infinity,
}

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
  #flags = 0
  #publisher = ''
  #publishedAtMs = 0
  #lastTopic: Topic | undefined

  constructor(reader: LinkBufferReader, topics: TopicTable) {
    this.#reader = reader
    this.#topics = topics
    this.#lastTopic = undefined
  }

  /** See `PublishContext`. Messages in a run mostly have one topic. */
  findTopic(chunk: Buffer, start: number, end: number): Topic {
    const last = this.#lastTopic
    if (last !== undefined && isTopic(last, chunk, start, end)) return last
    return (this.#lastTopic = this.#topics.intern(chunk, start, end))
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
    const single = reader.uint8()
    const expiresAtMs = (single & singleFlags.hasExpiry) === 0 ? never : reader.float64()
    const more =
      (single & singleFlags.hasDetails) === 0 ? undefined : (JSON.parse(reader.text()) as MessageDetails | undefined)
    const message = expiresAtMs === never ? this.#readPlain() : this.#readExpiring(expiresAtMs)
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
    const packet = readPublish(this, chunk, frameStart, bodyStart, this.#reader.at)
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
    if (payloadStart > frameEnd) throw createAssertionError(`the frame at ${frameStart} ends before its payload begins`)
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
    const { chunk, at: frameEnd } = this.#reader
    const packet = readPublish(this, chunk, frameStart, bodyStart, frameEnd)
    return createMessageFromPublish(packet, requireTopic(packet), {
      publisher: this.#publisher,
      version: this.version,
      nowMs: this.#publishedAtMs,
    })
  }

  /** Returns the flags. */
  #readSource(): number {
    const reader = this.#reader
    const flags = reader.uint8()
    if ((flags & publishFlags.sameSource) !== 0) return flags
    this.#publisher = reader.text()
    this.#publishedAtMs = reader.float64()
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
    } while (byte >= 0x80)
    const frameEnd = bodyStart + bodyBytes
    if (frameEnd > recordEnd)
      throw createAssertionError(`a frame at ${at} ends at ${frameEnd} in a record that ends at ${recordEnd}`)
    reader.at = frameEnd
    return bodyStart
  }
}

function requireTopic(packet: PublishPacket): Topic {
  assert(packet.topic !== undefined, 'a frame without a topic has come from a peer')
  return packet.topic
}

function isTopic(topic: Topic, chunk: Buffer, start: number, end: number): boolean {
  const { bytes } = topic
  if (bytes.length !== end - start) return false
  for (let index = 0; index < bytes.length; index++) if (bytes[index] !== chunk[start + index]) return false
  return true
}
