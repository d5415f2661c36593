// Input and output of one connection: bytes of the stream go to the decoder; packets are encoded into a buffer, which is written
// once per turn.
//
//   packets --append--> buffer (being filled) --flush--> writing (with the stream until `done`)
//
// One write is in progress at a time. Until its `done`, later turns append to one growing buffer: a slow connection costs the bytes that
// its client has not read, and no more. Large payloads are not copied: they are segments between filled buffers.

import type { Connection } from '../../core/index.ts'
import type { PacketDecoder } from '../../protocol/index.ts'
import { type ByteStream, receiveFrom, type StreamReceiver } from '../../transports/index.ts'
import { smallBytes, type WriteBuffers } from './write-buffers.ts'

/**
 * Number of bytes of a chunk that are copied ahead, because the next frames of the chunk usually go to the same connection.
 * See `appendRange`.
 */
const copyAheadBytes = 1_024

/** Bytes that are written before the buffer being filled. */
interface Segment {
  /** A filled buffer, or a payload to which other connections may refer as well. */
  readonly buffer: Buffer
  readonly usedBytes: number
}

/** What a `PacketReader` does for a connection. */
interface Reader {
  /** Handles received bytes. */
  handleChunk(output: ClientOutput, chunk: Buffer): void
  /** The number of bytes in the buffer of the stream has changed, see `ByteStream`. */
  handleBuffered(output: ClientOutput): void
  /** A write is complete; bytes that were appended meanwhile were passed to the stream. */
  handleSent(output: ClientOutput): void
}

/** What a `PacketWriter` does for a connection. */
interface Writer {
  readonly buffers: WriteBuffers
  /** Number of the list of sends that is being encoded. */
  readonly encodeRound: number
  /** Nothing may be passed to a stream now: `scheduleFlush` does it later. */
  readonly isHeld: boolean
  /** The buffer must be flushed at the end of the turn. */
  scheduleFlush(output: ClientOutput): void
  /** A number of bytes was passed to the stream. */
  countSentBytes(bytes: number): void
}

