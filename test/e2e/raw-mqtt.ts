// MQTT bytes over any transport, for tests in which a client does what libraries do not: it ends its direction at once, pipelines everything,
// or resets the connection.

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type Packet, PacketDecoder, type ProtocolVersion, TopicTable } from '../../src/protocol/index.ts'

export type RawTransport = 'tcp' | 'tls' | 'ws'

/** How a client ends: its direction only, both, or with a reset. */
export type RawEnd = 'half-close' | 'close' | 'reset'

const topics = new TopicTable(1_024)
const opcodes = { binary: 0x82, close: 0x88 } as const

export interface RawTarget {
  readonly transport: RawTransport
  readonly port: number
  readonly version: ProtocolVersion
}

export class RawClient {
  readonly socket: Socket
  readonly packets: Packet[] = []
  /** Resolves when the connection has closed, in any way. */
  readonly closed: Promise<unknown>
  readonly #target: RawTarget
  readonly #decoder: PacketDecoder
  /** Below TLS, if there is TLS. */
  readonly #plain: Socket
  #upgrade: string | undefined
  #frames = Buffer.alloc(0)
  #wake: (() => void) | undefined

  private constructor(target: RawTarget, socket: Socket, plain: Socket) {
    this.#target = target
    this.#plain = plain
    this.socket = socket
    this.#decoder = new PacketDecoder({
      role: 'client',
      version: target.version,
      topics,
      maxPacketBytes: 268_435_455,
      maxPropertyBytes: 65_536,
      maxTopicLevels: 65_535,
      maxTopicBytes: 65_535,
    })
    socket.on('error', () => {}).on('data', (chunk: Buffer) => this.#take(chunk))
    this.closed = once(socket, 'close').then(() => this.#wake?.())
  }

  /** Connects the socket, with TLS and the WebSocket handshake where the transport has them. */
  static async open(target: RawTarget): Promise<RawClient> {
    const { transport, port } = target
    const address = { host: '127.0.0.1', port, allowHalfOpen: true }
    const plain = connectTcp(address).setNoDelay(true)
    const socket = transport === 'tls' ? connectTls({ socket: plain, rejectUnauthorized: false }) : plain
    const client = new RawClient(target, socket, plain)
    await once(socket, transport === 'tls' ? 'secureConnect' : 'connect')
    if (transport === 'ws') await client.#requestUpgrade()
    return client
  }

  /** Sends bytes with one write, and ends as `end` says. */
  send(bytes: Buffer, end?: RawEnd): void {
    const { transport } = this.#target
    if (transport === 'ws') this.socket.write(frame(opcodes.binary, bytes))
    else this.socket.write(bytes)
    if (end === 'half-close' && transport === 'ws') this.socket.write(frame(opcodes.close, Buffer.from([0x03, 0xe8])))
    if (end === 'half-close') this.socket.end()
    if (end === 'close') this.socket.end(() => this.socket.destroy())
    if (end === 'reset') setImmediate(() => this.#plain.resetAndDestroy())
  }

  /** Resolves with the first packet of this type; undefined: the connection closed without it. */
  async packet(type: Packet['type']): Promise<Packet | undefined> {
    for (;;) {
      const found = this.packets.find((packet) => packet.type === type)
      if (found !== undefined || this.socket.destroyed) return found
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
  }

  async #requestUpgrade(): Promise<void> {
    this.#upgrade = ''
    const key = randomBytes(16).toString('base64')
    this.socket.write(
      `GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n',
    )
    while (this.#upgrade !== undefined) await once(this.socket, 'data')
  }

  #take(chunk: Buffer): void {
    let bytes = chunk
    if (this.#upgrade !== undefined) {
      this.#upgrade += chunk.toString('latin1')
      const end = this.#upgrade.indexOf('\r\n\r\n')
      if (end < 0) return
      bytes = Buffer.from(this.#upgrade.slice(end + 4), 'latin1')
      this.#upgrade = undefined
    }
    if (this.#target.transport === 'ws') this.#takeFrames(bytes)
    else this.#decoder.push(bytes)
    for (let next = this.#decoder.next(); next !== undefined; next = this.#decoder.next()) this.packets.push(next)
    this.#wake?.()
  }

  #takeFrames(bytes: Buffer): void {
    this.#frames = Buffer.concat([this.#frames, bytes])
    while (this.#frames.length >= 2) {
      const short = (this.#frames[1] ?? 0) & 0x7f
      const start = short === 126 ? 4 : 2
      if (this.#frames.length < start) return
      const length = short === 126 ? this.#frames.readUInt16BE(2) : short
      if (this.#frames.length < start + length) return
      if (this.#frames[0] === opcodes.binary) this.#decoder.push(this.#frames.subarray(start, start + length))
      this.#frames = this.#frames.subarray(start + length)
    }
  }
}

/** A frame of a client, with a mask of zeros. */
function frame(opcode: number, payload: Buffer): Buffer {
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 255]
  return Buffer.concat([Buffer.from([opcode, ...length, 0, 0, 0, 0]), payload])
}
