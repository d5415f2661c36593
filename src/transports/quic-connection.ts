// One QUIC connection as one byte stream. The first stream that the client opens is the control stream, and mostly the
// only one. Others carry more packets of the same MQTT session:
//
//   control stream ----whole packets----.
//   data stream    ----whole packets-----+--> onData        write --answers by identifier--> the stream that asked
//   data stream    ----whole packets----'                        --everything else--------> control stream
//
// Packets keep their order within a stream, and have none between streams: that is what streams are for.
//
// The library has no way to stop a stream from being read. What comes while the broker does not want to read is held
// here, within a limit; a client that sends more is cut off, where one over TCP would have been made to wait.

import type { Duplex } from 'node:stream'
import { AckRoutes } from './ack-routes.ts'
import type { ByteStream, StreamCredentials } from './byte-stream.ts'
import { PacketGatherer } from './packet-gatherer.ts'

/** A bidirectional stream of a connection. */
export interface QuicStreamEnd extends Duplex {
  /** As QUIC numbers them: 0, 4, 8 for those that the client has opened. */
  readonly id: number
}

/** The connection itself: all that is asked of the library. */
export interface QuicPeer {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials
  /** At once: what has not been sent is lost. `noteClosed` follows. */
  close(): void
}

export interface QuicLimits {
  readonly maxPacketBytes: number
  /** Streams beside the control stream, at one time. */
  readonly maxDataStreams: number
  /** What is held of one connection while the broker does not read. */
  readonly maxHeldBytes: number
}

/** The same for all connections of a listener. */
export interface HeldTotal {
  bytes: number
  readonly limit: number
}

/** A peer that we have said goodbye to and that does not answer is cut off. */
const closeTimeoutMs = 5_000
/** RFC 9000 2.1: the two lowest bits say who has opened a stream, and in how many directions it goes. */
const kindBits = 3
const controlStreamId = 0
const connectType = 1

const ignore = (): void => {}

interface DataStream {
  readonly stream: QuicStreamEnd
  readonly gatherer: PacketGatherer
}

export class QuicConnection implements ByteStream {
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials
  readonly #peer: QuicPeer
  readonly #limits: QuicLimits
  readonly #heldTotal: HeldTotal
  readonly #routes: AckRoutes<QuicStreamEnd>
  readonly #controlGatherer: PacketGatherer
  #control: QuicStreamEnd | undefined
  readonly #dataStreams: Map<number, DataStream>
  /** Packets that came too early: before CONNECT, or while nobody reads. */
  #held: Buffer[]
  #heldBytes: number
  /** What has come on data streams before the control stream has said who this is. */
  #early: Buffer[]
  #hasBegun: boolean
  #isPaused: boolean
  #isEnding: boolean
  #isClosed: boolean
  #error: Error | undefined
  #closeTimer: NodeJS.Timeout | undefined

  constructor(peer: QuicPeer, limits: QuicLimits, heldTotal: HeldTotal) {
    this.onData = ignore
    this.onClose = ignore
    this.remoteAddress = peer.remoteAddress
    this.remotePort = peer.remotePort
    this.credentials = peer.credentials
    this.#peer = peer
    this.#limits = limits
    this.#heldTotal = heldTotal
    this.#routes = new AckRoutes()
    this.#controlGatherer = new PacketGatherer(limits.maxPacketBytes)
    this.#control = undefined
    this.#dataStreams = new Map()
    this.#held = []
    this.#heldBytes = 0
    this.#early = []
    this.#hasBegun = false
    this.#isPaused = false
    this.#isEnding = false
    this.#isClosed = false
    this.#error = undefined
    this.#closeTimer = undefined
  }

  /** The client has opened its first stream: from now on there is somebody to talk to. */
  get isReady(): boolean {
    return this.#control !== undefined
  }

  /** A stream that the client has opened. */
  addStream(stream: QuicStreamEnd): void {
    stream.on('error', ignore)
    if (this.#isEnding || (stream.id & kindBits) !== 0) return void stream.destroy()
    if (stream.id === controlStreamId) this.#takeControl(stream)
    else if (this.#dataStreams.size >= this.#limits.maxDataStreams) this.#fault('more streams than allowed')
    else this.#addDataStream(stream)
  }

  write(buffer: Buffer, done: () => void): void {
    const control = this.#control
    // Too late to be sent. The answer still comes later and never from within the call, as it always does.
    if (this.#isEnding || control === undefined) process.nextTick(done)
    else if (this.#routes.isIdle) control.write(buffer, () => done())
    else this.#deal(buffer, control, done)
  }

  /** Answers go where their questions came from. */
  #deal(buffer: Buffer, control: QuicStreamEnd, done: () => void): void {
    let unwritten = 1
    const written = (): void => {
      unwritten -= 1
      if (unwritten === 0) done()
    }
    this.#routes.deal(buffer, (part, asked) => {
      unwritten += 1
      const stream = asked === undefined || asked.destroyed || asked.writableEnded ? control : asked
      stream.write(part, written)
    })
    process.nextTick(written)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused && !this.#isEnding) {
      const packets = this.#held.shift()
      if (packets === undefined) return
      this.#noteHeld(-packets.length)
      this.onData(packets)
    }
  }

