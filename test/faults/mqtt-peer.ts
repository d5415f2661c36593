// A client for these tests: one connection that sends exactly the given packets and keeps all received packets.

import { connect, type Socket } from 'node:net'
import {
  PacketDecoder,
  parseTopicFilter,
  reasonCodes,
  TopicTable,
  AckPacket,
  type AckType,
  type ControlPacket,
  type Packet,
  type ProtocolVersion,
  type PublishPacket,
  type QoS,
} from '../../src/protocol/index.ts'
import { encode, encodePublish, type PublishFrame } from '../simulator/wire.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

/** The test fails if a response takes longer. */
const timeoutMs = 60_000
const topics = new TopicTable(1_024)

export interface PeerOptions {
  readonly clientId: string
  readonly version: ProtocolVersion
  /** The session survives its connections, in 5.0 for an hour. Default: it does not. */
  readonly isDurable?: boolean
}

export class MqttPeer {
  readonly options: PeerOptions
  /** All received packets, in order. */
  readonly received: Packet[]
  isOpen: boolean
  readonly #socket: Socket
  readonly #waiting: Set<() => void>

  /** Connects and sends CONNECT without waiting for the response. */
  constructor(port: number, options: PeerOptions) {
    this.options = options
    this.received = []
    this.isOpen = true
    this.#waiting = new Set()
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const decoder = new PacketDecoder({
      role: 'client',
      version: options.version,
      topics,
      maxPacketBytes: 0xfff_ffff,
      maxPropertyBytes: 65_536,
      maxTopicLevels: 128,
      maxTopicBytes: 65_535,
    })
    // These tests end the broker, so errors of the connection are expected.
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => this.#ended())
    this.#socket.on('data', (chunk: Buffer) => {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) this.received.push(packet)
      this.#look()
    })
    this.#sendConnect()
  }

  /** Returns an accepted client. */
  static async connect(port: number, options: PeerOptions): Promise<MqttPeer> {
    const peer = new MqttPeer(port, options)
    const connack = await peer.until('CONNACK', () => peer.of('connack')[0])
    if (connack.reasonCode !== 0) throw new Error(`${options.clientId} was refused with ${connack.reasonCode}`)
    return peer
  }

  send(packet: ControlPacket): void {
    this.#socket.write(encode(packet, this.options.version))
  }

  publish(frame: PublishFrame): void {
    this.#socket.write(encodePublish(frame, this.options.version))
  }

  acknowledge(type: AckType, packetId: number): void {
    this.send(new AckPacket(type, packetId, reasonCodes.success, undefined))
  }

  /** Resolves when SUBACK has arrived. */
  async subscribe(text: string, qos: QoS): Promise<void> {
    const filter = parseTopicFilter(text)
    if (filter === undefined) throw new Error(`${text} is not a filter`)
    const options = { qos, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
    const before = this.of('suback').length
    this.send({ type: 'subscribe', packetId: 65_535, subscriptions: [{ filter, ...options }], properties: undefined })
    await this.until('SUBACK', () => this.of('suback')[before])
  }

  /** All received packets of one type. */
  of<T extends Packet['type']>(type: T): Extract<Packet, { type: T }>[] {
    return this.received.filter((packet): packet is Extract<Packet, { type: T }> => packet.type === type)
  }

  /** The acknowledgement of a packet identifier, if it has arrived. */
  ack(packetId: number): AckPacket | undefined {
    return this.received.find(
      (packet): packet is AckPacket => packet instanceof AckPacket && packet.packetId === packetId,
    )
  }

  untilAck(packetId: number): Promise<AckPacket> {
    return this.until(`an acknowledgement of ${packetId}`, () => this.ack(packetId))
  }

  /** The payloads of all received messages, as text. */
  payloads(): string[] {
    return this.of('publish').map(payloadOf)
  }

  /** Resolves with the first result of `find`, which is called for each received packet. */
  until<T>(what: string, find: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(look)
      }
      const timer = setTimeout(() => {
        settle()
        reject(new Error(`${this.options.clientId} waited in vain for ${what}`))
      }, timeoutMs)
      const look = (): void => {
        const found = find()
        if (found === undefined && this.isOpen) return
        settle()
        if (found === undefined) reject(new Error(`${this.options.clientId} lost its connection before ${what}`))
        else resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Breaks the connection without DISCONNECT. */
  destroy(): void {
    this.#socket.destroy()
  }

  #sendConnect(): void {
    const { clientId, version, isDurable = false } = this.options
    const properties = version === 5 && isDurable ? { sessionExpiryIntervalSeconds: 3_600 } : undefined
    this.send(plainConnect(version, clientId, { cleanStart: !isDurable, properties }))
  }

  #look(): void {
    for (const look of this.#waiting) look()
  }

  #ended(): void {
    this.isOpen = false
    this.#look()
  }
}

export function payloadOf(packet: PublishPacket): string {
  return packet.chunk.toString('utf8', packet.payloadStart, packet.frameEnd)
}
