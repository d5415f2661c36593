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

/** Content format of a list of links [RFC 6690]. */
export const linkFormat = 40

/** Class and detail of a code: `code(2, 5)` is 2.05. */
export function code(klass: number, detail: number): number {
  return (klass << 5) | detail
}

/** Returns a code as text: `2.05`. */
export function formatCode(value: number): string {
  return `${value >> 5}.${String(value & 31).padStart(2, '0')}`
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
  const klass = messageCode >> 5
  const isEmpty = messageCode === 0
  if (tokenBytes > maxTokenBytes || klass === 1 || klass === 6 || klass === 7) return toRejected(type, messageId)
  if (isEmpty && datagram.length > headerBytes) return toRejected(type, messageId)
  if (headerBytes + tokenBytes > datagram.length) return toRejected(type, messageId)
  // A copy: an observation keeps it.
  const token = tokenBytes === 0 ? empty : Buffer.from(datagram.subarray(headerBytes, headerBytes + tokenBytes))
  const rest = readOptions(datagram, headerBytes + tokenBytes)
  if (rest === undefined) return toRejected(type, messageId)
  return { message: { type, code: messageCode, messageId, token, options: rest.options, payload: rest.payload } }
}

function toRejected(type: CoapType, messageId: number): CoapReading {
  return { isRejected: true, type, messageId }
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
    // [3.1] 13 and 14: the value follows in one or two bytes; 15 is reserved.
    const deltaBytes = countExtendedBytes(head >> 4)
    const lengthBytes = countExtendedBytes(head & 15)
    const valueAt = at + deltaBytes + lengthBytes
    if (valueAt > datagram.length || found.length >= maxOptions) return undefined
    number += readExtended(datagram, at, head >> 4)
    const end = valueAt + readExtended(datagram, at + deltaBytes, head & 15)
    if (end > datagram.length || number > 0xffff) return undefined
    found.push({ number, value: datagram.subarray(valueAt, end) })
    at = end
  }
  return { options: found, payload: empty }
}

/** 15 is reserved: more bytes than any datagram has. */
function countExtendedBytes(nibble: number): number {
  if (nibble < 13) return 0
  return nibble === 15 ? Infinity : nibble - 12
}

function readExtended(datagram: Buffer, at: number, nibble: number): number {
  if (nibble < 13) return nibble
  return nibble === 13 ? datagram.readUInt8(at) + 13 : datagram.readUInt16BE(at) + 269
}

export function writeMessage({
  type,
  code: messageCode,
  messageId,
  token,
  options: list,
  payload,
}: CoapMessage): Buffer {
  const sorted = list.length < 2 ? list : list.toSorted((one, other) => one.number - other.number)
  let bytes = headerBytes + token.length + (payload.length > 0 ? 1 + payload.length : 0)
  let before = 0
  for (const { number, value } of sorted) {
    bytes +=
      1 + countExtendedBytes(toNibble(number - before)) + countExtendedBytes(toNibble(value.length)) + value.length
    before = number
  }
  // One buffer of the right size: joining parts took longer than all the rest of a reply.
  const message = Buffer.allocUnsafe(bytes)
  message.writeUInt8((version << 6) | (type << 4) | token.length, 0)
  message.writeUInt8(messageCode, 1)
  message.writeUInt16BE(messageId, 2)
  token.copy(message, headerBytes)
  let at = headerBytes + token.length
  before = 0
  for (const { number, value } of sorted) {
    at = writeOption(message, at, number - before, value)
    before = number
  }
  if (payload.length > 0) payload.copy(message, message.writeUInt8(payloadMarker, at))
  return message
}

/** Returns the offset behind it. */
function writeOption(message: Buffer, start: number, delta: number, value: Buffer): number {
  let at = message.writeUInt8((toNibble(delta) << 4) | toNibble(value.length), start)
  at = writeExtended(message, at, delta)
  at = writeExtended(message, at, value.length)
  return at + value.copy(message, at)
}

function toNibble(value: number): number {
  if (value < 13) return value
  return value < 269 ? 13 : 14
}

function writeExtended(message: Buffer, at: number, value: number): number {
  if (value < 13) return at
  return value < 269 ? message.writeUInt8(value - 13, at) : message.writeUInt16BE(value - 269, at)
}

/** [3.2] With as few bytes as the number needs. */
export function createUintOption(number: number, value: number): CoapOption {
  const bytes: number[] = []
  for (let left = value; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256)
  return { number, value: Buffer.from(bytes) }
}

export function readUint(message: CoapMessage, number: number): number | undefined {
  const value = findOption(message, number)
  if (value === undefined || value.length > 4) return undefined
  let result = 0
  for (const octet of value) result = result * 256 + octet
  return result
}

function findOption({ options: list }: CoapMessage, number: number): Buffer | undefined {
  for (const option of list) if (option.number === number) return option.value
  return undefined
}

/** Undefined: one of them is not UTF-8. */
export function readTexts({ options: list }: CoapMessage, number: number): readonly string[] | undefined {
  const texts: string[] = []
  for (const option of list) {
    if (option.number !== number) continue
    const text = decodeText(option.value)
    if (text === undefined) return undefined
    texts.push(text)
  }
  return texts
}

/** Returns path and query of a request as received, which identify the blocks of one body. Few requests need it. */
export function readTarget(request: CoapMessage): string {
  const [path = [], queries = []] = [readTexts(request, options.uriPath), readTexts(request, options.uriQuery)]
  return `${path.join('/')}?${queries.join('&')}`
}

/** Up to this length a loop over ASCII is faster than the call of a decoder. */
const shortTextBytes = 24

function decodeText(bytes: Buffer): string | undefined {
  if (bytes.length <= shortTextBytes) {
    let text = ''
    let isAscii = true
    for (const octet of bytes) {
      if (octet === 0 || octet >= 0x80) {
        isAscii = false
        break
      }
      text += String.fromCharCode(octet)
    }
    if (isAscii) return text
  }
  const text = bytes.toString('utf8')
  return text.includes('\ufffd') || text.includes('\0') ? undefined : text
}

/** [RFC 7959 2.2] */
export interface Block {
  readonly number: number
  readonly hasMore: boolean
  /** Size of a block. */
  readonly bytes: number
}

/** Undefined: there is none. `'bad'`: size exponent 7, which is reserved. */
export function readBlock(message: CoapMessage, number: number): Block | 'bad' | undefined {
  if (findOption(message, number) === undefined) return undefined
  const value = readUint(message, number)
  if (value === undefined) return 'bad'
  if ((value & 7) === 7 || value > 0xffffff) return 'bad'
  return { number: value >> 4, hasMore: (value & 8) !== 0, bytes: 16 << (value & 7) }
}

export function createBlockOption(number: number, block: Block): CoapOption {
  const exponent = Math.log2(block.bytes) - 4
  return createUintOption(number, (block.number << 4) | (block.hasMore ? 8 : 0) | exponent)
}
