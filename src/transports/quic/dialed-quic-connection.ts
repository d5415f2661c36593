// An outgoing QUIC connection as one byte stream. The first stream is the control stream. With data streams, messages are
// distributed by topic: messages of one topic keep their order, and a lost packet delays only the topics of its stream:
//
//   write --PUBLISH, by its topic--> a data stream ----acks-------.
//         --everything else--------> the control stream ----------+--complete packets--> onData
//
// The writer passes packets with their header and topic together, and uses no topic aliases: an alias that is set on one stream may not
// be known on another yet.

import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import type { ClientAddress } from '../streams/byte-stream.ts'
import { PacketReassembler, measurePacket } from './packet-reassembly.ts'
import { QuicConnectionEnd } from './quic-shutdown.ts'

/** The part of a session of the library that is used. */
export interface DialedSession {
  openStream(): Duplex
  close(): Promise<void>
}

export interface DialedQuicOptions {
  readonly address: ClientAddress
  /** Number of data streams. They are opened when needed. */
  readonly dataStreams: number
  readonly maxPacketBytes: number
}

/** Maximum bytes held while reading is paused. */
const maxHeldBytes = 8_388_608
const publishType = 3

export class DialedQuicConnection extends QuicConnectionEnd {
  readonly #session: DialedSession
  readonly #options: DialedQuicOptions
  readonly #control: Duplex
  readonly #dataStreams: (Duplex | undefined)[]
  /** Remaining bytes of a packet whose start was written. */
  #restBytes = 0
  #restStream: Duplex

  constructor(session: DialedSession, options: DialedQuicOptions) {
    super({ peer: options.address, maxHeldBytes, heldTotal: { bytes: 0, limit: maxHeldBytes } })
    this.#session = session
    this.#options = options
    this.#dataStreams = Array.from({ length: options.dataStreams })
    this.#control = this.#openStream()
    this.#restStream = this.#control
    this.#control.on('end', () => this.handleEnd())
    this.#control.on('close', () => this.handleStreamLoss())
  }

  write(buffer: Buffer, done: () => void): void {
    // The stream has ended. `done` is still called later, never within the call.
    if (this.isFinished) process.nextTick(done)
    else if (this.#dataStreams.length === 0) this.#control.write(buffer, () => process.nextTick(done))
    else this.#distribute(buffer, done)
  }

  protected controlStream(): Duplex {
    return this.#control
  }

  protected listDataStreams(): Iterable<Duplex> {
    return this.#dataStreams.filter((stream) => stream !== undefined)
  }

  protected closeConnection(): void {
    void this.#session.close()
  }

  protected clearHeld(): void {
    // Only data that waits for the reader is held.
  }

  #openStream(): Duplex {
    const stream = this.#session.openStream()
    // With one stream bytes are passed on as they arrive, because they cannot be mixed with others.
    const reassembler = this.#dataStreams.length === 0 ? undefined : new PacketReassembler(this.#options.maxPacketBytes)
    stream.on('error', (error) => this.recordError(error))
    stream.on('data', (chunk: Buffer) => {
      if (reassembler === undefined) this.pass(chunk)
      else reassembler.addChunk(chunk, (packets) => this.pass(packets))
    })
    return stream
  }

  /** Adjacent packets of the same stream are written together. */
  #distribute(buffer: Buffer, done: () => void): void {
    let unwritten = 1
    const finishPart = (): void => {
      unwritten -= 1
      if (unwritten === 0) done()
    }
    const send = (part: Buffer, stream: Duplex): void => {
      if (part.length === 0) return
      unwritten += 1
      stream.write(part, () => finishPart())
    }
    let begin = 0
    let at = Math.min(this.#restBytes, buffer.length)
    let target = this.#restStream
    this.#restBytes -= at
    while (at < buffer.length) {
      const stream = this.#selectStream(buffer, at)
      if (stream !== target) {
        send(buffer.subarray(begin, at), target)
        begin = at
        target = stream
      }
      const bytes = measurePacket(buffer, at)
      assert(bytes !== undefined && bytes > 0, 'packets are handed out with their headers whole')
      this.#restBytes = Math.max(0, at + bytes - buffer.length)
      at = Math.min(buffer.length, at + bytes)
    }
    this.#restStream = target
    send(buffer.subarray(begin), target)
    process.nextTick(finishPart)
  }

  #selectStream(buffer: Buffer, at: number): Duplex {
    if ((buffer[at] ?? 0) >> 4 !== publishType) return this.#control
    let body = at + 1
    while ((buffer[body] ?? 0) >= 0x80) body += 1
    body += 1
    const topicEnd = body + 2 + (body + 2 > buffer.length ? 0 : buffer.readUInt16BE(body))
    return topicEnd > buffer.length ? this.#control : this.#ensureDataStream(computeHash(buffer, body + 2, topicEnd))
  }

  #ensureDataStream(hash: number): Duplex {
    const index = hash % this.#dataStreams.length
    return (this.#dataStreams[index] ??= this.#openDataStream())
  }

  #openDataStream(): Duplex {
    const stream = this.#openStream()
    // A lost stream loses messages without acknowledgement: only a new connection sends them again.
    stream.on('close', () => this.handleStreamLoss())
    return stream
  }
}

/** FNV-1a. */
function computeHash(bytes: Buffer, from: number, to: number): number {
  let hash = 0x811c9dc5
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193) >>> 0
  return hash
}
