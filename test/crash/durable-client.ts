// Clients that do what the standard asks of them across broken connections: what is not acknowledged is sent again, what
// was received is remembered. Their memory never fails, so whatever is missing or comes twice is the broker's doing.

import { connect, type Socket } from 'node:net'
import {
  AckPacket,
  PacketDecoder,
  parseTopicFilter,
  reasonCodes,
  TopicTable,
  type AckType,
  type ControlPacket,
  type Packet,
  type PacketId,
  type ProtocolVersion,
  type PublishPacket,
} from '../../src/protocol/index.ts'
import { encode, encodePublish } from '../simulator/wire.ts'

const sessionExpirySeconds = 86_400
const mostInFlight = 20
const topics = new TopicTable(64)

export interface ClientOptions {
  readonly clientId: string
  readonly version: ProtocolVersion
  /** Called whenever anything has come. */
  readonly heard: () => void
}

abstract class DurableClient {
  readonly clientId: string
  readonly version: ProtocolVersion
  /** What the broker did wrong, in sentences. */
  readonly faults: string[]
  readonly #heard: () => void
  #socket: Socket | undefined
  /** A CONNACK has come once: from then on the session must be there. */
  #wasConnected: boolean

  constructor(options: ClientOptions) {
    this.clientId = options.clientId
    this.version = options.version
    this.faults = []
    this.#heard = options.heard
    this.#wasConnected = false
  }

  connect(port: number): void {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const decoder = new PacketDecoder({
      role: 'client',
      version: this.version,
      topics,
      maxPacketBytes: 0xfff_ffff,
      maxPropertyBytes: 65_536,
      maxTopicLevels: 128,
    })
    this.#socket = socket
    // The broker is killed under it: errors and ends are what the story is about.
    socket.on('error', () => {})
    socket.on('close', () => this.#ended(socket))
    socket.on('data', (chunk: Buffer) => {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) this.#take(packet)
      this.#heard()
    })
    this.send({
      type: 'connect',
      version: this.version,
      clientId: this.clientId,
      cleanStart: false,
      keepAliveSeconds: 0,
      username: undefined,
      password: undefined,
      will: undefined,
      properties: this.version === 5 ? { sessionExpiryIntervalSeconds: sessionExpirySeconds } : undefined,
      isBridge: false,
    })
  }

  get isConnected(): boolean {
    return this.#socket !== undefined
  }

  disconnect(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  protected send(packet: ControlPacket): void {
    this.#socket?.write(encode(packet, this.version))
  }

  protected answer(type: AckType, packetId: PacketId): void {
    this.send(new AckPacket(type, packetId, reasonCodes.success, undefined))
  }

  protected write(bytes: Buffer): void {
    this.#socket?.write(bytes)
  }

  protected abstract connected(): void
  protected abstract packet(packet: Packet): void

  #take(packet: Packet): void {
    if (packet.type !== 'connack') return this.packet(packet)
    if (packet.reasonCode !== 0) {
      this.faults.push(`${this.clientId} was refused with ${packet.reasonCode}`)
      return
    }
    if (this.#wasConnected && !packet.sessionPresent) this.faults.push(`the session of ${this.clientId} was lost`)
    this.#wasConnected = true
    this.connected()
  }

  #ended(socket: Socket): void {
    if (this.#socket === socket) this.#socket = undefined
  }
}

/** Publishes 1, 2, 3, ... to a topic of its own. */
export class Publisher extends DurableClient {
  readonly qos: 1 | 2
  readonly topic: string
  /** The numbers that the broker has taken over: PUBACK, or PUBREC. */
  readonly acknowledged: number[]
  readonly #inFlight: Map<PacketId, { number: number; isReleased: boolean }>
  #last: number
  #lastPacketId: number
  #mayGoOn: boolean

  constructor(options: ClientOptions & { qos: 1 | 2 }) {
    super(options)
    this.qos = options.qos
    this.topic = `crash/${options.clientId}`
    this.acknowledged = []
    this.#inFlight = new Map()
    this.#last = 0
    this.#lastPacketId = 0
    this.#mayGoOn = true
  }

  get isDone(): boolean {
    return this.#inFlight.size === 0
  }

