// A device that speaks CoAP, by the tables of RFC 7252: an independent implementation, so that errors of the codec of the gateway
// are found.

const numbers = { observe: 6, locationPath: 8, uriPath: 11, format: 12, query: 15, accept: 17, block2: 23, block1: 27 }
const types = ['con', 'non', 'ack', 'rst'] as const

/** Number, more flag, and exponent of the size. */
export type BlockParts = readonly [number: number, hasMore: boolean, exponent: number]

export interface CoapMessage {
  readonly type: (typeof types)[number]
  /** `2.05`; `0.01` is GET. */
  readonly code: string
  readonly messageId: number
  readonly token: string
  readonly path: string
  readonly query: string
  readonly location: readonly string[]
  readonly observe: number | undefined
  readonly format: number | undefined
  readonly accept: number | undefined
  readonly block1: BlockParts | undefined
  readonly block2: BlockParts | undefined
  readonly payload: Buffer
}

export interface CoapContent {
  readonly format?: number
  readonly payload?: string | Buffer
  readonly observe?: number
  readonly block1?: BlockParts
  readonly block2?: BlockParts
}

interface DeviceMessage {
  /** 0 confirmable (default), 2 acknowledgement, 3 reset. */
  readonly type?: number
  readonly code: number
  readonly messageId: number
  readonly token?: Buffer
  readonly options?: readonly [number, Buffer][]
  readonly payload?: Buffer
}

interface DeviceResponse {
  readonly type: number
  readonly messageId: number
  readonly request: CoapMessage
  /** As in `2.05`. */
  readonly code: string
  readonly content: CoapContent
}

const empty = Buffer.alloc(0)

export class CoapDevice {
  readonly #send: (bytes: Buffer) => void
  readonly #take: () => readonly Buffer[]
  #nextMessageId = 1

  /** `take` returns the datagrams that arrived since the last call. */
  constructor(send: (bytes: Buffer) => void, take: () => readonly Buffer[]) {
    this.#send = send
    this.#take = take
  }

  /** `method` is 1 to 4: GET, POST, PUT, DELETE. */
  request(method: number, path: string, query: string, body: string): void {
    const options: [number, Buffer][] = path.split('/').map((part) => [numbers.uriPath, Buffer.from(part)])
    for (const part of query.split('&').filter((text) => text !== ''))
      options.push([numbers.query, Buffer.from(decodeURIComponent(part))])
    const token = Buffer.of(1)
    this.#write({ code: method, messageId: this.#takeMessageId(), token, options, payload: Buffer.from(body) })
  }

  /** A confirmable GET. The option Observe precedes the path. */
  get(
    path: string,
    query: string,
    { token, observe, block2 }: { readonly token: number; readonly observe?: number; readonly block2?: BlockParts },
  ): void {
    const options: [number, Buffer][] = observe === undefined ? [] : [[numbers.observe, unsigned(observe)]]
    for (const part of path.split('/')) options.push([numbers.uriPath, Buffer.from(part)])
    for (const part of query.split('&')) options.push([numbers.query, Buffer.from(part)])
    if (block2 !== undefined) options.push([numbers.block2, blockValue(block2)])
    this.#write({ code: 1, messageId: this.#takeMessageId(), token: Buffer.of(token), options })
  }

  /** Responds in the acknowledgement. */
  respond(request: CoapMessage, code: string, content: CoapContent = {}): void {
    this.#writeResponse({ type: 2, messageId: request.messageId, request, code, content })
  }

  /** Responds in a separate message. */
  respondLater(request: CoapMessage, code: string, content: CoapContent = {}): void {
    this.#writeResponse({ type: 0, messageId: this.#takeMessageId(), request, code, content })
  }

  acknowledge({ messageId }: CoapMessage): void {
    this.#write({ type: 2, code: 0, messageId })
  }

  reset({ messageId }: CoapMessage): void {
    this.#write({ type: 3, code: 0, messageId })
  }

  /** The last message since the last call. */
  takeLast(): CoapMessage | undefined {
    return this.all().at(-1)
  }

