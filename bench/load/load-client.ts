// One connection of the load generator. It decodes and acknowledges the packets of the broker, and reports the number of messages. It does as
// little as possible per message.

import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { packetType, type ProtocolVersion } from './frames.ts'

/** Callbacks of a connection. Numbers are those of one chunk of bytes. */
export interface LoadClientOwner {
  connected(client: LoadClient): void
  subscribed(client: LoadClient): void
  delivered(client: LoadClient, messages: number): void
  /** The broker has acknowledged: PUBACK or PUBCOMP. */
  acknowledged(client: LoadClient, messages: number): void
  /** Offset of the payload of a delivered message, for owners that read it. */
  readonly look: ((client: LoadClient, bytes: Buffer, payloadStart: number) => void) | undefined
  failed(client: LoadClient, reason: string): void
}

// All connections read into one buffer: a read is parsed to its end before the next one starts.
const readBuffer = Buffer.allocUnsafeSlow(65_536)
const workBuffer = Buffer.allocUnsafeSlow(2 * 1_048_576)
const nothing = Buffer.alloc(0)

/** Acknowledgements are cut from this buffer; a used buffer is left to the garbage collector. */
const bufferBytes = 1_048_576
let buffer = Buffer.allocUnsafeSlow(bufferBytes)
let usedBytes = 0

export class LoadClient {
  readonly id: number
  readonly version: ProtocolVersion
  readonly owner: LoadClientOwner
  readonly socket: Socket
  /** Publications that the broker has not acknowledged. */
  inflight: number
  /** The next frame of the ring. */
  ringPosition: number
  /** The received part of an incomplete packet. */
  #held: Buffer
  #closing: boolean

  /** `ca`: the trusted certificate authority for TLS, PEM. */
  constructor(
    id: number,
    version: ProtocolVersion,
    { ca, ...address }: { host: string; port: number; ca?: string | undefined },
    owner: LoadClientOwner,
  ) {
    this.id = id
    this.version = version
    this.owner = owner
    this.inflight = 0
    this.ringPosition = 0
    this.#held = nothing
    this.#closing = false
    const options = {
      ...address,
      localAddress: localAddressOf(id),
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (size: number) => {
          this.#read(size)
          return true
        },
      },
    }
    this.socket = ca === undefined ? connect(options) : connectTls({ ...options, ca })
    this.socket.on('error', (error) => this.#end(error.message))
    this.socket.on('close', () => this.#end('the broker closed the connection'))
  }

  write(bytes: Buffer): void {
    this.socket.write(bytes)
  }

  close(): void {
    this.#closing = true
    this.socket.destroy()
  }

  #end(reason: string): void {
    if (this.#closing) return
    this.#closing = true
    this.owner.failed(this, reason)
  }

  #read(size: number): void {
    if (this.#held.length === 0) {
      const parsed = this.#parse(readBuffer, size)
      if (parsed < size) this.#held = Buffer.from(readBuffer.subarray(parsed, size))
      return
    }
    this.#held.copy(workBuffer)
    readBuffer.copy(workBuffer, this.#held.length, 0, size)
    const end = this.#held.length + size
    const parsed = this.#parse(workBuffer, end)
    this.#held = parsed < end ? Buffer.from(workBuffer.subarray(parsed, end)) : nothing
  }

  /** Handles every complete packet before `end` and returns where the first incomplete one begins. */
  #parse(bytes: Buffer, end: number): number {
    if (usedBytes + end + 8 > bufferBytes) {
      buffer = Buffer.allocUnsafeSlow(Math.max(bufferBytes, end + 8))
      usedBytes = 0
    }
    const responsesStart = usedBytes
    let delivered = 0
    let acknowledged = 0
    let at = 0
    for (;;) {
      const bodyStart = bodyStartOf(bytes, at, end)
      if (bodyStart < 0) break
      const bodyEnd = bodyStart + lengthFound
      if (bodyEnd > end) break
      const firstByte = bytes[at]
      switch (firstByte >> 4) {
        case packetType.publish:
          this.#takePublish(bytes, firstByte, bodyStart)
          delivered++
          break
        case packetType.puback:
        case packetType.pubcomp:
          acknowledged++
          break
        case packetType.pubrec:
          acknowledge(0x62, bytes, bodyStart)
          break
        case packetType.pubrel:
          acknowledge(0x70, bytes, bodyStart)
          break
        default:
          this.#takeRare(bytes, firstByte, bodyStart, bodyEnd)
      }
      at = bodyEnd
    }
    if (usedBytes > responsesStart) this.socket.write(buffer.subarray(responsesStart, usedBytes))
    if (delivered > 0) this.owner.delivered(this, delivered)
    if (acknowledged > 0) this.owner.acknowledged(this, acknowledged)
    return at
  }

  #takePublish(bytes: Buffer, firstByte: number, bodyStart: number): void {
    const qos = (firstByte >> 1) & 3
    let at = bodyStart + 2 + (bytes[bodyStart] << 8) + bytes[bodyStart + 1]
    if (qos > 0) {
      acknowledge(qos === 1 ? 0x40 : 0x50, bytes, at)
      at += 2
    }
    if (this.owner.look === undefined) return
    // Brokers send publications of this generator back with few properties, if any: one byte of length.
    if (this.version === 5) at += 1 + bytes[at]
    this.owner.look(this, bytes, at)
  }

  #takeRare(bytes: Buffer, firstByte: number, bodyStart: number, bodyEnd: number): void {
    switch (firstByte >> 4) {
      case packetType.connack:
        if (bytes[bodyStart + 1] === 0) this.owner.connected(this)
        else this.#end(`CONNECT was refused with code ${bytes[bodyStart + 1]}`)
        return
      case packetType.suback:
        if (bytes[bodyEnd - 1] <= 2) this.owner.subscribed(this)
        else this.#end(`SUBSCRIBE was refused with code ${bytes[bodyEnd - 1]}`)
        return
      case packetType.pingresp:
        return
      case packetType.disconnect:
        this.#end(`the broker sent DISCONNECT with reason ${bodyEnd > bodyStart ? bytes[bodyStart] : 0}`)
        return
      default:
        this.#end(`an unexpected packet came: first byte ${firstByte}`)
    }
  }
}

let lengthFound = 0

/** Reads the fixed header: -1 while it is incomplete; the remaining length is left in `lengthFound`. */
function bodyStartOf(bytes: Buffer, at: number, end: number): number {
  let length = 0
  for (let index = 0; index < 4 && at + 1 + index < end; index++) {
    const byte = bytes[at + 1 + index]
    length |= (byte & 127) << (7 * index)
    if (byte < 128) {
      lengthFound = length
      return at + 2 + index
    }
  }
  return -1
}

function acknowledge(firstByte: number, bytes: Buffer, packetIdAt: number): void {
  buffer[usedBytes] = firstByte
  buffer[usedBytes + 1] = 2
  buffer[usedBytes + 2] = bytes[packetIdAt]
  buffer[usedBytes + 3] = bytes[packetIdAt + 1]
  usedBytes += 4
}

/** One address has about 28,000 ports for connections; further connections use further loopback addresses. */
function localAddressOf(id: number): string | undefined {
  return id < 25_000 ? undefined : `127.0.0.${2 + Math.floor(id / 25_000)}`
}
