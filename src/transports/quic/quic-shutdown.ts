// Common part of QUIC connections in both directions: data that arrives while reading is paused, and the end of the connection.
// Subclasses assign packets to streams.
//
//   streams --complete packets--> pass --> onData         end: data streams, then the control stream, then the connection
//                               '-- held while paused     destroy: the connection, at once
//
// The library cannot stop reading from a stream. Data that arrives while reading is paused is held here, within a limit; a peer that
// sends more is disconnected, where TCP would make it wait. If the peer ended the connection normally, all data is read first, and the
// reader gets the end of the stream after it resumed.

import type { Duplex } from 'node:stream'
import type { ByteStream, ClientAddress, StreamCredentials } from '../streams/byte-stream.ts'

/** Bytes held by several connections together. */
export interface HeldTotal {
  bytes: number
  readonly limit: number
}

export interface QuicShutdownOptions {
  readonly peer: ClientAddress
  readonly credentials?: StreamCredentials | undefined
  /** Maximum bytes held for this connection while reading is paused. */
  readonly maxHeldBytes: number
  readonly heldTotal: HeldTotal
}

/** A peer that does not respond to the close is disconnected after this time. */
const closeTimeoutMs = 5_000

const ignore = (): void => {}

export abstract class QuicConnectionEnd implements ByteStream {
  onData: (chunk: Buffer) => void = ignore
  onClose: (error?: Error) => void = ignore
  onBuffered: () => void = ignore
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  /**
   * The connection was ended by this side, or its reader knows of its end: nothing is passed on or accepted any more.
   */
  protected isEnding = false
  readonly #options: QuicShutdownOptions
  #gatheredBytes = 0
  /** Data that arrived while reading is paused, in order. */
  #held: Buffer[] = []
  /** Bytes of these, and of data that subclasses hold. */
  #heldBytes = 0
  #isPaused = false
  /** The peer ended its stream, and the reader has not reached the end. */
  #hasPeerEnded = false
  /** The connection is closed; the reader may not have been told yet. */
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

  /** The first stream; undefined: not opened yet. */
  protected abstract controlStream(): Duplex | undefined
  /** The open data streams. */
  protected abstract listDataStreams(): Iterable<Duplex>
  /** Closes the connection at once: unsent data is lost. `noteClosed` follows. */
  protected abstract closeConnection(): void
  /** Drops data that the subclass holds. */
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
      this.addBufferedBytes(-packets.length)
      this.onData(packets)
    }
  }

  end(): void {
    if (this.isEnding) return
    if (this.#isClosed) return this.#reportCloseLater()
    this.#stop()
    // Written data is sent first, then the end of each stream. The connection is closed after the peer has received
    // that, because closing loses data that was not received yet.
    for (const stream of this.listDataStreams()) stream.end()
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

  recordError(error: Error): void {
    this.#error ??= error
  }

  /**
   * Either side closed the connection. `onEndRead`: the reader was told and nothing is held any more. If the peer ended
   * the connection normally, a paused reader is told when it resumes.
   */
  handleClosed(onEndRead: () => void = ignore): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onEndRead = onEndRead
    clearTimeout(this.#closeTimer)
    const mayHaveMore = this.#isPaused && !this.isEnding && this.#error === undefined
    if (!mayHaveMore) this.#reportClose()
  }

  /** No stream accepts data any more. */
  protected get isFinished(): boolean {
    return this.isEnding || this.#isClosed
  }

  /** The first stream has ended. */
  protected handleEnd(): void {
    if (this.#isPaused) this.#hasPeerEnded = true
    else this.end()
  }

  /** A required stream was lost. If the connection is closed, all streams are. */
  protected handleStreamLoss(): void {
    if (!this.#isClosed) this.destroy()
  }

  /** Passes received data to the reader. */
  protected pass(packets: Buffer): void {
    if (this.isEnding) return
    if (!this.#isPaused && this.#held.length === 0) return this.onData(packets)
    this.#held.push(packets)
    this.addBufferedBytes(packets.length)
  }

  /** Changes the number of held bytes. Too many end the connection. */
  protected addBufferedBytes(bytes: number): void {
    const { heldTotal, maxHeldBytes } = this.#options
    this.#heldBytes += bytes
    heldTotal.bytes += bytes
    const isTooMuch = this.#heldBytes > maxHeldBytes || heldTotal.bytes > heldTotal.limit
    if (isTooMuch && bytes > 0) this.handleProtocolError('it went on sending while reading was paused')
  }

  /** Sets the number of bytes in incomplete packets. */
  protected setIncompleteBytes(bytes: number): void {
    if (bytes === 0 && this.#gatheredBytes === 0) return
    this.#gatheredBytes = bytes
    this.onBuffered()
  }

  /** The peer violated the protocol. */
  protected handleProtocolError(why: string): void {
    this.recordError(new Error(why))
    this.destroy()
  }

  /** The library may reuse the number of a closed connection, which must not be closed again. */
  #close(): void {
    if (!this.#isClosed) this.closeConnection()
  }

  /** All held data was read. */
  #finishReading(): void {
    if (this.#isClosed || this.#hasPeerEnded) this.end()
  }

  /** Never within the call that resumes reading. */
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
    this.addBufferedBytes(-this.#heldBytes)
    this.setIncompleteBytes(0)
  }
}