  /** For whoever wonders why nothing goes on. */
  get told(): string {
    const released = [...this.#inFlight.values()].filter((sent) => sent.isReleased).length
    const connection = this.isConnected ? 'connected' : 'not connected'
    return `${this.clientId} is ${connection}, ${this.#inFlight.size} in flight, ${released} of them released`
  }

  /** Nothing new is published from now on; what is in flight is brought to its end. */
  finish(): void {
    this.#mayGoOn = false
  }

  protected connected(): void {
    for (const [packetId, { number, isReleased }] of this.#inFlight) {
      if (isReleased) this.answer('pubrel', packetId)
      else this.#publish(packetId, number, true)
    }
    this.#goOn()
  }

  protected packet(packet: Packet): void {
    switch (packet.type) {
      case 'puback':
        return this.#settle(packet)
      case 'pubrec':
        return this.#release(packet)
      case 'pubcomp':
        this.#inFlight.delete(packet.packetId)
        return this.#goOn()
      default:
        this.faults.push(
          `${this.clientId} got ${packet.type}${'reasonCode' in packet ? ` with reason ${packet.reasonCode}` : ''}`,
        )
    }
  }

  #settle(ack: AckPacket): void {
    this.#accept(ack)
    this.#inFlight.delete(ack.packetId)
    this.#goOn()
  }

  #release(ack: AckPacket): void {
    const sent = this.#accept(ack)
    if (sent === undefined) return
    sent.isReleased = true
    this.answer('pubrel', ack.packetId)
  }

  #accept(ack: AckPacket): { number: number; isReleased: boolean } | undefined {
    const sent = this.#inFlight.get(ack.packetId)
    if (ack.reasonCode >= 0x80) this.faults.push(`${this.clientId}: ${ack.type} with reason ${ack.reasonCode}`)
    if (sent === undefined)
      this.faults.push(`${this.clientId}: ${ack.type} for ${ack.packetId}, which is not in flight`)
    else if (!sent.isReleased) this.acknowledged.push(sent.number)
    return sent
  }

  #goOn(): void {
    while (this.#mayGoOn && this.#inFlight.size < mostInFlight) {
      do this.#lastPacketId = (this.#lastPacketId % 65_535) + 1
      while (this.#inFlight.has(this.#lastPacketId))
      const number = ++this.#last
      this.#inFlight.set(this.#lastPacketId, { number, isReleased: false })
      this.#publish(this.#lastPacketId, number, false)
    }
  }

  #publish(packetId: PacketId, number: number, dup: boolean): void {
    // Some are retained: the topic remembers the last of them.
    const frame = { topic: this.topic, payload: String(number), qos: this.qos, retain: number % 7 === 0, dup, packetId }
    this.write(encodePublish(frame, this.version))
  }
}

/** Hears all publishers, at QoS 2. */
export class Subscriber extends DurableClient {
  /** By topic, the numbers in the order in which they came. */
  readonly received: Map<string, number[]>
  readonly retained: Map<string, number>
  readonly #unreleased: Set<PacketId>
  isSubscribed: boolean

  constructor(options: ClientOptions) {
    super(options)
    this.received = new Map()
    this.retained = new Map()
    this.#unreleased = new Set()
    this.isSubscribed = false
  }

  protected connected(): void {
    if (this.isSubscribed) return
    const filter = parseTopicFilter('crash/#')
    if (filter === undefined) throw new Error('crash/# is a filter')
    const options = { qos: 2, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
    this.send({ type: 'subscribe', packetId: 1, subscriptions: [{ filter, ...options }], properties: undefined })
  }

  protected packet(packet: Packet): void {
    switch (packet.type) {
      case 'suback':
        this.isSubscribed = true
        return
      case 'publish':
        return this.#receive(packet)
      case 'pubrel':
        this.#unreleased.delete(packet.packetId)
        return this.answer('pubcomp', packet.packetId)
      default:
        this.faults.push(
          `${this.clientId} got ${packet.type}${'reasonCode' in packet ? ` with reason ${packet.reasonCode}` : ''}`,
        )
    }
  }

  #receive(packet: PublishPacket): void {
    const isKnown = packet.qos === 2 && this.#unreleased.has(packet.packetId)
    if (!isKnown) this.#note(packet)
    if (packet.qos === 1) this.answer('puback', packet.packetId)
    if (packet.qos !== 2) return
    this.#unreleased.add(packet.packetId)
    this.answer('pubrec', packet.packetId)
  }

  #note(packet: PublishPacket): void {
    const topic = packet.topic?.name ?? ''
    const number = Number(packet.chunk.toString('latin1', packet.payloadStart, packet.frameEnd))
    if (packet.retain) {
      this.retained.set(topic, number)
      return
    }
    const numbers = this.received.get(topic)
    if (numbers === undefined) this.received.set(topic, [number])
    else numbers.push(number)
  }
}
