// Base62: bytes as one number with the digits 0-9, A-Z, a-z. Each zero byte at the beginning is one digit 0.

import { RuleError } from '../../../values/index.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** A number of up to 2 ** leafLevel digits is converted at once: it is exact as a float. */
const leafLevel = 3
const leafDigits = 2 ** leafLevel
const bitsPerDigit = Math.log2(62)

/** Limits the work, which grows faster than the number of bytes. */
export const maxBase62Bytes = 16_384
const maxDigits = Math.ceil((maxBase62Bytes * 8) / bitsPerDigit) + 1

export function encodeBase62(bytes: Uint8Array): string {
  if (bytes.length > maxBase62Bytes)
    throw new RuleError(`base62_encode: the value has more than ${maxBase62Bytes} bytes`)
  const firstOther = bytes.findIndex((byte) => byte !== 0)
  const zeros = firstOther < 0 ? bytes.length : firstOther
  if (zeros === bytes.length) return '0'.repeat(zeros)
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + zeros, bytes.length - zeros).toString('hex')
  const digits = ((bytes.length - zeros) * 8) / bitsPerDigit + 1
  const level = Math.max(leafLevel, Math.ceil(Math.log2(digits)))
  return '0'.repeat(zeros) + formatDigits(BigInt(`0x${hex}`), level).replace(/^0+/, '')
}

export function decodeBase62(text: string): Uint8Array {
  if (!/^[0-9A-Za-z]*$/.test(text)) throw new RuleError('base62_decode: the text is not base62')
  if (text.length > maxDigits) throw new RuleError(`base62_decode: the text has more than ${maxDigits} digits`)
  const zeros = text.length - text.replace(/^0+/, '').length
  if (zeros === text.length) return Buffer.alloc(zeros)
  const hex = parseDigits(text.slice(zeros)).toString(16)
  return Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')])
}

/** Returns 62 ** (2 ** level), the smallest number with more than 2 ** level digits. */
function computePower(level: number): bigint {
  return 62n ** BigInt(2 ** level)
}

/** Returns `value` with 2 ** level digits: divides it into an upper and a lower half until these are small. */
function formatDigits(value: bigint, level: number): string {
  if (level > leafLevel) {
    const divisor = computePower(level - 1)
    const upper = value / divisor
    return formatDigits(upper, level - 1) + formatDigits(value - upper * divisor, level - 1)
  }
  let rest = Number(value)
  let digits = ''
  for (let count = 0; count < leafDigits; count++) {
    digits = alphabet[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

function parseDigits(digits: string): bigint {
  if (digits.length <= leafDigits) {
    let value = 0
    for (const digit of digits) value = value * 62 + alphabet.indexOf(digit)
    return BigInt(value)
  }
  const lower = Math.ceil(digits.length / 2)
  const upper = parseDigits(digits.slice(0, digits.length - lower))
  return upper * 62n ** BigInt(lower) + parseDigits(digits.slice(-lower))
}
