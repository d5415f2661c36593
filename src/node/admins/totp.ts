// One-time codes by time (RFC 6238): SHA-1, six digits, 30 seconds, as every authenticator program has them.

import { createHmac, timingSafeEqual } from 'node:crypto'

const stepMs = 30_000
const digits = 6
/** Clocks of devices differ: the interval before and the one after pass as well. */
const tolerance = 1
const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const base32Bits = 5

/** RFC 4226 5.3: the code of one interval. */
export function computeCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = digest.readUInt8(digest.length - 1) & 0xf
  const number = digest.readUInt32BE(offset) & 0x7f_ff_ff_ff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/** The interval whose code `code` is; undefined: of none that counts at `nowMs`. All are compared, in constant time. */
export function findStep(secret: Uint8Array, code: string, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / stepMs)
  const shown = Buffer.from(code.padEnd(digits).slice(0, digits))
  let found: number | undefined
  for (let step = now - tolerance; step <= now + tolerance; step++) {
    const isSame = shown.length === digits && timingSafeEqual(shown, Buffer.from(computeCode(secret, step)))
    if (isSame && code.length === digits) found = step
  }
  return found
}

/** RFC 4648 6, without padding. */
export function writeBase32(bytes: Uint8Array): string {
  let text = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    bits += 8
    for (; bits >= base32Bits; bits -= base32Bits) text += base32.charAt((held >> (bits - base32Bits)) & 31)
  }
  return bits === 0 ? text : text + base32.charAt((held << (base32Bits - bits)) & 31)
}

/** Returns the URI that authenticator programs read from a QR code. */
export function formatOtpauthUri(secret: Uint8Array, name: string, issuer: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(name)}`
  return `otpauth://totp/${label}?secret=${writeBase32(secret)}&issuer=${encodeURIComponent(issuer)}`
}