  end(): void {
    if (this.#isEnding) return
    this.#stop()
    // What was written goes first, then the end of each stream. The connection itself is closed when the peer has seen
    // that, for nothing that is on its way outlives it.
    for (const { stream } of this.#dataStreams.values()) stream.end()
    if (this.#control === undefined || this.#control.destroyed) return this.#closePeer()
    this.#control.end()
    this.#closeTimer = setTimeout(() => this.#closePeer(), closeTimeoutMs).unref()
  }

  destroy(): void {
    this.#stop()
    this.#closePeer()
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

  /** The library gives the number of a connection that is gone to another one: it must not be closed again. */
  #closePeer(): void {
    if (!this.#isClosed) this.#peer.close()
  }

  #stop(): void {
    this.#isEnding = true
    this.onData = ignore
    this.#held = []
    this.#early = []
    this.#noteHeld(-this.#heldBytes)
  }

  #takeControl(stream: QuicStreamEnd): void {
    this.#control = stream
    let isFirst = true
    stream.on('data', (chunk: Buffer) => {
      // Whatever else begins like this is none of ours, and nothing is kept of it.
      if (isFirst && (chunk[0] ?? 0) >> 4 !== connectType) this.#controlGatherer.giveUp()
      isFirst = false
      this.#controlGatherer.gather(chunk, (packets) => this.#passControl(packets))
    })
    stream.on('end', () => this.end())
    stream.on('close', () => this.#controlIsGone())
  }

  #passControl(packets: Buffer): void {
    this.#pass(packets)
    if (this.#hasBegun) return
    this.#hasBegun = true
    const early = this.#early
    this.#early = []
    for (const each of early) {
      if (this.#isEnding) return
      this.#noteHeld(-each.length)
      this.#pass(each)
    }
  }

  /** Both of its directions are over, or it was broken off: there is no MQTT connection without it. */
  #controlIsGone(): void {
    this.#stop()
    this.#closePeer()
  }

  #addDataStream(stream: QuicStreamEnd): void {
    const dataStream = { stream, gatherer: new PacketGatherer(this.#limits.maxPacketBytes) }
    this.#dataStreams.set(stream.id, dataStream)
    stream.on('data', (chunk: Buffer) => {
      dataStream.gatherer.gather(chunk, (packets) => this.#passData(packets, stream))
      if (this.#gatheredBytes() > this.#limits.maxPacketBytes) this.#fault('too many packets begun at one time')
    })
    // A packet that is not whole goes with its stream: nobody was promised anything for it.
    stream.on('end', () => stream.end())
    stream.on('close', () => this.#dataStreams.delete(stream.id))
  }

  #passData(packets: Buffer, stream: QuicStreamEnd): void {
    if (this.#isEnding) return
    if (!this.#routes.note(packets, stream)) return this.#fault('a packet that belongs on the first stream')
    if (this.#hasBegun) return this.#pass(packets)
    this.#early.push(packets)
    this.#noteHeld(packets.length)
    this.#checkHeld()
  }

  #pass(packets: Buffer): void {
    if (this.#isEnding) return
    if (!this.#isPaused && this.#held.length === 0) return this.onData(packets)
    this.#held.push(packets)
    this.#noteHeld(packets.length)
    this.#checkHeld()
  }

  /** Packets of which only the beginning is here, on data streams. */
  #gatheredBytes(): number {
    let bytes = 0
    for (const { gatherer } of this.#dataStreams.values()) bytes += gatherer.heldBytes
    return bytes
  }

  #noteHeld(bytes: number): void {
    this.#heldBytes += bytes
    this.#heldTotal.bytes += bytes
  }

  #checkHeld(): void {
    const isTooMuch = this.#heldBytes > this.#limits.maxHeldBytes || this.#heldTotal.bytes > this.#heldTotal.limit
    if (isTooMuch) this.#fault('it went on sending while the broker did not read')
  }

  #fault(why: string): void {
    this.#error ??= new Error(why)
    this.destroy()
  }
}
