// One QUIC connection of a client as one byte stream. The first stream of the client is the control stream, and usually the only one.
// Others carry further packets of the same MQTT session:
//
//   control stream ----complete packets----.
//   data stream    ----complete packets-----+--> onData     write --acks by identifier-----> the stream of the request
//   data stream    ----complete packets----'                      --everything else--------> control stream
//
// Packets keep their order within a stream, and have none between streams.

import type { Duplex } from 'node:stream'
import { AckStreams } from './ack-streams.ts'
import type { StreamCredentials } from '../streams/byte-stream.ts'
import { PacketReassembler } from './packet-reassembly.ts'
import { type HeldTotal, QuicConnectionEnd } from './quic-shutdown.ts'
import { beginsWithConnack, maxUnauthenticatedBytes } from '../limits/unauthenticated-limits.ts'

/** A bidirectional stream of a connection. */
export interface QuicStreamEnd extends Duplex {
  /** Numbers of QUIC: 0, 4, 8 for streams of the client. */
  readonly id: number
}

/** The connection: what is used of the library. */
export interface QuicPeer {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials
  /** At once: unsent data is lost. `noteClosed` follows. */
  close(): void
}

export interface QuicLimits {
  readonly maxPacketBytes: number
  /** Maximum number of data streams at the same time. */
  readonly maxDataStreams: number
  /** Maximum bytes held for one connection while reading is paused. */
  readonly maxHeldBytes: number
}

/** RFC 9000 2.1: the two lowest bits are the initiator of a stream and its directions. */
const kindBits = 3
const controlStreamId = 0
const connectType = 1

const ignore = (): void => {}

interface DataStream {
  readonly stream: QuicStreamEnd
  readonly reassembler: PacketReassembler
}

export class QuicConnection extends QuicConnectionEnd {
  readonly #peer: QuicPeer
  readonly #limits: QuicLimits
  readonly #ackStreams = new AckStreams<QuicStreamEnd>()
  readonly #controlReassembler: PacketReassembler
  #control: QuicStreamEnd | undefined = undefined
  readonly #dataStreams = new Map<number, DataStream>()
  /** Data of data streams before CONNECT. */
  #earlyBytes: Buffer[] = []
  #hasControl = false
  /** True if a CONNACK was sent to the client. */
  #isAuthenticated = false

  /** `heldTotal`: shared by all connections of a listener. */
  constructor(peer: QuicPeer, limits: QuicLimits, heldTotal: HeldTotal) {
    const { remoteAddress: address, remotePort: port, credentials } = peer
    super({ peer: { address, port }, credentials, maxHeldBytes: limits.maxHeldBytes, heldTotal })
    this.#peer = peer
    this.#limits = limits
    this.#controlReassembler = new PacketReassembler(limits.maxPacketBytes)
  }

  /** The client opened a stream. The first one is the control stream: `whenReady` sets `onData` and `onClose`. */
  addStream(stream: QuicStreamEnd, whenReady: () => void): void {
    stream.on('error', ignore)
    if (this.isEnding || (stream.id & kindBits) !== 0) return void stream.destroy()
    if (stream.id === controlStreamId) this.#setControl(stream, whenReady)
    else if (this.#dataStreams.size >= this.#limits.maxDataStreams)
      this.handleProtocolError('more streams than allowed')
    else this.#addDataStream(stream)
  }

  write(buffer: Buffer, done: () => void): void {
    const control = this.#control
    if (!this.#isAuthenticated) this.#isAuthenticated = beginsWithConnack(buffer)
    // The stream has ended. `done` is still called later, never within the call.
    if (this.isFinished || control === undefined) process.nextTick(done)
    else if (this.#ackStreams.isIdle) control.write(buffer, () => done())
    else this.#distribute(buffer, control, done)
  }

  /** Acknowledgements use the stream of the acknowledged packet. */
  #distribute(buffer: Buffer, control: QuicStreamEnd, done: () => void): void {
    let unwritten = 1
    const finishPart = (): void => {
      unwritten -= 1
      if (unwritten === 0) done()
    }
    this.#ackStreams.distribute(buffer, (part, ackStream) => {
      unwritten += 1
      const stream = ackStream === undefined || ackStream.destroyed || ackStream.writableEnded ? control : ackStream
      stream.write(part, finishPart)
    })
    process.nextTick(finishPart)
  }

