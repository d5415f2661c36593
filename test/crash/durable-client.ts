// Clients that follow the standard across broken connections: they send unacknowledged packets again, and store received packet
// identifiers. Their memory never fails, so each missing or repeated message is a fault of the broker.

import { connect, type Socket } from 'node:net'
import {
  AckPacket,
  PacketDecoder,
  reasonCodes,
  TopicTable,
  type AckType,
  type ControlPacket,
  type Packet,
  type PacketId,
  type ProtocolVersion,
} from '../../src/protocol/index.ts'
import { encode } from '../simulator/wire.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

const sessionExpirySeconds = 86_400
const topics = new TopicTable(64)

export interface ClientOptions {
  readonly clientId: string
  readonly version: ProtocolVersion
  /** Called for each received packet. */
  readonly onProgress: () => void
}

export abstract class DurableClient {
  readonly clientId: string
  readonly version: ProtocolVersion
  /** Faults of the broker, in sentences. */
  readonly faults: string[]
  readonly #onProgress: () => void
  #socket: Socket | undefined
  /** A CONNACK has arrived once: from then on the session must exist. */
  #wasConnected: boolean

  constructor(options: ClientOptions) {
    this.clientId = options.clientId
    this.version = options.version
    this.faults = []
    this.#onProgress = options.onProgress
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
      maxTopicBytes: 65_535,
    })
    this.#socket = socket
    // The broker is killed, so errors and ends of the connection are expected.
    socket.on('error', () => {})
    socket.on('close', () => this.#ended(socket))
    socket.on('data', (chunk: Buffer) => {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) this.#take(packet)
      this.#onProgress()
    })
    const properties = this.version === 5 ? { sessionExpiryIntervalSeconds: sessionExpirySeconds } : undefined
    this.send(plainConnect(this.version, this.clientId, { cleanStart: false, properties }))
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

  protected acknowledge(type: AckType, packetId: PacketId): void {
    this.send(new AckPacket(type, packetId, reasonCodes.success, undefined))
  }

  protected fault(what: string): void {
    this.faults.push(`${this.clientId} ${what}`)
  }

  protected unexpected(packet: Packet): void {
    this.fault(`got ${packet.type}${'reasonCode' in packet ? ` with reason ${packet.reasonCode}` : ''}`)
  }

  protected write(bytes: Buffer): void {
    this.#socket?.write(bytes)
  }

  protected abstract connected(): void
  protected abstract packet(packet: Packet): void

  #take(packet: Packet): void {
    // [MQTT5-3.14.0-1] A 5.0 client receives DISCONNECT before a graceful stop.
    if (packet.type === 'disconnect' && packet.reasonCode === reasonCodes.serverShuttingDown) return
    if (packet.type !== 'connack') return this.packet(packet)
    if (packet.reasonCode !== 0) {
      return this.fault(`was refused with ${packet.reasonCode}`)
    }
    if (this.#wasConnected && !packet.sessionPresent) this.fault('has lost its session')
    this.#wasConnected = true
    this.connected()
  }

  #ended(socket: Socket): void {
    if (this.#socket === socket) this.#socket = undefined
  }
}
