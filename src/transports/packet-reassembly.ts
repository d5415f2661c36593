// Cuts bytes of MQTT into whole packets, by their fixed headers alone: where several streams carry packets of one
// client, they can be put one behind the other only where a packet ends.

const maxHeaderBytes = 5
const malformed = -1
/** What is held is copied into segments: a chunk of a few bytes would cost hundreds, and may be part of a larger buffer. */
const minSegmentBytes = 64
const maxSegmentBytes = 65_536

export class PacketReassembler {
  readonly #maxPacketBytes: number
  /** The beginning of a packet that is not whole yet. All are full but for `#roomBytes` of the last. */
  #segments: Buffer[] = []
  #roomBytes = 0
  #heldBytes = 0
  /** What is lacking of it; 0 while its header is not whole either. */
  #remainingBytes = 0
  #isPassThrough = false

  constructor(maxPacketBytes: number) {
    this.#maxPacketBytes = maxPacketBytes
  }

  /** Bytes that wait for the rest of their packet. Never more than a packet may have. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** From now on everything is passed on as it comes: the decoder reports what is wrong with it. */
  passThrough(): void {
    this.#isPassThrough = true
  }

  /** What is held goes. */
  clear(): void {
    this.#segments = []
    this.#roomBytes = 0
    this.#heldBytes = 0
    this.#remainingBytes = 0
  }

  /** Calls `pass` with whole packets, one or many at a time, as far as `chunk` completes them. */
  addChunk(chunk: Buffer, pass: (packets: Buffer) => void): void {
    if (this.#isPassThrough) return pass(chunk)
    const bytes = this.#completeHeld(chunk, pass)
    if (bytes === undefined) return
    let end = 0
    let packetBytes: number | undefined = 0
    while (end < bytes.length) {
      packetBytes = packetBytesAt(bytes, end)
      if (packetBytes === undefined || end + packetBytes > bytes.length) break
      if (packetBytes === malformed) return this.#passAll(bytes, pass)
      end += packetBytes
    }
    if (packetBytes !== undefined && packetBytes > this.#maxPacketBytes) return this.#passAll(bytes, pass)
    if (end > 0) pass(bytes.subarray(0, end))
    if (end < bytes.length) {
      const whole = packetBytes === undefined ? 0 : packetBytes
      this.#hold(bytes.subarray(end), whole === 0 ? 0 : end + whole - bytes.length)
    }
  }

  /** Bytes that begin where a packet begins; undefined: `chunk` does not complete the one that is held. */
  #completeHeld(chunk: Buffer, pass: (packets: Buffer) => void): Buffer | undefined {
    if (this.#heldBytes === 0) return chunk
    const missing = this.#remainingBytes
    if (chunk.length < missing) {
      this.#hold(chunk, missing - chunk.length)
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

  #hold(bytes: Buffer, remainingBytes: number): void {
    this.#copy(bytes)
    this.#heldBytes += bytes.length
    this.#remainingBytes = remainingBytes
  }

  #copy(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#roomBytes === 0) this.#addSegment(bytes.length - at)
      const last = this.#segments.at(-1)
      const copied = last === undefined ? 0 : bytes.copy(last, last.length - this.#roomBytes, at)
      this.#roomBytes -= copied
      at += copied
    }
  }

  /** No more than what is held already, or comes now: all of them together are at most twice what has come. */
  #addSegment(comingBytes: number): void {
    const bytes = Math.max(this.#heldBytes, comingBytes, minSegmentBytes)
    this.#roomBytes = Math.min(bytes, maxSegmentBytes)
    this.#segments.push(Buffer.allocUnsafeSlow(this.#roomBytes))
  }

  #passAll(bytes: Buffer, pass: (packets: Buffer) => void): void {
    this.#isPassThrough = true
    pass(bytes)
  }
}

/** How long the packet at `at` is, its header with it; undefined: the header is not whole. */
export function packetBytesAt(bytes: Buffer, at: number): number | undefined {
  let remaining = 0
  for (let index = 1; index < maxHeaderBytes; index += 1) {
    const byte = bytes[at + index]
    if (byte === undefined) return undefined
    remaining += (byte & 0x7f) * 128 ** (index - 1)
    if (byte < 0x80) return 1 + index + remaining
  }
  return malformed
}
