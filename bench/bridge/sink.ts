// A minimal remote broker: it accepts every client, acknowledges and counts what it receives. It takes so little processor time that
// it does not limit the result, and it is the same for every bridge.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

const types = { connect: 1, publish: 3, pubrel: 6, subscribe: 8, unsubscribe: 10, pingreq: 12 } as const
const newestVersion = 5
/** [MQTT-3.1.2-1] The protocol name, with its length, precedes the version. */
const lengthBytes = 2
const ackBytes = 4

export class Sink {
  /** PUBLISH packets so far, of all connections. */
  messages = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #responseDelayMs: number

  /** `responseDelayMs` is the round-trip time of its connection. */
  constructor(responseDelayMs = 0) {
    this.#responseDelayMs = responseDelayMs
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
  }

  /** Returns the port; 0 selects a free one. */
  async listen(port: number): Promise<number> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    const reader = new SinkReader(socket, this.#responseDelayMs)
    // A client that is killed closes its connection with an error.
    socket.on('error', () => socket.destroy()).on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk) => {
      this.messages += reader.take(chunk)
    })
  }
}

/** One connection. The responses to a chunk are sent with one write. */
class SinkReader {
  readonly #socket: Socket
  readonly #responseDelayMs: number
  #rest: Buffer = Buffer.alloc(0)
  #version = 4

  constructor(socket: Socket, responseDelayMs: number) {
    this.#socket = socket
    this.#responseDelayMs = responseDelayMs
  }

  /** Returns the number of PUBLISH packets in the chunk. */
  take(chunk: Buffer): number {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const responses = Buffer.allocUnsafe(2 * bytes.length + ackBytes)
    let used = 0
    let published = 0
    let at = 0
    for (let end = endOf(bytes, at); end !== -1 && end <= bytes.length; end = endOf(bytes, at)) {
      if (bytes[at] >> 4 === types.publish) published++
      used = this.#respond(bytes, at, end, responses, used)
      at = end
    }
    this.#rest = bytes.subarray(at)
    if (used > 0) this.#send(responses.subarray(0, used))
    return published
  }

  #send(responses: Buffer): void {
    if (this.#responseDelayMs === 0) this.#socket.write(responses)
    else setTimeout(() => this.#socket.write(responses), this.#responseDelayMs)
  }

  #respond(bytes: Buffer, at: number, end: number, responses: Buffer, used: number): number {
    const body = bodyOf(bytes, at)
    switch (bytes[at] >> 4) {
      case types.publish: {
        const qos = (bytes[at] >> 1) & 3
        if (qos === 0) return used
        const idAt = body + lengthBytes + bytes.readUInt16BE(body)
        // No array for each packet, because there are millions.
        responses[used] = qos === 1 ? 0x40 : 0x50
        responses[used + 1] = 2
        responses[used + 2] = bytes[idAt]
        responses[used + 3] = bytes[idAt + 1]
        return used + ackBytes
      }
      case types.pubrel:
        return this.#write(responses, used, [0x70, 2, bytes[body], bytes[body + 1]])
      case types.connect:
        this.#version = bytes[body + lengthBytes + bytes.readUInt16BE(body)] & 0x7f
        return this.#write(responses, used, [0x20, this.#isNewest ? 3 : 2, 0, 0, ...(this.#isNewest ? [0] : [])])
      case types.subscribe:
        return this.#write(responses, used, this.#responseToFilter(0x90, bytes.subarray(body, end), [0]))
      case types.unsubscribe:
        return this.#write(
          responses,
          used,
          this.#responseToFilter(0xb0, bytes.subarray(body, end), this.#isNewest ? [0] : []),
        )
      case types.pingreq:
        return this.#write(responses, used, [0xd0, 0])
      default:
        return used
    }
  }

  get #isNewest(): boolean {
    return this.#version === newestVersion
  }

  /** The response for one filter, because bridges that only receive messages subscribe to one. */
  #responseToFilter(firstByte: number, body: Buffer, codes: readonly number[]): number[] {
    const rest = [body[0], body[1], ...(this.#isNewest ? [0] : []), ...codes]
    return [firstByte, rest.length, ...rest]
  }

  #write(responses: Buffer, used: number, bytes: readonly number[]): number {
    for (const [index, byte] of bytes.entries()) responses[used + index] = byte
    return used + bytes.length
  }
}

/** Offset of the body of the packet at `at`; 0 if its length is incomplete. */
function bodyOf(bytes: Buffer, at: number): number {
  for (let next = at + 1; next < bytes.length; next++) if (bytes[next] < 0x80) return next + 1
  return 0
}

/** Offset after the packet at `at`; -1 if it is not known yet. */
function endOf(bytes: Buffer, at: number): number {
  const body = bodyOf(bytes, at)
  if (body === 0) return -1
  let length = 0
  for (let next = body - 1; next > at; next--) length = length * 128 + (bytes[next] & 0x7f)
  return body + length
}
