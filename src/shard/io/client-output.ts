// Input and output of one connection: bytes of the stream go to the decoder; packets are encoded into a buffer, which is written
// once per turn.
//
//   packets --append--> buffer (being filled) --flush--> writing (with the stream until `done`)
//
// One write is in progress at a time. Until its `done`, later turns append to one growing buffer: a slow reader costs the bytes that
// it has not read, and no more.

import type { Connection } from '../../core/index.ts'
import type { PacketDecoder } from '../../protocol/index.ts'
import { type ByteStream, receiveFrom, type StreamReceiver } from '../../transports/index.ts'
import type { WriteBuffers } from './write-buffers.ts'

/**
 * Bytes of a chunk that are copied in advance: the next frames in it usually go to the same connection, see
 * `appendRange`.
 */
const copyAheadBytes = 1_024

export interface ClientOutputDependencies {
  readonly buffers: WriteBuffers
  /** Number of the list of sends that is being encoded. */
  readonly draining: number
  /** Called when the buffer must be flushed at the end of the turn. */
  noteDirty(output: ClientOutput): void
  /** Called when a number of bytes was passed to the stream. */
  noteWritten(bytes: number): void
  /** Called when a write is complete; bytes that were appended meanwhile were passed to the stream. */
  noteSent(output: ClientOutput): void
  /** Called when the stream has ended. */
  noteClosed(output: ClientOutput, error: Error | undefined): void
  noteChunk(output: ClientOutput, chunk: Buffer): void
  /** Called when the number of bytes in the buffer of the stream has changed, see `ByteStream`. */
  noteGathered(output: ClientOutput): void
}

export class ClientOutput implements StreamReceiver {
  readonly stream: ByteStream
  readonly decoder: PacketDecoder
  connection: Connection | undefined
  /** The stream has ended: nothing is appended any more. */
  isClosed: boolean
  /** The connection is in the shard's list of connections with more input than one turn handles. */
  isBacklogged: boolean
  isReadingPaused: boolean
  /** The stream ends after all appended bytes were passed to it. */
  endsAfterFlush: boolean
  /** Bytes of packets other than PUBLISH that were appended since the stream last accepted a write. */
  unreadResponseBytes: number
  /** Bytes received in `inputTurn`, see `ReadScheduler.noteInput`. */
  inputBytes: number
  inputTurn: number
  readonly #dependencies: ClientOutputDependencies
  #buffer: Buffer | undefined
  #used: number
  #writing: Buffer | undefined
  #isDirty: boolean
  /** The bytes in `#buffer` after `#used` are a copy of `#aheadChunk[#aheadAt, #aheadEnd)`. */
  #aheadChunk: Buffer | undefined
  #aheadAt: number
  #aheadEnd: number
  #aheadDraining: number
  readonly #done: () => void

  constructor(dependencies: ClientOutputDependencies, stream: ByteStream, decoder: PacketDecoder) {
    this.stream = stream
    this.decoder = decoder
    this.connection = undefined
    this.isClosed = false
    this.isBacklogged = false
    this.isReadingPaused = false
    this.endsAfterFlush = false
    this.unreadResponseBytes = 0
    this.inputBytes = 0
    this.inputTurn = 0
    this.#dependencies = dependencies
    this.#buffer = undefined
    this.#used = 0
    this.#writing = undefined
    this.#isDirty = false
    this.#aheadChunk = undefined
    this.#aheadAt = 0
    this.#aheadEnd = 0
    this.#aheadDraining = 0
    // A bound function needs less memory than a closure.
    this.#done = this.#handleWritten.bind(this)
    receiveFrom(stream, this)
    if (stream.onBuffered !== undefined) stream.onBuffered = () => dependencies.noteGathered(this)
  }

  /** Number of appended bytes that the stream has not confirmed. The capacity of the buffers does not count. */
  get unsentBytes(): number {
    return this.#used + (this.#writing === undefined ? 0 : this.#writing.length)
  }

  /** Passes bytes of the client to the decoder. */
  push(chunk: Buffer): void {
    if (this.connection !== undefined) this.connection.receivedBytes += chunk.length
    this.decoder.push(chunk)
  }

  /** Received bytes of incomplete packets. */
  get partialBytes(): number {
    return this.decoder.partialBytes + (this.stream.bufferedBytes ?? 0)
  }

  /** Memory of incomplete packets, in bytes. */
  get partialMemoryBytes(): number {
    return this.decoder.partialMemoryBytes + (this.stream.bufferedBytes ?? 0)
  }

  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** Reserves bytes at `at` of the returned buffer. Fill it, then call `advance`. */
  reserve(bytes: number): Buffer {
    this.#aheadChunk = undefined
    return this.#bufferWithSpace(bytes)
  }

  get at(): number {
    return this.#used
  }

  advance(bytes: number): void {
    this.#used += bytes
  }

