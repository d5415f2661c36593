// A WebSocket client on frame level: it sends frames, valid or not, and returns those that arrive.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { EventQueue } from './event-queue.ts'

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface FrameParts {
  readonly opcode: number
  readonly payload?: Buffer | string
  /** Default: true, the last part of its message. */
  readonly isFinal?: boolean
  readonly reservedBits?: number
  /** Default: true, as required of clients. */
  readonly isMasked?: boolean
  /** The length in the frame, if it is false. */
  readonly claimedBytes?: number
  /** Writes the length in 2 or 8 bytes, also if it is short. */
  readonly lengthBytes?: 2 | 8
}

const mask = Buffer.from([0x37, 0xfa, 0x21, 0x3d])

/** RFC 6455 5.2. */
export function frame(parts: FrameParts): Buffer {
  const payload = Buffer.from(parts.payload ?? '')
  const { isFinal = true, isMasked = true, reservedBits = 0 } = parts
  const first = (isFinal ? 0x80 : 0) | (reservedBits << 4) | parts.opcode
  const length = lengthField(parts.claimedBytes ?? payload.length, parts.lengthBytes)
  length[0] = (length[0] ?? 0) | (isMasked ? 0x80 : 0)
  if (!isMasked) return Buffer.concat([Buffer.of(first), length, payload])
  for (let at = 0; at < payload.length; at++) payload[at] ^= mask[at % 4]
  return Buffer.concat([Buffer.of(first), length, mask, payload])
}

function lengthField(bytes: number, size?: 2 | 8): Buffer {
  if (size === undefined && bytes < 126) return Buffer.of(bytes)
  if (size === 2 || (size === undefined && bytes < 65_536)) return Buffer.of(126, bytes >> 8, bytes & 0xff)
  const field = Buffer.alloc(9)
  field[0] = 127
  field.writeBigUInt64BE(BigInt(bytes), 1)
  return field
}

export const binary = (payload: Buffer | string): Buffer => frame({ opcode: opcodes.binary, payload })

export interface ReceivedFrame {
  readonly opcode: number
  readonly isFinal: boolean
  readonly isMasked: boolean
  readonly reservedBits: number
  readonly payload: Buffer
}

export const key = 'dGhlIHNhbXBsZSBub25jZQ=='
/** RFC 6455 4.2.2. */
export const acceptance = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')

/** A valid upgrade request; given headers replace its own, and undefined removes one. */
export function upgradeRequest(path: string, headers: Record<string, string | undefined> = {}): string {
  const all: Record<string, string | undefined> = {
    Host: 'broker.example:8083',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Key': key,
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Protocol': 'mqtt',
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

export class WebSocketPeer {
  readonly socket: Socket
  readonly frames = new EventQueue<ReceivedFrame>()
  /** The server has closed its side, or reset the connection. */
  readonly ended: Promise<void>
  #head: ((head: string) => void) | undefined
  #received = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.setNoDelay()
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#read()
    })
  }

  static async connect(port: number): Promise<WebSocketPeer> {
    const socket = connect(port, '127.0.0.1')
    const peer = new WebSocketPeer(socket)
    await once(socket, 'connect')
    return peer
  }

  /** Sends bytes unchanged; resolves with the head of the response, which ends with an empty line. */
  request(bytes: string | Buffer): Promise<string> {
    const response = new Promise<string>((resolve) => {
      this.#head = resolve
    })
    this.socket.write(bytes)
    return response
  }

  send(...frames: Buffer[]): void {
    this.socket.write(Buffer.concat(frames))
  }

  nextFrame(): Promise<ReceivedFrame> {
    return this.frames.next()
  }

  /** The code of the next close frame. */
  async closeCode(): Promise<number> {
    for (;;) {
      const { opcode, payload } = await this.nextFrame()
      if (opcode === opcodes.close) return payload.readUInt16BE(0)
    }
  }

  #read(): void {
    if (this.#head !== undefined) {
      const end = this.#received.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = this.#received.subarray(0, end + 4).toString('latin1')
      this.#received = this.#received.subarray(end + 4)
      this.#head(head)
      this.#head = undefined
    }
    for (let frameRead = this.#takeFrame(); frameRead !== undefined; frameRead = this.#takeFrame()) {
      this.frames.add(frameRead)
    }
  }

  #takeFrame(): ReceivedFrame | undefined {
    const bytes = this.#received
    if (bytes.length < 2) return undefined
    const short = (bytes[1] ?? 0) & 0x7f
    const start = short === 127 ? 10 : short === 126 ? 4 : 2
    if (bytes.length < start) return undefined
    const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
    if (bytes.length < start + length) return undefined
    this.#received = bytes.subarray(start + length)
    const first = bytes[0] ?? 0
    return {
      opcode: first & 0x0f,
      isFinal: (first & 0x80) !== 0,
      reservedBits: (first >> 4) & 7,
      isMasked: ((bytes[1] ?? 0) & 0x80) !== 0,
      payload: bytes.subarray(start, start + length),
    }
  }
}
