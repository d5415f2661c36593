// One connection of an attack: sends the given packets as fast as the broker reads, and acknowledges nothing.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PacketDecoder, TopicTable, type Packet } from '../../src/protocol/index.ts'

const topics = new TopicTable(1_024)

export interface AttackerOptions {
  readonly port: number
  readonly clientId: string
  /** 0: the session ends with the connection. */
  readonly expirySeconds?: number
  readonly will?: { readonly topic: string; readonly payload: Buffer }
  readonly credentials?: { readonly username: string; readonly password: string }
}

export class Attacker {
  readonly #socket: Socket
  readonly #decoder = new PacketDecoder({
    role: 'client',
    version: 5,
    topics,
    maxPacketBytes: 268_435_455,
    maxPropertyBytes: 65_536,
    maxTopicLevels: 65_535,
    maxTopicBytes: 65_535,
  })
  /** Received packets other than PUBLISH: type and reason codes. */
  readonly packets: string[] = []
  received = 0
  /** Resolves `nextPacket` when data arrives. */
  #wake: (() => void) | undefined

  constructor({ port, clientId, expirySeconds = 0, will, credentials }: AttackerOptions) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('error', () => {}).setMaxListeners(0)
    this.#socket.on('close', () => this.#wake?.())
    this.#socket.on('data', (chunk) => this.#read(chunk))
    const expiry = Buffer.from([5, 0x11, 0, 0, 0, 0])
    expiry.writeUInt32BE(expirySeconds, 2)
    const willParts = will === undefined ? [] : [Buffer.from([0]), text(will.topic), binary(will.payload)]
    const login = credentials === undefined ? [] : [text(credentials.username), text(credentials.password)]
    const flags = (expirySeconds === 0 ? 2 : 0) | (will === undefined ? 0 : 4) | (credentials === undefined ? 0 : 0xc0)
    this.#send(0x10, [text('MQTT'), Buffer.from([5, flags, 0, 0]), expiry, text(clientId), ...willParts, ...login])
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  subscribe(filters: readonly string[]): Promise<void> {
    const entries = filters.flatMap((filter) => [text(filter), Buffer.from([1])])
    return this.#sendAndDrain(0x82, [Buffer.from([0, 1, 0]), ...entries])
  }

  publish(topic: string, payload: Buffer, how: { qos?: 0 | 1; retain?: boolean; alias?: number } = {}): Promise<void> {
    const { qos = 0, retain = false, alias } = how
    const properties = alias === undefined ? [0] : [3, 0x23, alias >> 8, alias & 255]
    const packetId = qos === 0 ? [] : [0, 1]
    const head = 0x30 | (qos << 1) | (retain ? 1 : 0)
    return this.#sendAndDrain(head, [text(topic), Buffer.from([...packetId, ...properties]), payload])
  }

  /** Returns the next packet other than PUBLISH as text, or undefined when the connection is closed. */
  async nextPacket(): Promise<string | undefined> {
    while (this.packets.length === 0 && this.isOpen) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    return this.packets.shift()
  }

  /** Disconnects without DISCONNECT: the will is published, and the session remains until it expires. */
  drop(): void {
    this.#socket.destroy()
  }

  #send(head: number, parts: readonly Buffer[]): boolean {
    if (!this.isOpen) return true
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    this.#socket.cork()
    this.#socket.write(Buffer.from([head, ...variableLength(length)]))
    let isTaken = true
    for (const part of parts) isTaken = this.#socket.write(part)
    this.#socket.uncork()
    return isTaken
  }

  async #sendAndDrain(head: number, parts: readonly Buffer[]): Promise<void> {
    if (this.#send(head, parts) || !this.isOpen) return
    await Promise.race([once(this.#socket, 'drain'), once(this.#socket, 'close')]).catch(() => {})
  }

  #read(chunk: Buffer): void {
    this.#decoder.push(chunk)
    for (let packet = this.#decoder.next(); packet !== undefined; packet = this.#decoder.next()) this.#take(packet)
  }

  #take(packet: Packet): void {
    if (packet.type === 'publish') return void this.received++
    const codes = 'reasonCodes' in packet ? packet.reasonCodes : 'reasonCode' in packet ? [packet.reasonCode] : []
    this.packets.push(
      `${packet.type} ${codes
        .slice(0, 1)
        .map((code) => `0x${code.toString(16)}`)
        .join()}`,
    )
    this.#wake?.()
  }
}

function text(value: string): Buffer {
  return binary(Buffer.from(value))
}

function binary(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
}

function variableLength(length: number): number[] {
  const rest = length >>> 7
  return rest === 0 ? [length] : [(length & 127) | 128, ...variableLength(rest)]
}