  /**
   * Appends `chunk[start, end)` and returns its offset in `buffer`. A copy costs about 40 ns whatever its size, so up to
   * a kilobyte of the chunk is copied at once: the frames of one publisher are adjacent in its chunk and usually go to the same
   * connections, so the next frames are in `buffer` already. This is valid within one encoding only: a pooled buffer gets
   * further messages later.
   */
  appendRange(chunk: Buffer, start: number, end: number): number {
    const isInPlace =
      this.#aheadChunk === chunk &&
      this.#aheadAt === start &&
      end <= this.#aheadEnd &&
      this.#aheadDraining === this.#dependencies.draining
    if (!isInPlace) this.#copyAhead(chunk, start, end - start)
    this.#aheadAt = end
    const at = this.#used
    this.#used = at + end - start
    return at
  }

  /** The buffer being filled; valid until the next `reserve` or `appendRange`. */
  get buffer(): Buffer {
    return this.#buffer ?? this.#bufferWithSpace(0)
  }

  /** Passes the appended bytes to the stream, unless a write is in progress: then `done` does it. */
  flush(): void {
    this.#isDirty = false
    if (this.isClosed) return
    if (this.endsAfterFlush) return this.#finish()
    const buffer = this.#buffer
    if (this.#writing !== undefined || buffer === undefined || this.#used === 0) return
    const bytes = buffer.subarray(0, this.#used)
    this.#forgetBuffer()
    this.#writing = buffer
    this.#noteWritten(bytes.length)
    this.stream.write(bytes, this.#done)
  }

  /**
   * The last bytes do not wait for the write in progress: a client that reads nothing would never be disconnected,
   * because only an ended stream has a timeout.
   */
  #finish(): void {
    const buffer = this.#buffer
    if (buffer !== undefined) {
      const { buffers } = this.#dependencies
      const bytes = buffer.subarray(0, this.#used)
      this.#forgetBuffer()
      this.#noteWritten(bytes.length)
      this.stream.write(bytes, () => buffers.giveBack(buffer))
    }
    this.stream.end()
  }

  #noteWritten(bytes: number): void {
    if (this.connection !== undefined) this.connection.sentBytes += bytes
    this.#dependencies.noteWritten(bytes)
  }

  #copyAhead(chunk: Buffer, start: number, bytes: number): void {
    const buffer = this.#bufferWithSpace(bytes)
    const ahead = Math.max(bytes, Math.min(copyAheadBytes, chunk.length - start, buffer.length - this.#used))
    chunk.copy(buffer, this.#used, start, start + ahead)
    this.#aheadChunk = chunk
    this.#aheadEnd = start + ahead
    this.#aheadDraining = this.#dependencies.draining
  }

  #bufferWithSpace(bytes: number): Buffer {
    if (!this.#isDirty) {
      this.#isDirty = true
      this.#dependencies.noteDirty(this)
    }
    const buffer = this.#buffer
    if (buffer === undefined) return (this.#buffer = this.#dependencies.buffers.take(bytes))
    if (this.#used + bytes <= buffer.length) return buffer
    return this.#writing === undefined ? this.#startNext(bytes) : this.#grow(buffer, bytes)
  }

  /** Writes the full buffer, because no write is in progress, and continues with another buffer. */
  #startNext(bytes: number): Buffer {
    this.flush()
    this.#isDirty = true
    this.#dependencies.noteDirty(this)
    return (this.#buffer = this.#dependencies.buffers.take(bytes))
  }

  #grow(buffer: Buffer, bytes: number): Buffer {
    const { buffers } = this.#dependencies
    const larger = buffers.take(Math.max(buffer.length * 2, this.#used + bytes))
    buffer.copy(larger, 0, 0, this.#used)
    buffers.giveBack(buffer)
    this.#aheadChunk = undefined
    return (this.#buffer = larger)
  }

  #forgetBuffer(): void {
    this.#buffer = undefined
    this.#used = 0
    this.#aheadChunk = undefined
  }

  #handleWritten(): void {
    const { buffers } = this.#dependencies
    if (this.#writing !== undefined) buffers.giveBack(this.#writing)
    this.#writing = undefined
    this.unreadResponseBytes = 0
    if (this.isClosed) return
    if (this.#used > 0) this.flush()
    this.#dependencies.noteSent(this)
  }

  /** Called by the stream for received bytes. */
  handleChunk(chunk: Buffer): void {
    this.#dependencies.noteChunk(this, chunk)
  }

  /** Called by the stream when it has ended. */
  handleEnd(error: Error | undefined): void {
    const { buffers } = this.#dependencies
    if (this.#buffer !== undefined) buffers.giveBack(this.#buffer)
    this.#forgetBuffer()
    // This is set first, so that the call below appends nothing.
    this.isClosed = true
    this.#dependencies.noteClosed(this, error)
  }
}
