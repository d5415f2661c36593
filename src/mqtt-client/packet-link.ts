// One connection of a bridge, on either side: decodes and encodes packets.
//
// Written packets are collected until the end of the current callback, or until `flush`, and are written as one buffer.
// One write is in progress at a time; unsent bytes are counted (`unsentBytes`) for backpressure.

import {
  measurePacket,
  measurePublish,
  PacketDecoder,
  ProtocolError,
  writeAck,
  writePacket,
  writePublish,
  type AckType,
  type ControlPacket,
  type Packet,
  type PacketDecoderOptions,
  type PacketId,
  type ProtocolVersion,
  type PublishFields,
} from '../protocol/index.ts'
import type { ByteStream, StreamReceiver } from '../transports/index.ts'

const firstBufferBytes = 16_384
/** Minimum size of a new buffer if the other end keeps written buffers; otherwise a new buffer has the size of the last write. */
const minBufferBytes = 256
/** Larger buffers are not reused. */
const maxReusedBytes = 262_144
const ackBytes = 4
/** Spare decoders for links that read while another link is reading. */
const maxSpareDecoders = 8

/** What a client needs of a byte stream. The dashboard has one over a WebSocket of the browser. */
export type ClientStream = Pick<
  ByteStream,
  'onData' | 'onClose' | 'setReceiver' | 'write' | 'pause' | 'resume' | 'end' | 'destroy'
>

export interface LinkCallbacks {
  /** Bytes have arrived. */
  handleBytes?(link: PacketLink, bytes: number): void
  handlePacket(link: PacketLink, packet: Packet): void
  /** All available packets were handled. */
  handleRead?(link: PacketLink): void
  /** The bytes are not valid MQTT. */
  handleMalformed(link: PacketLink, error: ProtocolError): void
  /** The stream has ended, not by this side. */
  handleClosed(link: PacketLink, error: Error | undefined): void
  /** A write is done. */
  handleWritten?(link: PacketLink): void
}

/** One object may be shared by many links. */
export interface LinkDecoderOptions extends PacketDecoderOptions {
  readonly role: 'client'
  readonly version: ProtocolVersion
}

export interface LinkOptions {
  readonly decoder: LinkDecoderOptions
  /** Runs `work` at the end of the current callback. */
  readonly later: (work: () => void) => void
  /**
   * If true, received chunks belong to this link, so unread bytes may stay in them, and written buffers are reused
   * after the write. If false, a chunk is read completely even while reading is paused, and the other end keeps written
   * buffers.
   */
  readonly ownsChunks: boolean
  /**
   * Decoders that no link is using now. A link without bytes needs none: where there are very many links, they share them. Undefined: each
   * link has its own.
   */
  readonly spareDecoders?: PacketDecoder[]
}

export class PacketLink implements StreamReceiver {
  readonly #options: LinkOptions
  readonly #callbacks: LinkCallbacks
  readonly #stream: ClientStream
  /** Undefined: see `spareDecoders`. */
  #decoder: PacketDecoder | undefined
  #isReadingPaused = false
  #isClosed = false
  #buffer: Buffer | undefined
  /** A buffer whose write is complete, for reuse. */
  #freeBuffer: Buffer | undefined
  #used = 0
  #writingBytes = 0
  #lastWrittenBytes = 0
  /** Acknowledgements in the collected packets, and in the write in progress. */
  #collectedAcks = 0
  #writingAcks = 0
  #flushIsPlanned = false

  constructor(callbacks: LinkCallbacks, stream: ClientStream, options: LinkOptions) {
    this.#options = options
    this.#callbacks = callbacks
    this.#stream = stream
    if (options.spareDecoders === undefined) this.#decoder = new PacketDecoder(options.decoder)
    if (stream.setReceiver === undefined) {
      stream.onData = (chunk) => this.handleChunk(chunk)
      stream.onClose = (error) => this.handleEnd(error)
    } else stream.setReceiver(this)
  }

  get version(): ProtocolVersion {
    return this.#options.decoder.version
  }

  get unsentBytes(): number {
    return this.#used + this.#writingBytes
  }

  /** Number of acknowledgements whose write is not complete. */
  get unwrittenAcks(): number {
    return this.#collectedAcks + this.#writingAcks
  }

