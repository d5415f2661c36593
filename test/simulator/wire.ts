// The client's end of a connection, packet by packet and without any state of the protocol: the caller decides what to send, legal or not.
// Everything the broker sends is decoded strictly.

import {
  measurePacket,
  measurePublish,
  PacketDecoder,
  Topic,
  TopicTable,
  writePacket,
  writePublish,
  type ControlPacket,
  type Packet,
  type PacketId,
  type ProtocolVersion,
  type PublishProperties,
  type QoS,
  type TopicName,
} from '../../src/protocol/index.ts'
import type { Link, NetworkTraits } from './network.ts'
import { calmNetwork } from './network.ts'
import type { Stage } from './stage.ts'

/** The listener of the broker for clients. Undefined: the broker does not listen. */
export interface ClientListener {
  accept(network: NetworkTraits): Link | undefined
}

/** The fields of a PUBLISH that a client sends. */
export interface PublishFrame {
  /** '' with an alias: the topic is omitted. */
  topic: string
  payload: string | Buffer
  qos?: QoS
  retain?: boolean
  dup?: boolean
  packetId?: PacketId
  properties?: PublishProperties
}

export interface WireUser {
  packet(packet: Packet): void
  /** The connection has ended; `isBroken`: without an orderly end. */
  ended(isBroken: boolean): void
}

const maxProperties = 1 << 20

/** One table for all clients: its memory does not matter. */
const topics = new TopicTable(1_024)

export class Wire {
  readonly name: string
  readonly version: ProtocolVersion
  /** All received packets, in order. */
  readonly received: Packet[]
  isOpen: boolean
  private readonly stage: Stage
  private readonly link: Link
  private readonly decoder: PacketDecoder
  private readonly user: WireUser | undefined

  constructor(
    stage: Stage,
    link: Link,
    options: { name: string; version: ProtocolVersion; maxPacketBytes?: number | undefined; user?: WireUser },
  ) {
    this.stage = stage
    this.link = link
    this.name = options.name
    this.version = options.version
    this.received = []
    this.isOpen = true
    this.user = options.user
    this.decoder = new PacketDecoder({
      role: 'client',
      topics,
      maxPacketBytes: options.maxPacketBytes ?? 0xfff_ffff,
      maxPropertyBytes: maxProperties,
      maxTopicLevels: 65_535,
      maxTopicBytes: 65_535,
      version: options.version,
    })
    link.attachClient({
      arrived: (chunk) => this.arrived(chunk),
      ended: (isBroken) => this.ended(isBroken),
      drained: () => undefined,
    })
  }

  /** Sends any bytes. */
  sendBytes(bytes: Buffer): void {
    if (this.isOpen) this.link.toBroker.send(bytes)
  }

  send(packet: ControlPacket): void {
    this.stage.record(this.name, () => `-> ${describe(packet)}`)
    this.sendBytes(encode(packet, this.version))
  }

  sendPublish(frame: PublishFrame): void {
    this.stage.record(this.name, () => `-> ${describeFrame(frame)}`)
    this.sendBytes(encodePublish(frame, this.version))
  }

  /** Ends the stream in order (TCP FIN). */
  close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.link.toBroker.end()
  }

  /** Breaks the network. `brokerAfterMs` undefined: the broker does not notice. */
  break(brokerAfterMs: number | undefined): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.link.break({ clientAfterMs: undefined, brokerAfterMs })
  }

  stopReading(): void {
    this.link.toClient.pause()
  }

  resumeReading(): void {
    this.link.toClient.resume()
  }

  /** Received packets of one type. */
  of<T extends Packet['type']>(type: T): Extract<Packet, { type: T }>[] {
    return this.received.filter((packet): packet is Extract<Packet, { type: T }> => packet.type === type)
  }

  private arrived(chunk: Buffer): void {
    if (!this.isOpen) return // It has closed: what is in flight is lost.
    try {
      this.decoder.push(chunk)
      for (let packet = this.decoder.next(); packet !== undefined; packet = this.decoder.next()) {
        this.received.push(packet)
        const seen = packet
        this.stage.record(this.name, () => `<- ${describe(seen)}`)
        this.user?.packet(packet)
        if (!this.isOpen) return
      }
    } catch (error) {
      if (error instanceof Error && error.name === 'ProtocolError') {
        this.stage.fail(`the broker sent ${this.name} an invalid packet: ${error.message}`)
      }
      throw error
    }
  }

  private ended(isBroken: boolean): void {
    if (!this.isOpen) return
    this.isOpen = false
    if (!isBroken) this.link.toBroker.end()
    this.stage.record(this.name, () => (isBroken ? 'connection broke' : 'connection closed'))
    this.user?.ended(isBroken)
  }
}

/** Opens a connection to the broker; undefined if the broker does not listen. */
export function openWire(
  stage: Stage,
  broker: ClientListener,
  options: ConstructorParameters<typeof Wire>[2] & { network?: NetworkTraits | undefined },
): Wire | undefined {
  const link = broker.accept(options.network ?? calmNetwork)
  return link === undefined ? undefined : new Wire(stage, link, options)
}

export function encode(packet: ControlPacket, version: ProtocolVersion): Buffer {
  const bytes = Buffer.alloc(measurePacket(packet, version))
  writePacket(packet, version, bytes, 0)
  return bytes
}

export function encodePublish(frame: PublishFrame, version: ProtocolVersion): Buffer {
  const payload = typeof frame.payload === 'string' ? Buffer.from(frame.payload) : frame.payload
  const { topicAlias, subscriptionIdentifiers, ...properties } = frame.properties ?? {}
  const fields = {
    topic: new Topic(frame.topic as TopicName, Buffer.from(frame.topic)),
    topicIsOmitted: frame.topic === '',
    topicAlias: topicAlias ?? 0,
    qos: frame.qos ?? 0,
    retain: frame.retain ?? false,
    dup: frame.dup ?? false,
    packetId: frame.packetId ?? 0,
    properties: frame.properties === undefined ? undefined : properties,
    messageExpiryIntervalSeconds: undefined,
    subscriptionIdentifiers,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payload.length,
  } as const
  const bytes = Buffer.alloc(measurePublish(fields, version))
  writePublish(fields, version, bytes, 0)
  return bytes
}

function describeFrame(frame: PublishFrame): string {
  const flags = `${frame.dup === true ? ' dup' : ''}${frame.retain === true ? ' retain' : ''}`
  const text = frame.payload.toString().trimEnd()
  const payload = text.length > 40 ? `${text.slice(0, 40)}...` : text
  return `publish${flags} qos ${frame.qos ?? 0}${(frame.packetId ?? 0) === 0 ? '' : ` id ${frame.packetId}`} ${frame.topic} ${JSON.stringify(payload)}`
}

/** Describes one packet briefly, for the log of the scenario. */
export function describe(packet: Packet): string {
  if (packet.type === 'publish') {
    const payload = packet.chunk.toString('utf8', packet.payloadStart, packet.frameEnd)
    const { qos, retain, dup, packetId, properties } = packet
    const tail = properties === undefined ? '' : ` ${JSON.stringify(properties)}`
    return describeFrame({ topic: packet.topic?.name ?? '', payload, qos, retain, dup, packetId }) + tail
  }
  const words = Object.entries(packet)
    .filter(([name, value]) => name !== 'type' && value !== undefined && value !== false)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
  return [packet.type, ...words].join(' ')
}
