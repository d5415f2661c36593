// Handshake messages on the wire (RFC 6347 4.2.2): they may arrive in fragments, repeated, and in any order.
//
//   type 1 | length 3 | message sequence 2 | fragment offset 3 | fragment length 3 | fragment

import { HandshakeFailure } from './alerts.ts'

export const handshakeHeaderBytes = 12
/** The longest message is a certificate chain. */
const maxMessageBytes = 16_384
/** Messages that may arrive before the expected one. */
const maxAhead = 8
/** Bytes of all incomplete or early messages. */
const maxBufferedBytes = 32_768
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
    if (plaintext.length - at < handshakeHeaderBytes) throw malformed()
    const length = plaintext.readUIntBE(at + 1, 3)
    const offset = plaintext.readUIntBE(at + 6, 3)
    const fragmentLength = plaintext.readUIntBE(at + 9, 3)
    const end = at + handshakeHeaderBytes + fragmentLength
    if (end > plaintext.length || offset + fragmentLength > length || fragments.length >= maxFragments)
      throw malformed()
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

interface Partial {
  readonly type: number
  readonly bytes: Buffer
  /** Sorted and separate: [from, to). */
  ranges: (readonly [number, number])[]
}

/** Reassembles messages and returns them in order. */
export class HandshakeReassembly {
  readonly #partials = new Map<number, Partial>()
  #next: number
  #bufferedBytes = 0

  constructor(firstSequence: number) {
    this.#next = firstSequence
  }

  /** Returns false if its message was returned already. */
  add(fragment: HandshakeFragment): boolean {
    const { messageSequence, type, length, offset, body } = fragment
    if (messageSequence < this.#next) return false
    if (length > maxMessageBytes) throw new HandshakeFailure('illegalParameter', 'a handshake message is too long')
    if (messageSequence >= this.#next + maxAhead) return true
    let partial = this.#partials.get(messageSequence)
    if (partial === undefined) {
      if (this.#bufferedBytes + length > maxBufferedBytes) return true
      this.#bufferedBytes += length
      partial = { type, bytes: Buffer.alloc(length), ranges: [] }
      this.#partials.set(messageSequence, partial)
    }
    if (partial.type !== type || partial.bytes.length !== length)
      throw new HandshakeFailure('illegalParameter', 'fragments of a handshake message do not fit together')
    if (partial.ranges.length >= maxFragments) return true
    body.copy(partial.bytes, offset)
    partial.ranges = withRange(partial.ranges, offset, offset + body.length)
    return true
  }

  /** Returns the next message if it is complete. */
  take(): HandshakeMessage | undefined {
    const partial = this.#partials.get(this.#next)
    if (partial === undefined || !isWhole(partial)) return undefined
    this.#partials.delete(this.#next)
    this.#bufferedBytes -= partial.bytes.length
    return { type: partial.type, messageSequence: this.#next++, body: partial.bytes }
  }
}

function isWhole({ ranges, bytes }: Partial): boolean {
  const [first] = ranges
  return first !== undefined && first[0] === 0 && first[1] === bytes.length
}

function withRange(ranges: Partial['ranges'], from: number, to: number): Partial['ranges'] {
  const before = ranges.filter(([, end]) => end < from)
  const after = ranges.filter(([start]) => start > to)
  const joined = ranges.filter(([start, end]) => end >= from && start <= to)
  const start = Math.min(from, ...joined.map(([first]) => first))
  const end = Math.max(to, ...joined.map(([, last]) => last))
  return [...before, [start, end], ...after]
}

function malformed(): HandshakeFailure {
  return new HandshakeFailure('decodeError', 'a handshake record is malformed')
}
