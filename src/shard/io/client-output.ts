// The driver's end of one connection: bytes from the stream to the decoder, packets into a buffer, one write of one
// buffer for each turn.
//
//   packets --append--> buffer (being filled) --flush--> writing (with the stream until `done`)
//
// One write is on its way at a time. Until its `done` further turns append to one growing buffer: a reader that stands
// still costs what it has not read, and no more.

import type { Connection } from '../../core/index.ts'
import type { PacketDecoder } from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import type { WriteBuffers } from './write-buffers.ts'

/** So much of a chunk is copied ahead: the frames that follow in it mostly go to the same connection, see `appendRange`. */
const copyAheadBytes = 1_024

export interface ClientOutputOwner {
  readonly buffers: WriteBuffers
  /** Changes with each list of sends that is drained. */
  readonly draining: number
  /** Something waits to be flushed at the end of the turn. */
  noteDirty(output: ClientOutput): void
  /** So many bytes go to the stream. */
  noteWritten(bytes: number): void
  /** A write is done; what had gathered behind it has been handed over. */
  noteSent(output: ClientOutput): void
  /** The stream has ended. */
  noteClosed(output: ClientOutput, error: Error | undefined): void
  noteChunk(output: ClientOutput, chunk: Buffer): void
  /** What the stream has gathered has changed, see `ByteStream`. */
  noteGathered(output: ClientOutput): void
}

export class ClientOutput {
  readonly stream: ByteStream
  readonly decoder: PacketDecoder
  connection: Connection | undefined
  /** The stream is gone: nothing is appended any more. */
  isClosed: boolean
  /** It waits in the shard's list of connections with more input than one turn takes. */
  isBacklogged: boolean
  isReadingPaused: boolean
  /** End the stream when everything appended so far has been handed to it. */
  endsAfterFlush: boolean
  /** Bytes of answers (all but PUBLISH) that were appended since the stream last took a write. */
  unreadResponseBytes: number
  /** What came in `inputTurn`, see `Readers.noteInput`. */
  inputBytes: number
  inputTurn: number
  readonly #owner: ClientOutputOwner
  #buffer: Buffer | undefined
  #used: number
  #writing: Buffer | undefined
  #isDirty: boolean
  /** What lies ahead in `#buffer` behind `#used` is a copy of `#aheadChunk[#aheadAt, #aheadEnd)`. */
  #aheadChunk: Buffer | undefined
  #aheadAt: number
  #aheadEnd: number
  #aheadDraining: number
  readonly #done: () => void

  constructor(owner: ClientOutputOwner, stream: ByteStream, decoder: PacketDecoder) {
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
    this.#owner = owner
    this.#buffer = undefined
    this.#used = 0
    this.#writing = undefined
    this.#isDirty = false
    this.#aheadChunk = undefined
    this.#aheadAt = 0
    this.#aheadEnd = 0
    this.#aheadDraining = 0
    this.#done = () => this.#handleWritten()
    stream.onData = (chunk) => owner.noteChunk(this, chunk)
    stream.onClose = (error) => this.#handleClosed(error)
    if (stream.onBuffered !== undefined) stream.onBuffered = () => owner.noteGathered(this)
  }

  /** Bytes that the stream has not confirmed, by what they hold and not by the size of their buffers. */
  get unsentBytes(): number {
    return this.#used + (this.#writing === undefined ? 0 : this.#writing.length)
  }

  /** Bytes from the peer, for the decoder. */
  push(chunk: Buffer): void {
    if (this.connection !== undefined) this.connection.receivedBytes += chunk.length
    this.decoder.push(chunk)
  }

  /** Bytes that have come of packets whose ends have not. */
  get partialBytes(): number {
    return this.decoder.partialBytes + (this.stream.bufferedBytes ?? 0)
  }

