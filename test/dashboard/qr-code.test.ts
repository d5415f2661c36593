// QR codes of the dashboard, read by an independent decoder.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { qrCodeOf } from '../../dashboard/src/state/qr-code.ts'
import { readQrCode } from './read-qr-code.ts'

/** Returns a text of this number of bytes, different for each length. */
function textOf(length: number): string {
  return Array.from({ length }, (_, at) => String.fromCodePoint(33 + ((at * 7 + length) % 90))).join('')
}

test('a decoder reads the text from a code of each size', () => {
  const sizes = new Set<number>()
  for (let length = 0; length <= 666; length += length < 30 ? 1 : 12) {
    const rows = qrCodeOf(textOf(length)) ?? []
    sizes.add(rows.length)
    assert.equal(readQrCode(rows), textOf(length), `${length} bytes`)
  }
  assert.deepEqual(
    [...sizes],
    Array.from({ length: 20 }, (_, at) => 21 + 4 * at),
  )
  assert.equal(qrCodeOf(textOf(667)), undefined, 'there is no code for a longer text')
})

test('characters of two and four bytes are read unchanged', () => {
  const uri = 'otpauth://totp/Werk München:jürgen 🔑?secret=ABC'
  assert.equal(readQrCode(qrCodeOf(uri) ?? []), uri)
})
