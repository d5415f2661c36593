// Strict UTF-8. Node's own decoder replaces what is wrong; the standard wants the packet refused instead.

import { ProtocolError } from './protocol-error.ts'

/**
 * The text in `bytes[start, end)`. Throws `malformedPacket` for overlong forms, surrogates, anything above U+10FFFF
 * [MQTT-1.5.3-1] [MQTT5-1.5.4-1] and U+0000 [MQTT-1.5.3-2] [MQTT5-1.5.4-2]. Other control characters pass (the
 * standard only advises against them), and a byte order mark stays [MQTT-1.5.3-3] [MQTT5-1.5.4-3].
 */
export function decodeText(bytes: Buffer, start: number, end: number, field: string): string {
  const asciiEnd = skipAscii(bytes, start, end)
  if (asciiEnd === end) return bytes.toString('latin1', start, end)
  let at = asciiEnd
  while (at < end) {
    const length = characterBytes(bytes, at, end)
    if (length === 0) throw new ProtocolError('malformedPacket', `${field} is not valid UTF-8 or contains U+0000`)
    at += length
  }
  return bytes.toString('utf8', start, end)
}

/**
 * Whether `bytes[start, end)` is UTF-8 by RFC 3629, as a payload may be said to be [MQTT5-3.3.2.3.2]. U+0000 may stand
 * there, unlike in the texts of packets.
 */
export function isUtf8(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end;) {
    const length = bytes[at] < 0x80 ? 1 : characterBytes(bytes, at, end)
    if (length === 0) return false
    at += length
  }
  return true
}

/** The first position in `[start, end)` whose byte is not a character of ASCII other than U+0000, or `end`. */
function skipAscii(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === 0 || byte > 0x7f) return at
  }
  return end
}

/** Returns the length of the character at `at` in bytes; 0 if it is not allowed in a text. */
function characterBytes(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at]
  if (first < 0x80) return first === 0 ? 0 : 1
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  if (first < 0xc2 || first > 0xf4 || at + length > end) return 0
  const second = bytes[at + 1]
  if (second < minSecondByte(first) || second > maxSecondByte(first)) return 0
  for (let index = 2; index < length; index++) {
    if ((bytes[at + index] & 0xc0) !== 0x80) return 0
  }
  return length
}

/** Below these the same character has a shorter form. */
function minSecondByte(first: number): number {
  if (first === 0xe0) return 0xa0
  if (first === 0xf0) return 0x90
  return 0x80
}

/** Above these stand the surrogates (after 0xED) and what lies beyond Unicode (after 0xF4). */
function maxSecondByte(first: number): number {
  if (first === 0xed) return 0x9f
  if (first === 0xf4) return 0x8f
  return 0xbf
}
