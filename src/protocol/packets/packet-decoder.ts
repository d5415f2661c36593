// Decodes packets from chunks of bytes as they arrive.
//
//   chunk:    | packet | packet | packet | pack          <- read in place, with a cursor
//   partial:                             [ pack... et ]  <- a packet in several chunks is copied
//   waiting:  | et | packet | ... |                      <- chunks after the current one
//
// When `next` has returned `undefined`, only the returned packets refer to the chunks: the rest of the last chunk has been copied
// into `partial`. That grows with the bytes that have arrived, not with the announced length.

import { measureVariableInteger } from '../bytes/byte-sink.ts'
import { ByteReader } from '../bytes/byte-reader.ts'
import { computeMaxConnectBytes, type PacketLimits } from './packet-limits.ts'
import {
  readAckType,
  checkConnectFlags,
  checkFirstByte,
  readPacketType,
  packetTypes,
  type Role,
} from './packet-types.ts'
import { AckPacket, type ConnectPacket, type DisconnectPacket, type Packet, type ProtocolVersion } from './packets.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import { readConnect, readProtocolLevel } from './read-connect.ts'
import { readAck, readAuth, readConnack, readDisconnect } from './read-control-packets.ts'
import { LastProperties, readPublish, type PublishContext } from './read-publish.ts'
import { readSuback, readSubscribe, readUnsuback, readUnsubscribe } from './read-subscription-packets.ts'
import { reasonCodes } from '../reasons/reason-codes.ts'
import {
  checkTopicBytes,
  checkTopicLevels,
  equalsBytes,
  readTopic,
  type Topic,
  type TopicTable,
} from '../topics/topic-table.ts'

export interface PacketDecoderOptions extends PacketLimits {
  /** `server`: decodes packets of clients, CONNECT first. `client`: decodes packets of servers, in `version`. */
  role: Role
  topics: TopicTable
  /** For a `client`. A `server` uses 4 until it has the version of CONNECT. */
  version?: ProtocolVersion
  /** PUBLISH packets in a row with the same properties refer to one object. Default: false. */
  sharesProperties?: boolean
}

const noBytes = Buffer.alloc(0)

/** A connection caches the topic of its last PUBLISH, unless the name has more bytes than this. */
const maxCachedTopicBytes = 1_024

export class PacketDecoder implements PublishContext {
  /** The version of CONNECT once its level is decoded, so that the response to a later error is in this version. */
  version: ProtocolVersion
  // Copies of values that all decoders of a listener share, because each packet reads them.
  readonly role: Role
  readonly limits: PacketLimits
  readonly lastProperties: LastProperties | undefined
  private readonly topics: TopicTable
  private awaitsConnect: boolean
  private chunk: Buffer = noBytes
  private at = 0
  /** Chunks after the current one; undefined: none, as on most connections. */
  private waiting: Buffer[] | undefined = undefined
  /** Number of chunks of `waiting` that were decoded. They are not removed one by one: that would move the others each time. */
  private waitingRead = 0
  private partial: PartialFrame | undefined = undefined
  private lastTopic: Topic | undefined = undefined
  private fault: unknown = undefined

  constructor(options: PacketDecoderOptions) {
    this.version = options.version ?? 4
    this.role = options.role
    this.limits = options
    this.lastProperties = options.sharesProperties === true ? new LastProperties() : undefined
    this.topics = options.topics
    this.awaitsConnect = options.role === 'server'
  }

  /** Number of bytes that have arrived and are not part of a returned packet. */
  get bufferedBytes(): number {
    let bytes = this.chunk.length - this.at + (this.partial?.arrivedBytes ?? 0)
    const { waiting } = this
    if (waiting === undefined) return bytes
    for (let index = this.waitingRead; index < waiting.length; index++) bytes += waiting[index].length
    return bytes
  }

  /** Number of bytes of an incomplete packet, after all chunks were read. */
  get partialBytes(): number {
    return this.partial === undefined ? 0 : this.partial.arrivedBytes
  }

  /** Memory that these bytes use. */
  get partialMemoryBytes(): number {
    return this.partial === undefined ? 0 : this.partial.bytes.length
  }

  /** Stops reading: from now on `next` throws `fault`. */
  stop(fault: ProtocolError): void {
    this.fault ??= fault
    this.forgetBytes()
  }

  /** Adds the next bytes. They must not change until `next` has returned `undefined`. */
  push(chunk: Buffer): void {
    if (this.fault !== undefined) return
    if (this.waiting !== undefined) this.waiting.push(chunk)
    else if (this.at < this.chunk.length) this.waiting = [chunk]
    else {
      this.chunk = chunk
      this.at = 0
    }
  }

