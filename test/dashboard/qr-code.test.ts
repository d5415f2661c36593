// QR codes of the dashboard, read by an independent decoder.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createQrCode } from '../../dashboard/src/state/qr-code.ts'
import { readQrCode } from './read-qr-code.ts'

/** Returns a text of this number of bytes, different for each length. */
function textOf(length: number): string {
  return Array.from({ length }, (_, at) => String.fromCodePoint(33 + ((at * 7 + length) % 90))).join('')
}

/** ISO 18004: the maximum number of bytes in a code of each version with error correction level M. */
const maxBytes = [14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666]

test('a decoder reads the text from a code of each size', () => {
  for (const [version, longest] of maxBytes.entries()) {
    const shortest = version === 0 ? 0 : (maxBytes[version - 1] ?? 0) + 1
    for (const length of [shortest, longest]) {
      const rows = createQrCode(textOf(length)) ?? []
      assert.equal(rows.length, 21 + 4 * version, `${length} bytes`)
      assert.equal(readQrCode(rows), textOf(length), `${length} bytes`)
    }
  }
  assert.equal(createQrCode(textOf(667)), undefined, 'there is no code for a longer text')
})

test('characters of two and four bytes are read unchanged', () => {
  const uri = 'otpauth://totp/Werk München:jürgen 🔑?secret=ABC'
  assert.equal(readQrCode(createQrCode(uri) ?? []), uri)
})
