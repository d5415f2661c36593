// Our end of a QUIC connection as one byte stream, whichever side has opened it: data that arrives while reading is paused, and how it
// ends. Which packet goes on which stream is the business of those who are made of this.
//
//   streams --whole packets--> pass --> onData            end: data streams, then the control stream, then the connection
//                               '-- held while paused     destroy: the connection, at once
//
// The library has no way to stop a stream from being read. Data that arrives while reading is paused is held here, within a
// limit; a peer that sends more is disconnected, where a TCP peer would wait. A peer that has ended the connection well is
// heard to the end: of that, too, the reader hears when it goes on.

import type { Duplex } from 'node:stream'
import type { ByteStream, ClientAddress, StreamCredentials } from './byte-stream.ts'

/** Of several connections together. */
export interface HeldTotal {
  bytes: number
  readonly limit: number
}

export interface QuicShutdownOptions {
  readonly peer: ClientAddress
  readonly credentials?: StreamCredentials | undefined
  /** Bytes held for this connection while reading is paused. */
  readonly maxHeldBytes: number
  readonly heldTotal: HeldTotal
}

/** A peer that does not answer our close is disconnected after this time. */
const closeTimeoutMs = 5_000

const ignore = (): void => {}

export abstract class QuicConnectionEnd implements ByteStream {
  onData: (chunk: Buffer) => void = ignore
  onClose: (error?: Error) => void = ignore
  onBuffered: () => void = ignore
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  /** Nothing is passed on or taken any more: we have ended it, or its reader knows of its end. */
  protected isEnding = false
  readonly #options: QuicShutdownOptions
  #gatheredBytes = 0
  /** Data that arrived while reading is paused, in order. */
  #held: Buffer[] = []
  /** Of these, and of what those who are made of this hold besides. */
  #heldBytes = 0
  #isPaused = false
  /** The peer ended its stream, and the reader has not reached the end. */
  #hasPeerEnded = false
  /** The connection is closed. The reader may not know yet. */
  #isClosed = false
  #onEndRead: () => void = ignore
  #error: Error | undefined
  #closeTimer: NodeJS.Timeout | undefined

  protected constructor(options: QuicShutdownOptions) {
    this.remoteAddress = options.peer.address
    this.remotePort = options.peer.port
    this.credentials = options.credentials
    this.#options = options
  }

  /** The first stream; undefined: it is not there yet. */
  protected abstract controlStream(): Duplex | undefined
  /** Those beside it that are there. */
  protected abstract dataStreams(): Iterable<Duplex>
  /** The connection itself, at once: what has not been sent is lost. `noteClosed` follows. */
  protected abstract closeConnection(): void
  /** What is held besides goes as well. */
  protected abstract clearHeld(): void

  abstract write(buffer: Buffer, done: () => void): void

  get bufferedBytes(): number {
    return this.#gatheredBytes
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused && !this.isEnding) {
      const packets = this.#held.shift()
      if (packets === undefined) return this.#finishReading()
      this.noteHeld(-packets.length)
      this.onData(packets)
    }
  }

  end(): void {
    if (this.isEnding) return
    if (this.#isClosed) return this.#reportCloseLater()
    this.#stop()
    // What was written goes first, then the end of each stream. The connection itself is closed when the peer has seen
    // that, for nothing that is on its way outlives it.
    for (const stream of this.dataStreams()) stream.end()
    const control = this.controlStream()
    if (control === undefined || control.destroyed) return this.#close()
    control.end()
    this.#closeTimer = setTimeout(() => this.#close(), closeTimeoutMs).unref()
  }

  destroy(): void {
    if (this.#isClosed) return this.end()
    this.#stop()
    this.#close()
  }

  noteError(error: Error): void {
    this.#error ??= error
  }

  /**
   * The connection is closed, by either side. `whenHeard`: the reader was told, and nothing is held any more. Where the peer has
   * ended it well a reader that stands still hears of it when it goes on.
   */
  noteClosed(onEndRead: () => void = ignore): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onEndRead = onEndRead
    clearTimeout(this.#closeTimer)
    const mayHaveMore = this.#isPaused && !this.isEnding && this.#error === undefined
    if (!mayHaveMore) this.#reportClose()
  }

  /** No stream takes anything any more. */
  protected get isFinished(): boolean {
    return this.isEnding || this.#isClosed
  }

  /** The first stream will bring nothing more. */
  protected noteEnd(): void {
    if (this.#isPaused) this.#hasPeerEnded = true
    else this.end()
  }

  /** A stream is gone without which there is no connection. With a connection that is gone itself all of them are. */
  protected noteStreamLost(): void {
    if (!this.#isClosed) this.destroy()
  }

  /** Passes received data to the reader. */
  protected pass(packets: Buffer): void {
    if (this.isEnding) return
    if (!this.#isPaused && this.#held.length === 0) return this.onData(packets)
    this.#held.push(packets)
    this.noteHeld(packets.length)
  }

  /** So many bytes more (or fewer) are held. Too many end the connection. */
  protected noteHeld(bytes: number): void {
    const { heldTotal, maxHeldBytes } = this.#options
    this.#heldBytes += bytes
    heldTotal.bytes += bytes
    const isTooMuch = this.#heldBytes > maxHeldBytes || heldTotal.bytes > heldTotal.limit
    if (isTooMuch && bytes > 0) this.fault('it went on sending while reading was paused')
  }

  /** So many bytes are held of packets of which not all has come. */
  protected noteGathered(bytes: number): void {
    if (bytes === 0 && this.#gatheredBytes === 0) return
    this.#gatheredBytes = bytes
    this.onBuffered()
  }

  /** The peer has broken a rule. */
  protected fault(why: string): void {
    this.noteError(new Error(why))
    this.destroy()
  }

  /** The library gives the number of a connection that is gone to another one: it must not be closed again. */
  #close(): void {
    if (!this.#isClosed) this.closeConnection()
  }

  /** All that was held has been read. */
  #finishReading(): void {
    if (this.#isClosed || this.#hasPeerEnded) this.end()
  }

  /** Never from within the call that lets the reader go on. */
  #reportCloseLater(): void {
    this.#stop()
    setImmediate(() => this.#reportClose())
  }

  #reportClose(): void {
    this.#stop()
    this.#onEndRead()
    this.onClose(this.#error)
  }

  #stop(): void {
    this.isEnding = true
    this.onData = ignore
    this.#held = []
    this.clearHeld()
    this.noteHeld(-this.#heldBytes)
    this.noteGathered(0)
  }
}