  acknowledge(type: AckType, packetId: PacketId): void {
    writeAck(type, packetId, this.#reserve(ackBytes), this.#used)
    this.#used += ackBytes
    this.#collectedAcks++
  }

  send(packet: ControlPacket): void {
    const bytes = measurePacket(packet, this.version)
    writePacket(packet, this.version, this.#reserve(bytes), this.#used)
    this.#used += bytes
  }

  /** Returns the size of the packet; it is not sent if larger than `maximumBytes`. */
  publish(fields: PublishFields, maximumBytes: number): number {
    const bytes = measurePublish(fields, this.version)
    if (bytes > maximumBytes) return bytes
    writePublish(fields, this.version, this.#reserve(bytes), this.#used)
    this.#used += bytes
    return bytes
  }

  /** Pauses reading until `resumeReading`. */
  pauseReading(): void {
    if (this.#isReadingPaused) return
    this.#isReadingPaused = true
    this.#stream.pause()
  }

  resumeReading(): void {
    if (!this.#isReadingPaused) return
    this.#isReadingPaused = false
    this.#options.later(() => {
      if (this.#isReadingPaused || this.#isClosed) return
      if (this.#decoder !== undefined) this.#read(this.#decoder)
      if (!this.#isReadingPaused) this.#stream.resume()
    })
  }

  get isReadingPaused(): boolean {
    return this.#isReadingPaused
  }

  /** Sends a last packet, if any, and closes. The owner gets no further callback. */
  end(goodbye: ControlPacket | undefined): void {
    if (this.#isClosed) return
    if (goodbye !== undefined) this.send(goodbye)
    this.#isClosed = true
    const bytes = this.#takeBuffer()
    if (bytes !== undefined) this.#stream.write(bytes, () => {})
    this.#stream.end()
  }

  /** Closes at once. The owner gets no further callback. */
  destroy(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stream.destroy()
  }

  /** Called by the stream. */
  handleEnd(error: Error | undefined): void {
    const wasOver = this.#isClosed
    this.#isClosed = true
    if (!wasOver) this.#callbacks.handleClosed(this, error)
  }

  /** Called by the stream. */
  handleChunk(chunk: Buffer): void {
    if (this.#isClosed) return
    this.#callbacks.handleBytes?.(this, chunk.length)
    this.#decoder ??= this.#takeDecoder()
    this.#decoder.push(chunk)
    if (this.#read(this.#decoder)) this.#returnDecoder()
  }

  #takeDecoder(): PacketDecoder {
    return this.#options.spareDecoders?.pop() ?? new PacketDecoder(this.#options.decoder)
  }

  #returnDecoder(): void {
    const { spareDecoders } = this.#options
    const decoder = this.#decoder
    if (spareDecoders === undefined || decoder === undefined || decoder.bufferedBytes > 0 || this.#isClosed) return
    this.#decoder = undefined
    if (spareDecoders.length < maxSpareDecoders) spareDecoders.push(decoder)
  }

  /** Returns false if the bytes are not valid. */
  #read(decoder: PacketDecoder): boolean {
    try {
      while (!this.#isClosed && !(this.#isReadingPaused && this.#options.ownsChunks)) {
        const packet = decoder.next()
        if (packet === undefined) {
          this.#callbacks.handleRead?.(this)
          break
        }
        this.#callbacks.handlePacket(this, packet)
      }
      return true
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      if (!this.#isClosed) this.#callbacks.handleMalformed(this, error)
      return false
    }
  }

  #reserve(bytes: number): Buffer {
    if (!this.#flushIsPlanned) {
      this.#flushIsPlanned = true
      this.#options.later(() => this.#flushLater())
    }
    const buffer = this.#buffer
    if (buffer === undefined) return (this.#buffer = this.#allocateFirstBuffer(bytes))
    if (this.#used + bytes <= buffer.length) return buffer
    const larger = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, this.#used + bytes))
    buffer.copy(larger, 0, 0, this.#used)
    this.#buffer = larger
    return larger
  }

  #allocateFirstBuffer(bytes: number): Buffer {
    const freeBuffer = this.#freeBuffer
    this.#freeBuffer = undefined
    if (freeBuffer !== undefined && bytes <= freeBuffer.length) return freeBuffer
    if (this.#options.ownsChunks) return Buffer.allocUnsafeSlow(Math.max(firstBufferBytes, bytes))
    return Buffer.allocUnsafe(Math.max(minBufferBytes, Math.min(this.#lastWrittenBytes, firstBufferBytes), bytes))
  }

  #flushLater(): void {
    this.#flushIsPlanned = false
    this.flush()
  }

  /** Writes the collected packets now, if the caller knows that none follow. */
  flush(): void {
    if (this.#isClosed || this.#writingBytes > 0) return
    const buffer = this.#buffer
    const bytes = this.#takeBuffer()
    if (bytes === undefined) return
    this.#writingBytes = bytes.length
    this.#lastWrittenBytes = bytes.length
    this.#writingAcks = this.#collectedAcks
    this.#collectedAcks = 0
    this.#stream.write(bytes, () => {
      this.#writingBytes = 0
      this.#writingAcks = 0
      if (this.#options.ownsChunks && buffer !== undefined && buffer.length <= maxReusedBytes) this.#freeBuffer = buffer
      if (this.#isClosed) return
      if (this.#used > 0) this.flush()
      this.#callbacks.handleWritten?.(this)
    })
  }

  /** Takes the collected packets out of the link; undefined: there are none. */
  #takeBuffer(): Buffer | undefined {
    const buffer = this.#buffer
    if (buffer === undefined || this.#used === 0) return undefined
    const bytes = buffer.subarray(0, this.#used)
    this.#buffer = undefined
    this.#used = 0
    return bytes
  }
}
