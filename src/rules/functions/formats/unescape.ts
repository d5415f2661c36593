// The SQL function `unescape`.

import { RuleError } from '../../../values/index.ts'

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\', n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', "'": "'", '"': '"', '?': '?', a: '\u0007',
} // oxfmt-ignore

const hexDigits = /[\dA-Fa-f]+/y
const largestCodePoint = 0x10_ff_ff

/** Resolves the escapes of C. Throws RuleError for unknown escapes. A backslash at the end stays. */
export function unescape(text: string): string {
  let result = ''
  let at = 0
  for (let next = text.indexOf('\\'); next !== -1 && next < text.length - 1; next = text.indexOf('\\', at)) {
    const letter = text[next + 1]
    result += text.slice(at, next)
    at = next + 2
    if (letter === 'x') {
      const digits = readHexDigits(text, at)
      result += toCharacter(digits)
      at += digits.length
    } else if (Object.hasOwn(escapes, letter)) result += escapes[letter]
    else throw new RuleError(`unescape: \\${letter} is not an escape`)
  }
  return result + text.slice(at)
}

function readHexDigits(text: string, at: number): string {
  hexDigits.lastIndex = at
  const digits = hexDigits.exec(text)?.[0]
  if (digits === undefined) throw new RuleError('unescape: \\x needs hexadecimal digits')
  return digits
}

function toCharacter(digits: string): string {
  const code = digits.length > 16 ? Infinity : Number.parseInt(digits, 16)
  const isSurrogate = code >= 0xd8_00 && code <= 0xdf_ff
  if (code > largestCodePoint || isSurrogate)
    throw new RuleError(`unescape: \\x${digits.slice(0, 16)} is not a character`)
  return String.fromCodePoint(code)
}
