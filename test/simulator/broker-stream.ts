// The broker's end of a connection: converts bytes of the network to packets and packets to bytes, as a shard does for
// one socket.

import type { ConnectionOrigin, ListenerTraits, SendList } from '../../src/core/index.ts'
import { Connection, headBits, never, computeRemainingSeconds, sendKinds } from '../../src/core/index.ts'
import {
  measurePacket,
  measurePublish,
  PacketDecoder,
  ProtocolError,
  writeAck,
  writePacket,
  writePublish,
  type Packet,
  type TopicTable,
} from '../../src/protocol/index.ts'
import { StreamWatch, type PacketMonitor } from './packet-monitor.ts'
import type { Link } from './network.ts'
import type { ShardHost } from './shard-host.ts'

const largestBytes = 268_435_460
const ackTypes = ['puback', 'puback', 'pubrec', 'pubrel', 'pubcomp'] as const

/** Limits of the shard that reads the stream. */
export interface Decoding {
  readonly topics: TopicTable
  readonly maxPacketBytes: number
  readonly maxTopicLevels: number
  readonly maxTopicBytes: number
  readonly listener: Partial<ListenerTraits> | undefined
  readonly arrival: ConnectionOrigin | undefined
}

export class BrokerStream {
  readonly name: string
  readonly link: Link
  connection: Connection
  readonly watch: StreamWatch
  decoder: PacketDecoder
  /** The shard that handles the stream; undefined while the stream moves between shards. */
  shard: ShardHost | undefined
  /** The shard that accepted the socket. */
  acceptedBy: number
  /** With several shards: received bytes before the client of the connection is known. */
  begun: Buffer[] | undefined
  /** The core knows that the connection has ended. */
  isClosed: boolean
  /** The broker has sent its last packet: later output is discarded. */
  isFinished: boolean
  /** The stream is closing. */
  isClosing: boolean
  isBroken: boolean
  private written: Buffer[]

  constructor(link: Link, name: string, decoding: Decoding) {
    this.name = name
    this.link = link
    this.connection = newConnection(this, decoding)
    this.watch = new StreamWatch(name)
    this.decoder = newDecoder(decoding)
    this.shard = undefined
    this.acceptedBy = 0
    this.begun = undefined
    this.isClosed = false
    this.isFinished = false
    this.isClosing = false
    this.isBroken = false
    this.written = []
  }

  /** Moves the stream to another shard, before any packet was handled. */
  moveTo(decoding: Decoding): void {
    this.connection = newConnection(this, decoding)
    this.decoder = newDecoder(decoding)
  }

  /** The next complete packet, or the error in the bytes. */
  next(): Packet | ProtocolError | undefined {
    if (this.isBroken || this.isClosed || this.connection.isPaused) return undefined
    try {
      return this.decoder.next()
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.isBroken = true
      return error
    }
  }

  write(bytes: Buffer): void {
    if (!this.isFinished) this.written.push(bytes)
  }

  /** Writes everything of this turn at once. */
  flush(): void {
    if (this.written.length === 0) return
    const bytes = this.written.length === 1 ? this.written[0] : Buffer.concat(this.written)
    this.written = []
    if (bytes !== undefined && !this.isClosed && !this.isClosing) this.link.toClient.send(bytes)
  }
}

function newConnection(stream: BrokerStream, { listener, arrival }: Decoding): Connection {
  return new Connection(stream, { name: 'tcp:default', isLoopback: true, ...listener }, '127.0.0.1', arrival)
}

function newDecoder({ topics, maxPacketBytes, maxTopicLevels, maxTopicBytes, listener }: Decoding): PacketDecoder {
  const isInternal = listener?.isInternal === true
  const limits = {
    maxPropertyBytes: isInternal ? largestBytes : 32_768,
    maxPacketBytes: isInternal ? largestBytes : maxPacketBytes,
    maxTopicLevels,
    maxTopicBytes,
  }
  return new PacketDecoder({ role: 'server', topics, ...limits })
}

/** Encodes a list of sends to their streams and passes them to the packet monitor. Returns the streams to flush. */
export function writeSends(
  sends: SendList,
  watch: PacketMonitor,
  when: { nowMs: number; isAfterCommit: boolean },
): Set<BrokerStream> {
  const touched = new Set<BrokerStream>()
  for (let at = 0; at < sends.length; at++) {
    const stream = sends.to[at]?.output as BrokerStream
    stream.watch.isGone = stream.isClosed || stream.isFinished
    touched.add(stream)
    const head = sends.head[at] ?? 0
    const kind = headBits.kind(head)
    if (kind === sendKinds.publish) writePublishAt(sends, at, { stream, watch, ...when })
    else if (kind === sendKinds.packet) writePacketAt(sends, at, { stream, watch })
    else {
      const type = ackTypes[kind]
      watch.ackLeaves(stream.watch, type, headBits.packetId(head))
      const bytes = Buffer.alloc(4)
      writeAck(type, headBits.packetId(head), bytes, 0)
      stream.write(bytes)
    }
  }
  return touched
}

function writePacketAt(sends: SendList, at: number, to: { stream: BrokerStream; watch: PacketMonitor }): void {
  const packet = sends.what[at]
  if (packet === undefined || !('type' in packet)) throw new Error('a sending of kind packet without a packet')
  to.watch.packetLeaves(to.stream.watch, packet)
  const { version } = to.stream.connection
  const bytes = Buffer.alloc(measurePacket(packet, version))
  writePacket(packet, version, bytes, 0)
  to.stream.write(bytes)
}

function writePublishAt(
  sends: SendList,
  at: number,
  to: { stream: BrokerStream; watch: PacketMonitor; nowMs: number; isAfterCommit: boolean },
): void {
  const message = sends.what[at]
  if (message === undefined || 'type' in message) throw new Error('a sending of kind publish without a message')
  const { stream, watch, nowMs, isAfterCommit } = to
  const head = sends.head[at] ?? 0
  const extra = sends.extra[at]
  const { version } = stream.connection
  const fields = {
    topic: message.topic,
    topicIsOmitted: extra?.topicIsOmitted ?? false,
    topicAlias: extra?.topicAlias ?? 0,
    qos: headBits.qos(head),
    retain: headBits.retain(head),
    dup: headBits.dup(head),
    packetId: headBits.packetId(head),
    properties: message.properties,
    // [MQTT5-3.3.2-6] The remaining expiry interval is sent, not the original one.
    messageExpiryIntervalSeconds: version < 5 ? undefined : computeRemainingSeconds(message, nowMs),
    subscriptionIdentifiers: extra?.subscriptionIdentifiers,
    chunk: message.chunk,
    payloadStart: message.payloadStart,
    payloadEnd: message.frameEnd,
  }
  watch.publishLeaves(stream.watch, {
    topic: message.topic.name,
    payload: message.chunk.toString('latin1', message.payloadStart, message.frameEnd),
    qos: fields.qos,
    dup: fields.dup,
    packetId: fields.packetId,
    isOfRetained: message.retain,
    // A message that waited for the disk may expire meanwhile.
    expiresAtMs: isAfterCommit ? never : message.expiresAtMs,
    wasDecidedBefore: isAfterCommit,
  })
  const bytes = Buffer.alloc(measurePublish(fields, version))
  writePublish(fields, version, bytes, 0)
  stream.write(bytes)
}
