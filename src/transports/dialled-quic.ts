// A QUIC connection that we have opened, as one byte stream. The first stream is the control stream. With others beside it
// messages are dealt over them by topic, so that those of one topic keep their order, and a topic that is held up by a lost
// packet holds up no other:
//
//   write --PUBLISH, by its topic--> a data stream ----answers----.
//         --everything else--------> the control stream ----------+--whole packets--> onData
//
// Whoever writes hands out packets with their header and topic in one piece, and uses no topic aliases: one that is set on
// one stream may not be known yet on another.
//
// The library has no way to stop a stream from being read. What comes while nobody reads is held within a limit, and
// the connection is given up beyond it.

import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import type { ByteStream, ClientAddress } from './byte-stream.ts'
import { PacketGatherer, packetBytesAt } from './packet-gatherer.ts'

/** All that is asked of the library. */
export interface QuicSession {
  openStream(): Duplex
  close(): Promise<void>
}

export interface DialledQuicOptions {
  readonly address: ClientAddress
  /** Streams beside the control stream. They are opened when they are needed. */
  readonly dataStreams: number
  readonly maxPacketBytes: number
}

/** What is held while nobody reads. */
const maxHeldBytes = 8_388_608
/** A peer that we have said goodbye to and that does not answer is cut off. */
const closeTimeoutMs = 5_000
const publishType = 3

const ignore = (): void => {}

export class DialledQuic implements ByteStream {
  onData: (chunk: Buffer) => void = ignore
  onClose: (error?: Error) => void = ignore
  readonly remoteAddress: string
  readonly remotePort: number
  readonly #session: QuicSession
  readonly #options: DialledQuicOptions
  readonly #control: Duplex
  readonly #dataStreams: (Duplex | undefined)[]
  /** What follows of a packet whose beginning has been written. */
  #restBytes = 0
  #restStream: Duplex
  #held: Buffer[] = []
  #heldBytes = 0
  #isPaused = false
  #isEnding = false
  #isClosed = false
  #error: Error | undefined
  #closeTimer: NodeJS.Timeout | undefined

  constructor(session: QuicSession, options: DialledQuicOptions) {
    this.remoteAddress = options.address.address
    this.remotePort = options.address.port
    this.#session = session
    this.#options = options
    this.#dataStreams = Array.from({ length: options.dataStreams })
    this.#control = this.#openStream()
    this.#restStream = this.#control
    this.#control.on('end', () => this.end())
    this.#control.on('close', () => this.destroy())
  }

  write(buffer: Buffer, done: () => void): void {
    // Too late to be sent. The answer still comes later and never from within the call, as it always does.
    if (this.#isEnding) process.nextTick(done)
    else if (this.#dataStreams.length === 0) this.#control.write(buffer, () => process.nextTick(done))
    else this.#deal(buffer, done)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused && !this.#isEnding) {
      const packets = this.#held.shift()
      if (packets === undefined) return
      this.#heldBytes -= packets.length
      this.onData(packets)
    }
  }

  end(): void {
    if (this.#isEnding) return
    this.#stop()
    for (const stream of this.#dataStreams) stream?.end()
    if (this.#control.destroyed) return this.#closeSession()
    this.#control.end()
    this.#closeTimer = setTimeout(() => this.#closeSession(), closeTimeoutMs).unref()
  }

  destroy(): void {
    this.#stop()
    this.#closeSession()
  }

  noteError(error: Error): void {
    this.#error ??= error
  }

  /** The connection is gone, whoever ended it. */
  noteClosed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stop()
    clearTimeout(this.#closeTimer)
    this.onClose(this.#error)
  }

  #stop(): void {
    this.#isEnding = true
    this.onData = ignore
    this.#held = []
    this.#heldBytes = 0
  }

  #closeSession(): void {
    if (!this.#isClosed) void this.#session.close()
  }

  #openStream(): Duplex {
    const stream = this.#session.openStream()
    // With one stream its bytes are passed on as they come: there is nothing that they could be mixed with.
    const gatherer = this.#dataStreams.length === 0 ? undefined : new PacketGatherer(this.#options.maxPacketBytes)
    stream.on('error', (error) => this.noteError(error))
    stream.on('data', (chunk: Buffer) => {
      if (gatherer === undefined) this.#pass(chunk)
      else gatherer.gather(chunk, (packets) => this.#pass(packets))
    })
    return stream
  }

  #pass(bytes: Buffer): void {
    if (this.#isEnding) return
    if (!this.#isPaused && this.#held.length === 0) return this.onData(bytes)
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes <= maxHeldBytes) return
    this.noteError(new Error('the other side went on sending while nobody read'))
    this.destroy()
  }

  /** Runs of packets for the same stream go out in one piece. */
  #deal(buffer: Buffer, done: () => void): void {
    let unwritten = 1
    const written = (): void => {
      unwritten -= 1
      if (unwritten === 0) done()
    }
    const send = (part: Buffer, stream: Duplex): void => {
      if (part.length === 0) return
      unwritten += 1
      stream.write(part, () => written())
    }
    let begin = 0
    let at = Math.min(this.#restBytes, buffer.length)
    let target = this.#restStream
    this.#restBytes -= at
    while (at < buffer.length) {
      const stream = this.#streamOf(buffer, at)
      if (stream !== target) {
        send(buffer.subarray(begin, at), target)
        begin = at
        target = stream
      }
      const bytes = packetBytesAt(buffer, at)
      assert(bytes !== undefined && bytes > 0, 'packets are handed out with their headers whole')
      this.#restBytes = Math.max(0, at + bytes - buffer.length)
      at = Math.min(buffer.length, at + bytes)
    }
    this.#restStream = target
    send(buffer.subarray(begin), target)
    process.nextTick(written)
  }

  #streamOf(buffer: Buffer, at: number): Duplex {
    if ((buffer[at] ?? 0) >> 4 !== publishType) return this.#control
    let body = at + 1
    while ((buffer[body] ?? 0) >= 0x80) body += 1
    body += 1
    const topicEnd = body + 2 + (body + 2 > buffer.length ? 0 : buffer.readUInt16BE(body))
    return topicEnd > buffer.length ? this.#control : this.#dataStream(hashOf(buffer, body + 2, topicEnd))
  }

  #dataStream(hash: number): Duplex {
    const index = hash % this.#dataStreams.length
    return (this.#dataStreams[index] ??= this.#openDataStream())
  }

  #openDataStream(): Duplex {
    const stream = this.#openStream()
    // A stream that goes has taken messages with it that nobody will answer: only a new connection sends them again.
    stream.on('close', () => this.destroy())
    return stream
  }
}

/** FNV-1a. */
function hashOf(bytes: Buffer, from: number, to: number): number {
  let hash = 0x811c9dc5
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193) >>> 0
  return hash
}
