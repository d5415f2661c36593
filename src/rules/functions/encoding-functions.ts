// Hashes, encodings and compression.

import {
  toBuffer,
  toBytes,
  decodeJson,
  encodeJson,
  isText,
  getKind,
  maxCreatedBytes,
  RuleBits,
  RuleError,
  type RuleText,
  type RuleValue,
  toRuleText,
} from '../../values/index.ts'
import type { CompressionFormat } from './host-functions.ts'
import type { Call, FunctionDefinition, FunctionDefinitions } from './rule-function.ts'
import { decodeBase62, encodeBase62 } from './formats/base62.ts'
import { decodeTerm, encodeTerm } from './formats/erlang-term-format.ts'

function hash(algorithm: string, data: RuleValue, { host, budget }: Call): RuleValue {
  const bytes = data as Uint8Array
  budget.countRead(4 * bytes.length)
  const digest = host.hash(toAlgorithmName(algorithm), bytes)
  if (digest === undefined) throw new RuleError(`hash: the algorithm ${algorithm.slice(0, 40)} is not known`)
  return toBuffer(digest).toString('hex')
}

/** `sha` is an old name, and names are also written with underscores: sha3_256. */
function toAlgorithmName(name: string): string {
  return name === 'sha' ? 'sha1' : name.toLowerCase().replaceAll('_', '-')
}

function createHashFunction(algorithm: string, description: string): FunctionDefinition {
  return {
    signatures: ['data: bytes'],
    returns: 'text',
    description,
    run: ([data], call) => hash(algorithm, data, call),
  }
}

/** Work of base62 for each byte, relative to reading it. */
const base62Work = 64

const base64Text = /^[A-Za-z\d+/]*={0,2}$/

/** White space is skipped. Everything else must be whole groups of four characters. */
function decodeBase64Text(text: string): RuleText {
  const packed = text.replaceAll(/[\t\n\r ]/g, '')
  if (packed.length % 4 !== 0 || !base64Text.test(packed)) throw new RuleError('base64_decode: the text is not base64')
  return toRuleText(Buffer.from(packed, 'base64'))
}

/** Bits that fill no byte are written as a number: with leading zeros up to the next hexadecimal digit. */
function encodeHex(value: RuleValue, name: string, { budget }: Call): string {
  if (value instanceof RuleBits) return encodeHexBits(value)
  if (!isText(value)) throw new RuleError(`${name}: the value must be a text, not ${getKind(value)}`)
  budget.countCreated(2 * value.length)
  return toBuffer(toBytes(value)).toString('hex').toUpperCase()
}

function encodeHexBits({ bytes, length }: RuleBits): string {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  const digits = Math.ceil(length / 4)
  const padded = bits.slice(0, length).padStart(4 * digits, '0')
  return padded.replaceAll(/.{4}/g, (digit) => Number.parseInt(digit, 2).toString(16)).toUpperCase()
}