  /**
   * Returns the next complete packet, or `undefined` if more bytes are needed. Throws `ProtocolError` for invalid input, and
   * then for each further call, because the start of the next packet is unknown.
   */
  next(): Packet | undefined {
    if (this.fault !== undefined) throw this.fault
    try {
      return this.readNext()
    } catch (fault) {
      this.fault = fault
      this.forgetBytes()
      throw fault
    }
  }

  /**
   * See `PublishContext`. Most connections publish to few topics, many to one: it is compared with the last before it is
   * looked up. For too many levels or bytes a `client` throws `topicNameInvalid`; a `server` returns the topic, which its
   * core refuses, with an acknowledgement if there is one.
   */
  findTopic(chunk: Buffer, start: number, end: number): Topic {
    const last = this.lastTopic
    if (last !== undefined && equalsBytes(last.bytes, chunk, start, end)) return last
    const { maxTopicBytes, maxTopicLevels } = this.limits
    if (this.role === 'client') checkTopicBytes(end - start, maxTopicBytes)
    // A refused topic is not added to the table.
    if (end - start > maxTopicBytes) return readTopic(chunk, start, end)
    const topic = this.topics.intern(chunk, start, end)
    if (this.role === 'client') checkTopicLevels(topic.levels, maxTopicLevels)
    this.lastTopic = end - start <= maxCachedTopicBytes ? topic : undefined
    return topic
  }

  private readNext(): Packet | undefined {
    for (;;) {
      const packet = this.partial === undefined ? this.readInPlace() : this.readPartial(this.partial)
      if (packet !== undefined) return packet
      if (!this.takeNextChunk()) return undefined
    }
  }

  private takeNextChunk(): boolean {
    this.at = 0
    if (this.waiting === undefined) {
      this.chunk = noBytes
      return false
    }
    this.chunk = this.waiting[this.waitingRead++]
    if (this.waitingRead === this.waiting.length) {
      this.waiting = undefined
      this.waitingRead = 0
    }
    return true
  }

  /** Returns `undefined` at the end of the chunk: its rest is in `partial`. */
  private readInPlace(): Packet | undefined {
    const { chunk, at } = this
    if (at === chunk.length) return undefined
    const frameBytes = this.measureFrame(chunk, at, chunk.length)
    const frameEnd = at + frameBytes
    if (frameBytes === 0 || frameEnd > chunk.length) {
      this.partial = new PartialFrame(frameBytes, chunk, at)
      return undefined
    }
    this.at = frameEnd
    return this.readFrame(chunk, at, frameEnd)
  }

  /** Returns `undefined` at the end of the chunk, if the packet is incomplete. */
  private readPartial(partial: PartialFrame): Packet | undefined {
    const { chunk } = this
    while (partial.frameBytes === 0) {
      if (this.at === chunk.length) return undefined
      partial.append(chunk, this.at, this.at + 1)
      this.at += 1
      partial.frameBytes = this.measureFrame(partial.bytes, 0, partial.arrivedBytes)
    }
    const takenEnd = Math.min(chunk.length, this.at + partial.frameBytes - partial.arrivedBytes)
    partial.append(chunk, this.at, takenEnd)
    this.at = takenEnd
    if (partial.arrivedBytes < partial.frameBytes) return undefined
    this.partial = undefined
    return this.readFrame(partial.bytes, 0, partial.frameBytes)
  }

  /**
   * Returns the size of the packet at `start` in bytes, or 0 if the fixed header is incomplete. Errors in the header are
   * found here, before the body has arrived.
   */
  private measureFrame(bytes: Buffer, start: number, end: number): number {
    const firstByte = bytes[start]
    // [MQTT-3.1.0-1] [MQTT5-3.1.0-1]
    if (this.awaitsConnect && firstByte >> 4 !== packetTypes.connect) {
      throw new ProtocolError('protocolError', 'the first packet is not CONNECT')
    }
    checkFirstByte(firstByte, this.role, this.version)
    const remaining = readRemainingLength(bytes, start + 1, end)
    if (remaining < 0) return 0
    const frameBytes = 1 + measureVariableInteger(remaining) + remaining
    const maxBytes = this.awaitsConnect ? computeMaxConnectBytes(this.limits) : this.limits.maxPacketBytes
    if (frameBytes > maxBytes) throw new ProtocolError('packetTooLarge', `a packet has more than ${maxBytes} bytes`)
    return frameBytes
  }