export interface ClientOutputDependencies {
  readonly reader: Reader
  readonly writer: Writer
  /** Called when the client has ended its direction, and everything that it sent was passed to the reader. */
  handleInputEnded(output: ClientOutput): void
  /** Called when the stream has ended. */
  handleClosed(output: ClientOutput, error: Error | undefined): void
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
  readonly #writer: Writer
  #buffer: Buffer | undefined
  #used: number
  /** In the order of writing; undefined if there are none. */
  #segments: Segment[] | undefined
  #segmentBytes: number
  #writing: Buffer | undefined
  #isDirty: boolean
  /** The bytes in `#buffer` after `#used` are a copy of `#aheadChunk[#aheadAt, #aheadEnd)`. */
  #aheadChunk: Buffer | undefined
  #aheadAt: number
  #aheadEnd: number
  #aheadRound: number
  readonly #onWritten: () => void

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
    this.#writer = dependencies.writer
    this.#buffer = undefined
    this.#used = 0
    this.#segments = undefined
    this.#segmentBytes = 0
    this.#writing = undefined
    this.#isDirty = false
    this.#aheadChunk = undefined
    this.#aheadAt = 0
    this.#aheadEnd = 0
    this.#aheadRound = 0
    // A bound function needs less memory than a closure.
    this.#onWritten = this.#handleWritten.bind(this)
    receiveFrom(stream, this)
    // Streams that take an object are within this process. They have no direction that ends alone.
    if (stream.setReceiver === undefined) stream.peerEndReceiver = this
    if (stream.onBuffered !== undefined) stream.onBuffered = () => dependencies.reader.handleBuffered(this)
  }

  /** Number of appended bytes that the stream has not confirmed. The capacity of the buffers does not count. */
  get unsentBytes(): number {
    return this.#used + this.#segmentBytes + (this.#writing === undefined ? 0 : this.#writing.length)
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
    return this.#ensureSpace(bytes)
  }

  get at(): number {
    return this.#used
  }

  advance(bytes: number): void {
    this.#used += bytes
  }

  /**
   * Appends `chunk[start, end)` and returns its offset in `buffer`. A small copy costs about 40 ns whatever its size, so up to
   * a kilobyte of the chunk is copied at once. The frames of one publisher are adjacent in its chunk and usually go to the same
   * connections, so the next frame is in `buffer` already. This is valid within one call of `encodeSends` only, because the
   * memory of the chunk may get other messages later.
   */
  appendRange(chunk: Buffer, start: number, end: number): number {
    const isInPlace =
      this.#aheadChunk === chunk &&
      this.#aheadAt === start &&
      end <= this.#aheadEnd &&
      this.#aheadRound === this.#writer.encodeRound
    if (!isInPlace) this.#copyAhead(chunk, start, end - start)
    this.#aheadAt = end
    const at = this.#used
    this.#used = at + end - start
    return at
  }

  /**
   * Appends `chunk[start, end)`, at least `minReferencedBytes`, without a copy. The chunk must not change until it is written.
   * With copies, a payload of a megabyte for 40 subscribers occupied their shard for up to 400 ms: each copy went to new memory.
   */
  appendReference(chunk: Buffer, start: number, end: number): void {
    const payload = chunk.subarray(start, end)
    this.#writer.buffers.countInUse(payload)
    this.#markDirty()
    const segments = (this.#segments ??= [])
    this.#moveBufferTo(segments)
    segments.push({ buffer: payload, usedBytes: payload.length })
    this.#segmentBytes += payload.length
  }

  /** Makes the filled part of the buffer a segment. Few bytes are copied: 32 pooled buffers with few bytes each would occupy a megabyte. */
  #moveBufferTo(segments: Segment[]): void {
    const { buffers } = this.#writer
    const [buffer, usedBytes] = [this.#buffer, this.#used]
    if (buffer === undefined) return
    this.#forgetBuffer()
    this.#segmentBytes += usedBytes
    if (usedBytes > smallBytes) return void segments.push({ buffer, usedBytes })
    const copy = Buffer.from(buffer.subarray(0, usedBytes))
    buffers.returnBuffer(buffer)
    buffers.countInUse(copy)
    segments.push({ buffer: copy, usedBytes })
  }

  /** The buffer being filled; valid until the next `reserve` or `appendRange`. */
  get buffer(): Buffer {
    return this.#buffer ?? this.#ensureSpace(0)
  }

  /** Passes the appended bytes to the stream, unless a write is in progress: then `done` does it. */
  flush(): void {
    this.#isDirty = false
    if (this.isClosed) return
    if (this.endsAfterFlush) return this.#finish()
    if (this.#writing !== undefined) return
    if (this.#segments !== undefined) return this.#writeSegment(this.#segments)
    const buffer = this.#buffer
    if (buffer === undefined || this.#used === 0) return
    const bytes = buffer.subarray(0, this.#used)
    this.#forgetBuffer()
    this.#writing = buffer
    this.#countSentBytes(bytes.length)
    this.stream.write(bytes, this.#onWritten)
  }

  #writeSegment(segments: Segment[]): void {
    const [{ buffer, usedBytes }] = segments.splice(0, 1)
    if (segments.length === 0) this.#segments = undefined
    this.#segmentBytes -= usedBytes
    this.#writing = buffer
    this.#countSentBytes(usedBytes)
    this.stream.write(buffer.subarray(0, usedBytes), this.#onWritten)
  }

  /**
   * Passes all appended bytes to the stream and ends it, even if a write is in progress. Otherwise a client that reads nothing
   * would never be disconnected, because only an ended stream has a timeout.
   */
  #finish(): void {
    const { buffers } = this.#writer
    const segments = this.#takeSegments()
    if (segments.length > 0) {
      const bytes = Buffer.concat(segments.map(({ buffer, usedBytes }) => buffer.subarray(0, usedBytes)))
      for (const { buffer } of segments) buffers.returnBuffer(buffer)
      buffers.countInUse(bytes)
      this.#countSentBytes(bytes.length)
      this.stream.write(bytes, () => buffers.release(bytes))
    }
    this.stream.end()
  }

  /** Returns everything that was appended and not passed to the stream, and forgets it. */
  #takeSegments(): Segment[] {
    const segments = this.#segments ?? []
    if (this.#buffer !== undefined) segments.push({ buffer: this.#buffer, usedBytes: this.#used })
    this.#segments = undefined
    this.#segmentBytes = 0
    this.#forgetBuffer()
    return segments
  }

  #countSentBytes(bytes: number): void {
    if (this.connection !== undefined) this.connection.sentBytes += bytes
    this.#writer.countSentBytes(bytes)
  }

  #copyAhead(chunk: Buffer, start: number, bytes: number): void {
    const buffer = this.#ensureSpace(bytes)
    const ahead = Math.max(bytes, Math.min(copyAheadBytes, chunk.length - start, buffer.length - this.#used))
    chunk.copy(buffer, this.#used, start, start + ahead)
    this.#aheadChunk = chunk
    this.#aheadEnd = start + ahead
    this.#aheadRound = this.#writer.encodeRound
  }

  #ensureSpace(bytes: number): Buffer {
    this.#markDirty()
    const buffer = this.#buffer
    if (buffer === undefined) return (this.#buffer = this.#writer.buffers.take(bytes))
    if (this.#used + bytes <= buffer.length) return buffer
    const isNext = this.#writing === undefined && this.#segments === undefined
    return isNext ? this.#startNext(bytes) : this.#grow(buffer, bytes)
  }

  #markDirty(): void {
    if (this.#isDirty) return
    this.#isDirty = true
    this.#writer.scheduleFlush(this)
  }

  /** Writes the full buffer, because no write is in progress, and takes another buffer. */
  #startNext(bytes: number): Buffer {
    this.flush()
    this.#markDirty()
    return (this.#buffer = this.#writer.buffers.take(bytes))
  }

  #grow(buffer: Buffer, bytes: number): Buffer {
    const { buffers } = this.#writer
    const larger = buffers.take(Math.max(buffer.length * 2, this.#used + bytes))
    buffer.copy(larger, 0, 0, this.#used)
    buffers.returnBuffer(buffer)
    this.#aheadChunk = undefined
    return (this.#buffer = larger)
  }

  #forgetBuffer(): void {
    this.#buffer = undefined
    this.#used = 0
    this.#aheadChunk = undefined
  }

  #handleWritten(): void {
    const { buffers } = this.#writer
    if (this.#writing !== undefined) buffers.returnBuffer(this.#writing)
    this.#writing = undefined
    this.unreadResponseBytes = 0
    if (this.isClosed) return
    if (this.#used > 0 || this.#segments !== undefined) {
      if (this.#writer.isHeld) this.#writer.scheduleFlush(this)
      else this.flush()
    }
    this.#dependencies.reader.handleSent(this)
  }

  /** Called by the stream for received bytes. */
  handleChunk(chunk: Buffer): void {
    this.#dependencies.reader.handleChunk(this, chunk)
  }

  /** Called by the stream when the client has ended its direction. */
  handlePeerEnd(): void {
    this.#dependencies.handleInputEnded(this)
  }

  /** Called by the stream when it has ended. */
  handleEnd(error: Error | undefined): void {
    const { buffers } = this.#writer
    for (const { buffer } of this.#takeSegments()) buffers.returnBuffer(buffer)
    // Set before the call below, so that the call appends nothing.
    this.isClosed = true
    this.#dependencies.handleClosed(this, error)
  }
}
