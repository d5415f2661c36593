// Encodes and decodes CoAP messages [RFC 7252 section 3].

export const coapTypes = { con: 0, non: 1, ack: 2, rst: 3 } as const
export type CoapType = 0 | 1 | 2 | 3

export const options = {
  ifMatch: 1,
  uriHost: 3,
  etag: 4,
  ifNoneMatch: 5,
  observe: 6,
  uriPort: 7,
  locationPath: 8,
  uriPath: 11,
  contentFormat: 12,
  maxAge: 14,
  uriQuery: 15,
  accept: 17,
  locationQuery: 20,
  block2: 23,
  block1: 27,
  size2: 28,
  proxyUri: 35,
  proxyScheme: 39,
  size1: 60,
} as const

/** Class and detail of a code: `code(2, 5)` is 2.05. */
export function code(klass: number, detail: number): number {
  return (klass << 5) | detail
}

export const methods = { get: 1, post: 2, put: 3, delete: 4 } as const

export interface CoapOption {
  readonly number: number
  readonly value: Buffer
}

export interface CoapMessage {
  readonly type: CoapType
  readonly code: number
  readonly messageId: number
  readonly token: Buffer
  /** In the order of their numbers. */
  readonly options: readonly CoapOption[]
  readonly payload: Buffer
}

/** `isRejected`: an invalid message whose header allows a reset [4.2]. Undefined: not even that. */
export type CoapReading =
  | { readonly message: CoapMessage }
  | { readonly isRejected: true; readonly type: CoapType; readonly messageId: number }
  | undefined

const version = 1
const headerBytes = 4
const maxTokenBytes = 8
const payloadMarker = 0xff
const maxOptions = 64
const empty = Buffer.alloc(0)

export function readMessage(datagram: Buffer): CoapReading {
  if (datagram.length < headerBytes || datagram.readUInt8(0) >> 6 !== version) return undefined
  const first = datagram.readUInt8(0)
  const type = ((first >> 4) & 3) as CoapType
  const tokenBytes = first & 15
  const messageCode = datagram.readUInt8(1)
  const messageId = datagram.readUInt16BE(2)
  const rejected = { isRejected: true, type, messageId } as const
  const klass = messageCode >> 5
  const isEmpty = messageCode === 0
  if (tokenBytes > maxTokenBytes || klass === 1 || klass === 6 || klass === 7) return rejected
  if (isEmpty && datagram.length > headerBytes) return rejected
  if (headerBytes + tokenBytes > datagram.length) return rejected
  const token = Buffer.from(datagram.subarray(headerBytes, headerBytes + tokenBytes))
  const rest = readOptions(datagram, headerBytes + tokenBytes)
  if (rest === undefined) return rejected
  return { message: { type, code: messageCode, messageId, token, ...rest } }
}

function readOptions(
  datagram: Buffer,
  start: number,
): { readonly options: readonly CoapOption[]; readonly payload: Buffer } | undefined {
  const found: CoapOption[] = []
  let at = start
  let number = 0
  while (at < datagram.length) {
    const head = datagram.readUInt8(at++)
    if (head === payloadMarker)
      return at === datagram.length ? undefined : { options: found, payload: datagram.subarray(at) }
    const delta = readExtended(datagram, at, head >> 4)
    if (delta === undefined) return undefined
    const length = readExtended(datagram, delta.next, head & 15)
    if (length === undefined || length.next + length.value > datagram.length || found.length >= maxOptions)
      return undefined
    number += delta.value
    if (number > 0xffff) return undefined
    at = length.next + length.value
    found.push({ number, value: datagram.subarray(length.next, at) })
  }
  return { options: found, payload: empty }
}

/** [3.1] 13 and 14: the value follows in one or two bytes; 15 is reserved. */
function readExtended(datagram: Buffer, at: number, nibble: number): { value: number; next: number } | undefined {
  if (nibble < 13) return { value: nibble, next: at }
  if (nibble === 13) return at + 1 > datagram.length ? undefined : { value: datagram.readUInt8(at) + 13, next: at + 1 }
  if (nibble === 14 && at + 2 <= datagram.length) return { value: datagram.readUInt16BE(at) + 269, next: at + 2 }
  return undefined
}

export function writeMessage({
  type,
  code: messageCode,
  messageId,
  token,
  options: list,
  payload,
}: CoapMessage): Buffer {
  const head = Buffer.alloc(headerBytes)
  head.writeUInt8((version << 6) | (type << 4) | token.length, 0)
  head.writeUInt8(messageCode, 1)
  head.writeUInt16BE(messageId, 2)
  const parts: Buffer[] = [head, token]
  let before = 0
  for (const { number, value } of list.toSorted((one, other) => one.number - other.number)) {
    const delta = writeExtended(number - before)
    const length = writeExtended(value.length)
    parts.push(Buffer.of((delta.nibble << 4) | length.nibble), delta.bytes, length.bytes, value)
    before = number
  }
  if (payload.length > 0) parts.push(Buffer.of(payloadMarker), payload)
  return Buffer.concat(parts)
}

function writeExtended(value: number): { readonly nibble: number; readonly bytes: Buffer } {
  if (value < 13) return { nibble: value, bytes: empty }
  if (value < 269) return { nibble: 13, bytes: Buffer.of(value - 13) }
  return { nibble: 14, bytes: Buffer.of((value - 269) >> 8, (value - 269) & 0xff) }
}

/** [3.2] With as few bytes as the number needs. */
export function uintOption(number: number, value: number): CoapOption {
  const bytes: number[] = []
  for (let left = value; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256)
  return { number, value: Buffer.from(bytes) }
}

export function uintOf(message: CoapMessage, number: number): number | undefined {
  const found = message.options.find((option) => option.number === number)
  if (found === undefined || found.value.length > 4) return undefined
  return found.value.reduce((value, octet) => value * 256 + octet, 0)
}

/** Undefined: one of them is not UTF-8. */
export function textsOf(message: CoapMessage, number: number): readonly string[] | undefined {
  const texts = message.options.filter((option) => option.number === number).map(({ value }) => value.toString('utf8'))
  return texts.some((text) => text.includes('\ufffd') || text.includes('\0')) ? undefined : texts
}

/** [RFC 7959 2.2] */
export interface Block {
  readonly number: number
  readonly hasMore: boolean
  /** Size of a block. */
  readonly bytes: number
}

/** Undefined: there is none. `'bad'`: size exponent 7, which is reserved. */
export function blockOf(message: CoapMessage, number: number): Block | 'bad' | undefined {
  const value = uintOf(message, number)
  if (value === undefined) return message.options.some((option) => option.number === number) ? 'bad' : undefined
  if ((value & 7) === 7 || value > 0xffffff) return 'bad'
  return { number: value >> 4, hasMore: (value & 8) !== 0, bytes: 16 << (value & 7) }
}

export function blockOption(number: number, block: Block): CoapOption {
  const exponent = Math.log2(block.bytes) - 4
  return uintOption(number, (block.number << 4) | (block.hasMore ? 8 : 0) | exponent)
}