  private readFrame(chunk: Buffer, frameStart: number, frameEnd: number): Packet {
    const firstByte = chunk[frameStart]
    let bodyStart = frameStart + 1
    while (chunk[bodyStart++] >= 0x80);
    if (firstByte >> 4 === packetTypes.publish) return readPublish(this, chunk, frameStart, bodyStart, frameEnd)
    const ackType = readAckType(firstByte)
    const reader = new ByteReader(chunk, bodyStart, frameEnd)
    if (ackType === undefined) return this.readControlPacket(firstByte, reader)
    if (frameEnd - bodyStart !== 2) return readAck(reader, ackType, this.version, this.limits)
    const packetId = reader.uint16('packet id')
    if (packetId === 0) throw new ProtocolError('protocolError', `${ackType} has packet id 0`)
    return new AckPacket(ackType, packetId, reasonCodes.success, undefined)
  }

  private readControlPacket(firstByte: number, reader: ByteReader): Packet {
    const { version, limits } = this
    const type = readPacketType(firstByte)
    switch (type) {
      case 'connect':
        return this.readConnect(firstByte, reader)
      case 'connack':
        return readConnack(reader, version, limits)
      case 'subscribe':
        return readSubscribe(reader, version, limits)
      case 'suback':
        return readSuback(reader, version, limits)
      case 'unsubscribe':
        return readUnsubscribe(reader, version, limits)
      case 'unsuback':
        return readUnsuback(reader, version, limits)
      case 'pingreq':
      case 'pingresp':
        reader.expectEnd(type)
        return { type }
      case 'disconnect':
        return this.readDisconnect(reader)
      case 'auth':
        return readAuth(reader, limits)
      default:
        throw new Error(`Assertion failed: first byte ${firstByte} was let pass`)
    }
  }

  /** A second CONNECT does not change the version. The broker rejects it [MQTT-3.1.0-2] [MQTT5-3.1.0-2]. */
  private readConnect(firstByte: number, reader: ByteReader): ConnectPacket {
    const level = readProtocolLevel(reader)
    checkConnectFlags(firstByte, level.version)
    if (this.awaitsConnect) this.version = level.version
    this.awaitsConnect = false
    return readConnect(reader, level, this.limits)
  }

  private readDisconnect(reader: ByteReader): DisconnectPacket {
    const packet = readDisconnect(reader, this.version, this.limits)
    // [MQTT5-3.14.2-2]
    if (this.role === 'client' && packet.properties?.sessionExpiryIntervalSeconds !== undefined) {
      throw new ProtocolError('protocolError', 'a server sends no session expiry interval in disconnect')
    }
    return packet
  }

  private forgetBytes(): void {
    this.chunk = noBytes
    this.at = 0
    this.waiting = undefined
    this.waitingRead = 0
    this.partial = undefined
  }
}

/** An incomplete packet. Its buffer is at most twice as large as the bytes that have arrived. */
class PartialFrame {
  /** 0 while the fixed header is incomplete. */
  frameBytes: number
  bytes: Buffer
  arrivedBytes: number

  /** Copies `chunk` from `start` on. */
  constructor(frameBytes: number, chunk: Buffer, start: number) {
    this.frameBytes = frameBytes
    this.arrivedBytes = chunk.length - start
    this.bytes = Buffer.allocUnsafe(this.computeBufferBytes(this.arrivedBytes))
    chunk.copy(this.bytes, 0, start)
  }

  append(chunk: Buffer, start: number, end: number): void {
    const arrived = this.arrivedBytes + end - start
    if (arrived > this.bytes.length) {
      const larger = Buffer.allocUnsafe(this.computeBufferBytes(arrived))
      this.bytes.copy(larger, 0, 0, this.arrivedBytes)
      this.bytes = larger
    }
    chunk.copy(this.bytes, this.arrivedBytes, start, end)
    this.arrivedBytes = arrived
  }

  private computeBufferBytes(arrivedBytes: number): number {
    const capacity = Math.max(2 * arrivedBytes, minBufferBytes)
    return this.frameBytes === 0 ? capacity : Math.min(capacity, this.frameBytes)
  }
}

const minBufferBytes = 16

/** Returns -1 if the length is incomplete. Throws `malformedPacket` if it has more than four bytes, or more than necessary. */
function readRemainingLength(bytes: Buffer, start: number, end: number): number {
  if (start === end) return -1
  const first = bytes[start]
  if (first < 0x80) return first
  let value = first & 0x7f
  for (let index = 1; index < 4; index++) {
    if (start + index === end) return -1
    const byte = bytes[start + index]
    value |= (byte & 0x7f) << (7 * index)
    if (byte >= 0x80) continue
    // [MQTT5-1.5.5-1] Longer than needed; 3.1.1 does not forbid it, but no client sends it.
    if (byte === 0) throw new ProtocolError('malformedPacket', 'the remaining length is longer than it need be')
    return value
  }
  throw new ProtocolError('malformedPacket', 'the remaining length has more than four bytes')
}
