// A device that speaks MQTT-SN over a real UDP socket. Packets are encoded and decoded independently, by the tables of the
// standard, so that errors of the codec of the gateway are found.

import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { Scope } from '../e2e/godwit-process.ts'

const typeNames: Readonly<Record<number, string>> = {
  0x00: 'advertise',
  0x02: 'gwinfo',
  0x05: 'connack',
  0x06: 'willtopicreq',
  0x08: 'willmsgreq',
  0x0a: 'register',
  0x0b: 'regack',
  0x0c: 'publish',
  0x0d: 'puback',
  0x0e: 'pubcomp',
  0x0f: 'pubrec',
  0x10: 'pubrel',
  0x13: 'suback',
  0x15: 'unsuback',
  0x17: 'pingresp',
  0x18: 'disconnect',
  0x1b: 'willtopicresp',
  0x1d: 'willmsgresp',
}

export interface Received {
  readonly type: string
  readonly body: Buffer
}

export class SnDevice {
  readonly #socket: Socket
  readonly #port: number
  readonly #received: Received[] = []
  readonly #waiting: ((received: Received) => void)[] = []

  private constructor(socket: Socket, port: number) {
    this.#socket = socket
    this.#port = port
    socket.on('message', (bytes) => {
      const isLong = bytes[0] === 1
      const type = typeNames[bytes[isLong ? 3 : 1] ?? -1] ?? 'unknown'
      const received = { type, body: bytes.subarray(isLong ? 4 : 2) }
      const first = this.#waiting.shift()
      if (first === undefined) this.#received.push(received)
      else first(received)
    })
  }

  static async at(t: Scope, port: number): Promise<SnDevice> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    t.after(() => socket.close())
    return new SnDevice(socket, port)
  }

  get localPort(): number {
    return this.#socket.address().port
  }

  raw(bytes: Buffer): void {
    this.#socket.send(bytes, this.#port, '127.0.0.1')
  }

  send(type: number, ...parts: readonly (Buffer | string | readonly number[])[]): void {
    const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))
    if (body.length + 2 < 256) return this.raw(Buffer.concat([Buffer.of(body.length + 2, type), body]))
    const length = body.length + 4
    this.raw(Buffer.concat([Buffer.of(1, length >> 8, length & 255, type), body]))
  }

  next(): Promise<Received> {
    const first = this.#received.shift()
    if (first !== undefined) return Promise.resolve(first)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Returns the next packet and checks its type. */
  async expect(type: string): Promise<Buffer> {
    const received = await this.next()
    if (received.type !== type)
      throw new Error(`expected ${type}, received ${received.type} ${received.body.toString('hex')}`)
    return received.body
  }

  connect(clientId: string, { flags = 0x04, duration = 60 } = {}): void {
    this.send(0x04, [flags, 1, duration >> 8, duration & 255], clientId)
  }

  async connected(clientId: string, options: { flags?: number; duration?: number } = {}): Promise<void> {
    this.connect(clientId, options)
    const body = await this.expect('connack')
    if (body[0] !== 0) throw new Error(`CONNACK ${body[0]}`)
  }

  async register(topic: string, messageId = 1): Promise<number> {
    this.send(0x0a, [0, 0, messageId >> 8, messageId & 255], topic)
    const body = await this.expect('regack')
    if (body[4] !== 0) throw new Error(`REGACK ${body[4]}`)
    return body.readUInt16BE(0)
  }

  /** `flags` as in 5.3.4. */
  publish(flags: number, topicId: number, messageId: number, payload: string): void {
    this.send(0x0c, [flags, topicId >> 8, topicId & 255, messageId >> 8, messageId & 255], payload)
  }

  async subscribe(topic: string, { flags = 0x20, messageId = 7 } = {}): Promise<Buffer> {
    this.send(0x12, [flags, messageId >> 8, messageId & 255], topic)
    return await this.expect('suback')
  }
}
