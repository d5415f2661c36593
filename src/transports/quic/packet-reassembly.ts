// Splits bytes into complete MQTT packets, by their fixed headers. Packets of several streams of one client can be
// joined only at packet boundaries.

const maxHeaderBytes = 5
const malformed = -1
/**
 * Incomplete packets are copied into segments: a chunk of a few bytes would cost hundreds, and may be part of a larger
 * buffer.
 */
const minSegmentBytes = 64
const maxSegmentBytes = 65_536

export class PacketReassembler {
  readonly #maxPacketBytes: number
  /** The start of an incomplete packet. All segments are full except for `#freeBytes` of the last. */
  #segments: Buffer[] = []
  #freeBytes = 0
  #heldBytes = 0
  /** Missing bytes of it; 0 while its header is incomplete. */
  #remainingBytes = 0
  #isPassThrough = false

  constructor(maxPacketBytes: number) {
    this.#maxPacketBytes = maxPacketBytes
  }

  /** Bytes of an incomplete packet. Never more than the maximum packet size. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** From now on bytes are passed on unchanged: the decoder reports the error. */
  passThrough(): void {
    this.#isPassThrough = true
  }

  /** Drops the incomplete packet. */
  clear(): void {
    this.#segments = []
    this.#freeBytes = 0
    this.#heldBytes = 0
    this.#remainingBytes = 0
  }

  /** Calls `pass` with one or more complete packets that `chunk` completes. */
  addChunk(chunk: Buffer, pass: (packets: Buffer) => void): void {
    if (this.#isPassThrough) return pass(chunk)
    const bytes = this.#completeHeld(chunk, pass)
    if (bytes === undefined) return
    let end = 0
    let packetBytes: number | undefined = 0
    while (end < bytes.length) {
      packetBytes = measurePacket(bytes, end)
      if (packetBytes === undefined || end + packetBytes > bytes.length) break
      if (packetBytes === malformed) return this.#passAll(bytes, pass)
      end += packetBytes
    }
    if (packetBytes !== undefined && packetBytes > this.#maxPacketBytes) return this.#passAll(bytes, pass)
    if (end > 0) pass(bytes.subarray(0, end))
    if (end < bytes.length) {
      const whole = packetBytes === undefined ? 0 : packetBytes
      this.#bufferBytes(bytes.subarray(end), whole === 0 ? 0 : end + whole - bytes.length)
    }
  }

  /** Returns bytes that start with a packet; undefined: `chunk` does not complete the current packet. */
  #completeHeld(chunk: Buffer, pass: (packets: Buffer) => void): Buffer | undefined {
    if (this.#heldBytes === 0) return chunk
    const missing = this.#remainingBytes
    if (chunk.length < missing) {
      this.#bufferBytes(chunk, missing - chunk.length)
      return undefined
    }
    const rest = missing === 0 ? chunk : chunk.subarray(0, missing)
    this.#copy(rest)
    const all = Buffer.concat(this.#segments, this.#heldBytes + rest.length)
    this.clear()
    if (missing === 0) return all
    pass(all)
    return chunk.subarray(missing)
  }

  #bufferBytes(bytes: Buffer, remainingBytes: number): void {
    this.#copy(bytes)
    this.#heldBytes += bytes.length
    this.#remainingBytes = remainingBytes
  }

  #copy(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#freeBytes === 0) this.#addSegment(bytes.length - at)
      const last = this.#segments.at(-1)
      const copied = last === undefined ? 0 : bytes.copy(last, last.length - this.#freeBytes, at)
      this.#freeBytes -= copied
      at += copied
    }
  }

  /**
   * At most the size of the existing segments, or of the new bytes: all segments have at most twice the received bytes.
   */
  #addSegment(comingBytes: number): void {
    const bytes = Math.max(this.#heldBytes, comingBytes, minSegmentBytes)
    this.#freeBytes = Math.min(bytes, maxSegmentBytes)
    this.#segments.push(Buffer.allocUnsafeSlow(this.#freeBytes))
  }

  #passAll(bytes: Buffer, pass: (packets: Buffer) => void): void {
    this.#isPassThrough = true
    pass(bytes)
  }
}

/** Returns the size of the packet at `at` with its header; undefined: the header is incomplete. */
export function measurePacket(bytes: Buffer, at: number): number | undefined {
  let remaining = 0
  for (let index = 1; index < maxHeaderBytes; index += 1) {
    const byte = bytes[at + index]
    if (byte === undefined) return undefined
    remaining += (byte & 0x7f) * 128 ** (index - 1)
    if (byte < 0x80) return 1 + index + remaining
  }
  return malformed
}