  protected controlStream(): QuicStreamEnd | undefined {
    return this.#control
  }

  protected *listDataStreams(): Iterable<QuicStreamEnd> {
    for (const { stream } of this.#dataStreams.values()) yield stream
  }

  protected closeConnection(): void {
    this.#peer.close()
  }

  protected clearHeld(): void {
    this.#earlyBytes = []
    this.#controlReassembler.clear()
    for (const { reassembler } of this.#dataStreams.values()) reassembler.clear()
  }

  #setControl(stream: QuicStreamEnd, whenReady: () => void): void {
    this.#control = stream
    let isFirst = true
    stream.on('data', (chunk: Buffer) => {
      if (this.isEnding) return
      // The client does not start with CONNECT: nothing is stored for it.
      if (isFirst && (chunk[0] ?? 0) >> 4 !== connectType) this.#controlReassembler.passThrough()
      isFirst = false
      this.#controlReassembler.addChunk(chunk, (packets) => this.#passControl(packets))
      if (!this.#isAuthenticated) this.#limitUnauthenticated(this.#controlReassembler.heldBytes)
      this.#reportBuffered()
    })
    stream.on('end', () => this.handleEnd())
    // Both directions ended, or it was reset: MQTT needs the control stream.
    stream.on('close', () => this.handleStreamLoss())
    whenReady()
    readBuffered(stream)
  }

  #passControl(packets: Buffer): void {
    this.pass(packets)
    if (this.#hasControl) return
    this.#hasControl = true
    const earlyBytes = this.#earlyBytes
    this.#earlyBytes = []
    for (const each of earlyBytes) {
      if (this.isEnding) return
      this.addBufferedBytes(-each.length)
      this.pass(each)
    }
  }

  #addDataStream(stream: QuicStreamEnd): void {
    const dataStream = { stream, reassembler: new PacketReassembler(this.#limits.maxPacketBytes) }
    this.#dataStreams.set(stream.id, dataStream)
    stream.on('data', (chunk: Buffer) => {
      if (this.isEnding) return
      dataStream.reassembler.addChunk(chunk, (packets) => this.#passData(packets, stream))
      const gathered = this.#countIncompleteBytes()
      if (gathered > this.#limits.maxPacketBytes) this.handleProtocolError('too many packets begun at one time')
      if (!this.#isAuthenticated) this.#limitUnauthenticated(gathered)
      this.#reportBuffered()
    })
    // An incomplete packet is lost with its stream: it was not acknowledged.
    stream.on('end', () => stream.end())
    stream.on('close', () => {
      this.#dataStreams.delete(stream.id)
      this.#reportBuffered()
    })
    readBuffered(stream)
  }

  #passData(packets: Buffer, stream: QuicStreamEnd): void {
    if (this.isEnding) return
    if (!this.#ackStreams.recordStreams(packets, stream))
      return this.handleProtocolError('a packet that belongs on the first stream')
    if (this.#hasControl) return this.pass(packets)
    this.#earlyBytes.push(packets)
    this.addBufferedBytes(packets.length)
  }

  #limitUnauthenticated(bytes: number): void {
    if (bytes > maxUnauthenticatedBytes)
      this.handleProtocolError('packets that are too large for an unauthenticated client')
  }

  #reportBuffered(): void {
    if (!this.isEnding) this.setIncompleteBytes(this.#controlReassembler.heldBytes + this.#countIncompleteBytes())
  }

  /** Bytes of incomplete packets on data streams. */
  #countIncompleteBytes(): number {
    let bytes = 0
    for (const { reassembler } of this.#dataStreams.values()) bytes += reassembler.heldBytes
    return bytes
  }
}

/**
 * The connection may close in the batch in which a stream arrived, and its streams with it. Each chunk is passed to the
 * listeners.
 */
function readBuffered(stream: QuicStreamEnd): void {
  for (let chunk: unknown = ''; chunk !== null;) chunk = stream.read()
}
