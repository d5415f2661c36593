// Decodes strict UTF-8. The decoder of Node replaces invalid bytes, but the standard requires that the packet is rejected.

import { ProtocolError } from '../reasons/protocol-error.ts'

/**
 * Returns the text in `bytes[start, end)`. Throws `malformedPacket` for overlong forms, surrogates, characters above U+10FFFF
 * [MQTT-1.5.3-1] [MQTT5-1.5.4-1] and U+0000 [MQTT-1.5.3-2] [MQTT5-1.5.4-2]. Other control characters pass (the
 * standard only advises against them), and a byte order mark stays [MQTT-1.5.3-3] [MQTT5-1.5.4-3].
 */
export function decodeText(bytes: Buffer, start: number, end: number, field: string): string {
  const asciiEnd = skipAscii(bytes, start, end)
  if (asciiEnd === end) return bytes.toString('latin1', start, end)
  let at = asciiEnd
  while (at < end) {
    const length = measureCharacter(bytes, at, end)
    if (length === 0) throw new ProtocolError('malformedPacket', `${field} is not valid UTF-8 or contains U+0000`)
    at += length
  }
  return bytes.toString('utf8', start, end)
}

/**
 * Returns whether `bytes[start, end)` is valid UTF-8 (RFC 3629). For payloads with the format indicator 1 [MQTT5-3.3.2.3.2], which
 * may contain U+0000, unlike the strings of packets.
 */
export function isUtf8(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end;) {
    const length = bytes[at] < 0x80 ? 1 : measureCharacter(bytes, at, end)
    if (length === 0) return false
    at += length
  }
  return true
}

/** Returns the position of the first byte in `[start, end)` that is U+0000 or not ASCII; `end` if there is none. */
function skipAscii(bytes: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === 0 || byte > 0x7f) return at
  }
  return end
}

/** Returns the length of the character at `at` in bytes; 0 if it is not allowed in a text. */
function measureCharacter(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at]
  if (first < 0x80) return first === 0 ? 0 : 1
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  if (first < 0xc2 || first > 0xf4 || at + length > end) return 0
  const second = bytes[at + 1]
  if (second < findMinSecondByte(first) || second > findMaxSecondByte(first)) return 0
  for (let index = 2; index < length; index++) {
    if ((bytes[at + index] & 0xc0) !== 0x80) return 0
  }
  return length
}

/** A smaller second byte would be an overlong form of the same character. */
function findMinSecondByte(first: number): number {
  if (first === 0xe0) return 0xa0
  if (first === 0xf0) return 0x90
  return 0x80
}

/** A larger second byte would be a surrogate (after 0xED) or above U+10FFFF (after 0xF4). */
function findMaxSecondByte(first: number): number {
  if (first === 0xed) return 0x9f
  if (first === 0xf4) return 0x8f
  return 0xbf
}