  /** All messages since the last call. */
  all(): readonly CoapMessage[] {
    return this.#take().map(read)
  }

  #writeResponse({ type, messageId, request, code, content }: DeviceResponse): void {
    const [major = 0, minor = 0] = code.split('.').map(Number)
    const options: [number, Buffer][] = []
    if (content.observe !== undefined) options.push([numbers.observe, unsigned(content.observe)])
    if (content.format !== undefined) options.push([numbers.format, unsigned(content.format)])
    if (content.block2 !== undefined) options.push([numbers.block2, blockValue(content.block2)])
    if (content.block1 !== undefined) options.push([numbers.block1, blockValue(content.block1)])
    const payload = Buffer.from(content.payload ?? '')
    const token = Buffer.from(request.token, 'hex')
    this.#write({ type, code: (major << 5) | minor, messageId, token, options, payload })
  }

  #write(message: DeviceMessage): void {
    const { type = 0, code, messageId, token = empty, options = [], payload = empty } = message
    const parts: Buffer[] = [Buffer.of(0x40 | (type << 4) | token.length, code, messageId >> 8, messageId & 255), token]
    let last = 0
    for (const [number, value] of options) {
      parts.push(optionHead(number - last, value.length), value)
      last = number
    }
    if (payload.length > 0) parts.push(Buffer.of(0xff), payload)
    this.#send(Buffer.concat(parts))
  }

  #takeMessageId(): number {
    return this.#nextMessageId++
  }
}

/** For lengths below 269. */
function optionHead(delta: number, length: number): Buffer {
  const more = [delta, length].filter((value) => value >= 13).map((value) => value - 13)
  return Buffer.of((Math.min(delta, 13) << 4) | Math.min(length, 13), ...more)
}

function unsigned(value: number): Buffer {
  const text = value === 0 ? '' : value.toString(16)
  return Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex')
}

function blockValue([number, hasMore, exponent]: BlockParts): Buffer {
  return unsigned((number << 4) | (hasMore ? 8 : 0) | exponent)
}

function read(bytes: Buffer): CoapMessage {
  const [first = 0, code = 0] = bytes
  const tokenEnd = 4 + (first & 15)
  const found = new Map<number, Buffer[]>()
  let at = tokenEnd
  let number = 0
  while (at < bytes.length && bytes[at] !== 0xff) {
    const head = bytes[at++] ?? 0
    const extended = (nibble: number): number => {
      if (nibble < 13) return nibble
      if (nibble === 13) return (bytes[at++] ?? 0) + 13
      at += 2
      return bytes.readUInt16BE(at - 2) + 269
    }
    number += extended(head >> 4)
    const length = extended(head & 15)
    found.set(number, [...(found.get(number) ?? []), bytes.subarray(at, at + length)])
    at += length
  }
  const texts = (option: number): string[] => (found.get(option) ?? []).map(String)
  const value = (option: number): number | undefined => {
    const octets = found.get(option)?.[0]
    return octets === undefined ? undefined : octets.length === 0 ? 0 : octets.readUIntBE(0, octets.length)
  }
  const block = (option: number): BlockParts | undefined => {
    const packed = value(option)
    return packed === undefined ? undefined : [packed >> 4, (packed & 8) !== 0, packed & 7]
  }
  return {
    type: types[(first >> 4) & 3] ?? 'con',
    code: `${code >> 5}.${String(code & 31).padStart(2, '0')}`,
    messageId: bytes.readUInt16BE(2),
    token: bytes.subarray(4, tokenEnd).toString('hex'),
    path: `/${texts(numbers.uriPath).join('/')}`,
    query: texts(numbers.query).join('&'),
    location: texts(numbers.locationPath),
    observe: value(numbers.observe),
    format: value(numbers.format),
    accept: value(numbers.accept),
    block1: block(numbers.block1),
    block2: block(numbers.block2),
    payload: bytes.subarray(bytes[at] === 0xff ? at + 1 : bytes.length),
  }
}