  /** The memory that they take. */
  get partialMemoryBytes(): number {
    return this.decoder.partialMemoryBytes + (this.stream.bufferedBytes ?? 0)
  }

  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** Room for so many bytes at `at` of the buffer that is given back. Fill it, then say `advance`. */
  reserve(bytes: number): Buffer {
    this.#aheadChunk = undefined
    return this.#room(bytes)
  }

  get at(): number {
    return this.#used
  }

  advance(bytes: number): void {
    this.#used += bytes
  }

  /**
   * Appends `chunk[start, end)` and gives its offset in `buffer`. Copying costs about 40 ns however little it is, so a
   * kilobyte is copied at once: the frames of one publisher lie one behind the other in its chunk and mostly go the
   * same way, and then the next ones are in place already. That holds within one draining only: behind a message in
   * a slab others are written later.
   */
  appendRange(chunk: Buffer, start: number, end: number): number {
    const isInPlace =
      this.#aheadChunk === chunk &&
      this.#aheadAt === start &&
      end <= this.#aheadEnd &&
      this.#aheadDraining === this.#owner.draining
    if (!isInPlace) this.#copyAhead(chunk, start, end - start)
    this.#aheadAt = end
    const at = this.#used
    this.#used = at + end - start
    return at
  }

  /** The buffer that is being filled; valid until the next `reserve` or `appendRange`. */
  get buffer(): Buffer {
    return this.#buffer ?? this.#room(0)
  }

  /** Hands what has gathered to the stream, unless a write is on its way: then `done` does it. */
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
   * The last bytes do not wait for those before them: a peer that reads nothing would never be rid of, for only a
   * stream that has been ended is cut off after a while.
   */
  #finish(): void {
    const buffer = this.#buffer
    if (buffer !== undefined) {
      const { buffers } = this.#owner
      const bytes = buffer.subarray(0, this.#used)
      this.#forgetBuffer()
      this.#noteWritten(bytes.length)
      this.stream.write(bytes, () => buffers.giveBack(buffer))
    }
    this.stream.end()
  }

  #noteWritten(bytes: number): void {
    if (this.connection !== undefined) this.connection.sentBytes += bytes
    this.#owner.noteWritten(bytes)
  }

  #copyAhead(chunk: Buffer, start: number, bytes: number): void {
    const buffer = this.#room(bytes)
    const ahead = Math.max(bytes, Math.min(copyAheadBytes, chunk.length - start, buffer.length - this.#used))
    chunk.copy(buffer, this.#used, start, start + ahead)
    this.#aheadChunk = chunk
    this.#aheadEnd = start + ahead
    this.#aheadDraining = this.#owner.draining
  }

  #room(bytes: number): Buffer {
    if (!this.#isDirty) {
      this.#isDirty = true
      this.#owner.noteDirty(this)
    }
    const buffer = this.#buffer
    if (buffer === undefined) return (this.#buffer = this.#owner.buffers.take(bytes))
    if (this.#used + bytes <= buffer.length) return buffer
    return this.#writing === undefined ? this.#startNext(bytes) : this.#grow(buffer, bytes)
  }

  /** The buffer is full and the stream is free: it goes, and the turn goes on in another one. */
  #startNext(bytes: number): Buffer {
    this.flush()
    this.#isDirty = true
    this.#owner.noteDirty(this)
    return (this.#buffer = this.#owner.buffers.take(bytes))
  }

  #grow(buffer: Buffer, bytes: number): Buffer {
    const { buffers } = this.#owner
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
    const { buffers } = this.#owner
    if (this.#writing !== undefined) buffers.giveBack(this.#writing)
    this.#writing = undefined
    this.unreadResponseBytes = 0
    if (this.isClosed) return
    if (this.#used > 0) this.flush()
    this.#owner.noteSent(this)
  }

  #handleClosed(error: Error | undefined): void {
    const { buffers } = this.#owner
    if (this.#buffer !== undefined) buffers.giveBack(this.#buffer)
    this.#forgetBuffer()
    // First, so that nothing is appended any more by what follows from it.
    this.isClosed = true
    this.#owner.noteClosed(this, error)
  }
}
