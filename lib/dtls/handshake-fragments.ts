// Handshake messages on the wire (RFC 6347 4.2.2): they may arrive in fragments, repeated, and in any order.
//
//   type 1 | length 3 | message sequence 2 | fragment offset 3 | fragment length 3 | fragment

import { HandshakeFailure } from './alerts.ts'

export const handshakeHeaderBytes = 12
/** Maximum length of a message. The longest message is a certificate chain. */
const maxMessageBytes = 16_384
/** Maximum number of message sequence numbers, from the expected one on, whose fragments are stored. */
const maxAhead = 8
/** Maximum total length of all incomplete or early messages. */
const maxBufferedBytes = 32_768
/** Maximum number of fragments of a record, and of separate ranges of a message that were received. */
const maxFragments = 128

export interface HandshakeFragment {
  readonly type: number
  readonly length: number
  readonly messageSequence: number
  readonly offset: number
  readonly body: Buffer
}

/** A complete message. */
export interface HandshakeMessage {
  readonly type: number
  readonly messageSequence: number
  readonly body: Buffer
}

export function parseFragments(plaintext: Buffer): HandshakeFragment[] {
  const fragments: HandshakeFragment[] = []
  for (let at = 0; at < plaintext.length;) {
    if (plaintext.length - at < handshakeHeaderBytes) throw createMalformedError()
    const length = plaintext.readUIntBE(at + 1, 3)
    const offset = plaintext.readUIntBE(at + 6, 3)
    const fragmentLength = plaintext.readUIntBE(at + 9, 3)
    const end = at + handshakeHeaderBytes + fragmentLength
    if (end > plaintext.length || offset + fragmentLength > length || fragments.length >= maxFragments)
      throw createMalformedError()
    fragments.push({
      type: plaintext.readUInt8(at),
      length,
      messageSequence: plaintext.readUInt16BE(at + 4),
      offset,
      body: plaintext.subarray(at + handshakeHeaderBytes, end),
    })
    at = end
  }
  return fragments
}

/** Writes the message as one fragment. The handshake hash uses the same form. */
export function writeWholeMessage({ type, messageSequence, body }: HandshakeMessage): Buffer {
  const fragment = { type, length: body.length, messageSequence, offset: 0, body }
  return writeFragment(fragment)
}

export function writeFragment({ type, length, messageSequence, offset, body }: HandshakeFragment): Buffer {
  const header = Buffer.alloc(handshakeHeaderBytes)
  header.writeUInt8(type, 0)
  header.writeUIntBE(length, 1, 3)
  header.writeUInt16BE(messageSequence, 4)
  header.writeUIntBE(offset, 6, 3)
  header.writeUIntBE(body.length, 9, 3)
  return Buffer.concat([header, body])
}

interface IncompleteMessage {
  readonly type: number
  readonly bytes: Buffer
  /** Sorted and separate: [from, to). */
  ranges: (readonly [number, number])[]
}

/** Reassembles messages and returns them in order. */
export class HandshakeReassembly {
  readonly #incomplete = new Map<number, IncompleteMessage>()
  #next: number
  #bufferedBytes = 0

  constructor(firstSequence: number) {
    this.#next = firstSequence
  }

  /** Adds a fragment. Returns false if `take` has already returned the message of this fragment. */
  add(fragment: HandshakeFragment): boolean {
    const { messageSequence, type, length, offset, body } = fragment
    if (messageSequence < this.#next) return false
    if (length > maxMessageBytes) throw new HandshakeFailure('illegalParameter', 'a handshake message is too long')
    if (messageSequence >= this.#next + maxAhead) return true
    let message = this.#incomplete.get(messageSequence)
    if (message === undefined) {
      if (this.#bufferedBytes + length > maxBufferedBytes) return true
      this.#bufferedBytes += length
      message = { type, bytes: Buffer.alloc(length), ranges: [] }
      this.#incomplete.set(messageSequence, message)
    }
    if (message.type !== type || message.bytes.length !== length)
      throw new HandshakeFailure('illegalParameter', 'fragments of a handshake message have different types or lengths')
    if (message.ranges.length >= maxFragments) return true
    body.copy(message.bytes, offset)
    message.ranges = addRange(message.ranges, offset, offset + body.length)
    return true
  }

  /** Returns the next message if it is complete. */
  take(): HandshakeMessage | undefined {
    const message = this.#incomplete.get(this.#next)
    if (message === undefined || !isWhole(message)) return undefined
    this.#incomplete.delete(this.#next)
    this.#bufferedBytes -= message.bytes.length
    return { type: message.type, messageSequence: this.#next++, body: message.bytes }
  }
}

function isWhole({ ranges, bytes }: IncompleteMessage): boolean {
  const [first] = ranges
  return first !== undefined && first[0] === 0 && first[1] === bytes.length
}

function addRange(ranges: IncompleteMessage['ranges'], from: number, to: number): IncompleteMessage['ranges'] {
  const before = ranges.filter(([, end]) => end < from)
  const after = ranges.filter(([start]) => start > to)
  const joined = ranges.filter(([start, end]) => end >= from && start <= to)
  const start = Math.min(from, ...joined.map(([first]) => first))
  const end = Math.max(to, ...joined.map(([, last]) => last))
  return [...before, [start, end], ...after]
}

function createMalformedError(): HandshakeFailure {
  return new HandshakeFailure('decodeError', 'a handshake record is malformed')
}