/** Decodes hexadecimal text. If the number of digits is odd, the first digit is a separate byte. */
function decodeHex([text, prefix]: readonly RuleValue[]): RuleText {
  const digits = withoutPrefix(text as string, prefix)
  if (!/^[\dA-Fa-f]*$/.test(digits)) throw new RuleError('hexstr2bin: the text is not hexadecimal')
  return toRuleText(Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex'))
}

function withoutPrefix(text: string, prefix: RuleValue): string {
  if (prefix === undefined) return text
  if (text.startsWith(prefix as string)) return text.slice((prefix as string).length)
  throw new RuleError('hexstr2bin: the text does not start with the prefix')
}

function createCompression(format: CompressionFormat, description: string): FunctionDefinition {
  return {
    signatures: ['data: bytes'],
    returns: 'text',
    description,
    run: ([data], { host, budget }) => {
      const bytes = data as Uint8Array
      budget.countCreated(2 * bytes.length)
      return toRuleText(host.compress(format, bytes))
    },
  }
}

function createDecompression(format: CompressionFormat, description: string): FunctionDefinition {
  return {
    signatures: ['data: bytes'],
    returns: 'text',
    description,
    run: ([data], { host, budget }) => {
      const bytes = host.decompress(format, data as Uint8Array, maxCreatedBytes)
      budget.countCreated(bytes.length)
      return toRuleText(bytes)
    },
  }
}

export const encodingFunctions: FunctionDefinitions = {
  md5: createHashFunction('md5', 'MD5 as lower case hexadecimal digits.'),
  sha: createHashFunction('sha1', 'SHA-1 as lower case hexadecimal digits.'),
  sha256: createHashFunction('sha256', 'SHA-256 as lower case hexadecimal digits.'),
  hash: {
    signatures: ['algorithm: text, data: bytes'],
    returns: 'text',
    description: 'Hash with a named algorithm, for example `sha512`, as lower case hexadecimal digits.',
    run: ([algorithm, data], call) => hash(algorithm as string, data, call),
  },
  base64_encode: {
    signatures: ['data: bytes'],
    returns: 'text',
    description: 'Base64 of the bytes of a text.',
    run: ([data], { budget }) => {
      budget.countCreated(2 * (data as Uint8Array).length)
      return toBuffer(data as Uint8Array).toString('base64')
    },
  },
  base64_decode: {
    signatures: ['text: text'],
    returns: 'text',
    description: 'Bytes of a base64 text.',
    run: ([text], { budget }) => {
      budget.countCreated((text as string).length)
      return decodeBase64Text(text as string)
    },
  },
  base62_encode: {
    signatures: ['data: bytes'],
    returns: 'text',
    description: 'Base62 (0-9, A-Z, a-z) of the bytes of a text, which are read as one number. At most 16384 bytes.',
    run: ([data], { budget }) => {
      const bytes = data as Uint8Array
      budget.countRead(base62Work * bytes.length)
      budget.countCreated(2 * bytes.length)
      return encodeBase62(bytes)
    },
  },
  base62_decode: {
    signatures: ['text: text'],
    returns: 'text',
    description: 'Bytes of a base62 text.',
    run: ([text], { budget }) => {
      budget.countRead(base62Work * (text as string).length)
      return toRuleText(decodeBase62(text as string))
    },
  },
  json_encode: {
    signatures: ['value: any'],
    returns: 'text',
    description: 'JSON of a value. Floats keep a decimal: `2.0`.',
    run: ([value], { budget }) => encodeJson(value, budget),
  },
  json_decode: {
    signatures: ['text: any'],
    returns: 'any',
    description: 'Value of a JSON text.',
    run: ([text], { budget }) => {
      if (!isText(text)) throw new RuleError(`json_decode: the value must be a text, not ${getKind(text)}`)
      budget.countCreated(text.length)
      return decodeJson(text)
    },
  },
  bin2hexstr: {
    signatures: ['data: any', 'data: any, prefix: text'],
    returns: 'text',
    description: 'Upper case hexadecimal digits of the bytes, after an optional prefix.',
    run: ([data, prefix = ''], call) => (prefix as string) + encodeHex(data, 'bin2hexstr', call),
  },
  hexstr2bin: {
    signatures: ['text: text', 'text: text, prefix: text'],
    returns: 'text',
    description: 'Bytes of hexadecimal digits, after an optional prefix.',
    run: (args, { budget }) => {
      budget.countCreated((args[0] as string).length)
      return decodeHex(args)
    },
  },
  sqlserver_bin2hexstr: {
    signatures: ['data: any'],
    returns: 'text',
    description: 'Upper case hexadecimal digits after `0x`.',
    run: ([data], call) => `0x${encodeHex(data, 'sqlserver_bin2hexstr', call)}`,
  },
  gzip: createCompression('gzip', 'Data compressed as gzip.'),
  gunzip: createDecompression('gzip', 'Data decompressed from gzip.'),
  zip: createCompression('deflate-raw', 'Data compressed without header and checksum.'),
  unzip: createDecompression('deflate-raw', 'Data decompressed that has no header and checksum.'),
  zip_compress: createCompression('zlib', 'Data compressed as zlib.'),
  zip_uncompress: createDecompression('zlib', 'Data decompressed from zlib.'),
  term_encode: {
    signatures: ['value: any'],
    returns: 'text',
    description: 'Value in the external term format of Erlang.',
    run: ([value], { budget }) => toRuleText(encodeTerm(value, budget)),
  },
  term_decode: {
    signatures: ['data: bytes'],
    returns: 'any',
    description: 'Value of data in the external term format of Erlang.',
    run: ([data], { budget }) => decodeTerm(data as Uint8Array, budget),
  },
}
