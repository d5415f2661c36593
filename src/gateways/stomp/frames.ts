// Encodes and decodes STOMP frames [STOMP 1.2, "STOMP Frames"; 1.0 and 1.1 where they differ].

export type StompVersion = '1.0' | '1.1' | '1.2'

export interface StompFrame {
  readonly command: string
  /** The headers. If a header is repeated, its first value counts. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export interface StompLimits {
  readonly maxHeaders: number
  /** Maximum bytes of one header line. */
  readonly maxHeaderBytes: number
  readonly maxBodyBytes: number
}

export type StompReading = { readonly frame: StompFrame } | { readonly problem: string }

const lineFeed = 10
const carriageReturn = 13
const maxCommandBytes = 32
const empty = Buffer.alloc(0)

const escapes: Readonly<Record<string, string>> = { '\\n': '\n', '\\c': ':', '\\\\': '\\', '\\r': '\r' }
const written: Readonly<Record<string, string>> = { '\n': '\\n', ':': '\\c', '\\': '\\\\', '\r': '\\r' }

/** Decodes frames from chunks of any size. Stops after a problem. */
export class StompDecoder {
  /** Negotiated version: headers are escaped from 1.1 on, `\r` from 1.2 on. */
  version: StompVersion = '1.0'
  readonly #limits: StompLimits
  #state: 'command' | 'headers' | 'body' | 'broken' = 'command'
  /** The received part of a line or body. */
  #parts: Buffer[] = []
  #bytes = 0
  #command = ''
  #headers = new Map<string, string>()
  #headerCount = 0
  /** Undefined: the body ends at the first NUL. */
  #bodyBytes: number | undefined

  constructor(limits: StompLimits) {
    this.#limits = limits
  }

  *read(chunk: Buffer): Generator<StompReading> {
    let at = 0
    while (at < chunk.length && this.#state !== 'broken') {
      const step = this.#state === 'body' ? this.#readBody(chunk, at) : this.#readLine(chunk, at)
      at = step.at
      if (step.reading === undefined) continue
      if ('problem' in step.reading) this.#state = 'broken'
      yield step.reading
    }
  }

  #readLine(chunk: Buffer, at: number): { readonly at: number; readonly reading?: StompReading | undefined } {
    const end = chunk.indexOf(lineFeed, at)
    const part = chunk.subarray(at, end < 0 ? chunk.length : end)
    const isCommand = this.#state === 'command'
    const maxBytes = isCommand ? maxCommandBytes : this.#limits.maxHeaderBytes
    if (this.#bytes + part.length > maxBytes + 1)
      return { at, reading: { problem: `a ${isCommand ? 'command' : 'header'} is longer than ${maxBytes} octets` } }
    this.#append(part)
    if (end < 0) return { at: chunk.length }
    const line = this.#take()
    const text = (line.at(-1) === carriageReturn ? line.subarray(0, -1) : line).toString()
    return { at: end + 1, reading: isCommand ? this.#beginFrame(text) : this.#readHeader(text) }
  }

  #beginFrame(command: string): undefined {
    // An end of line between frames is a heart-beat.
    if (command === '') return
    this.#command = command
    this.#headers = new Map()
    this.#headerCount = 0
    this.#state = 'headers'
  }

  #readHeader(line: string): StompReading | undefined {
    if (line === '') return this.#beginBody()
    const colon = line.indexOf(':')
    if (colon <= 0) return { problem: `a header without a colon: ${JSON.stringify(line.slice(0, 80))}` }
    if (++this.#headerCount > this.#limits.maxHeaders)
      return { problem: `a frame has more than ${this.#limits.maxHeaders} headers` }
    const isPlain = this.version === '1.0' || this.#command === 'CONNECT' || this.#command === 'STOMP'
    const name = isPlain ? line.slice(0, colon) : unescapeText(line.slice(0, colon), this.version)
    const value = isPlain ? line.slice(colon + 1) : unescapeText(line.slice(colon + 1), this.version)
    if (name === undefined || value === undefined) return { problem: 'a header has an undefined escape sequence' }
    // 1.0 allows blanks around both [STOMP 1.0, "Frames"].
    const [key, text] = this.version === '1.0' ? [name.trim(), value.trim()] : [name, value]
    if (!this.#headers.has(key)) this.#headers.set(key, text)
    return undefined
  }

  #beginBody(): StompReading | undefined {
    this.#state = 'body'
    const length = this.#headers.get('content-length')
    this.#bodyBytes = length === undefined ? undefined : Number(length)
    if (length !== undefined && !/^\d{1,10}$/.test(length)) return { problem: 'content-length is not a number' }
    if ((this.#bodyBytes ?? 0) > this.#limits.maxBodyBytes) return this.#tooLarge
    return undefined
  }

  get #tooLarge(): StompReading {
    return { problem: `a body is longer than ${this.#limits.maxBodyBytes} octets` }
  }

  #readBody(chunk: Buffer, at: number): { readonly at: number; readonly reading?: StompReading } {
    const wanted = this.#bodyBytes
    if (wanted !== undefined && this.#bytes < wanted) {
      const part = chunk.subarray(at, at + wanted - this.#bytes)
      this.#append(part)
      return { at: at + part.length }
    }
    const end = wanted === undefined ? chunk.indexOf(0, at) : at
    const part = chunk.subarray(at, end < 0 ? chunk.length : end)
    if (this.#bytes + part.length > this.#limits.maxBodyBytes) return { at, reading: this.#tooLarge }
    this.#append(part)
    if (end < 0) return { at: chunk.length }
    if (chunk[end] !== 0) return { at, reading: { problem: 'a body is longer than its content-length' } }
    this.#state = 'command'
    return { at: end + 1, reading: { frame: { command: this.#command, headers: this.#headers, body: this.#take() } } }
  }

  /** Appends a copy, so that a small part does not keep a whole chunk in memory. */
  #append(part: Buffer): void {
    if (part.length === 0) return
    this.#parts.push(Buffer.from(part))
    this.#bytes += part.length
    if (this.#parts.length >= 64) this.#parts = [Buffer.concat(this.#parts)]
  }

  #take(): Buffer {
    const [first = empty] = this.#parts
    const whole = this.#parts.length > 1 ? Buffer.concat(this.#parts) : first
    this.#parts = []
    this.#bytes = 0
    return whole
  }
}

/** Undefined: the version has no such escape. */
function unescapeText(text: string, version: StompVersion): string | undefined {
  if (!text.includes('\\')) return text
  let isDefined = true
  const plain = text.replaceAll(/\\(?:.|$)/gs, (escape) => {
    const value = escape === '\\r' && version === '1.1' ? undefined : escapes[escape]
    isDefined &&= value !== undefined
    return value ?? ''
  })
  return isDefined ? plain : undefined
}

/** Headers that 1.0 cannot encode (with an end of line) are omitted. */
export function writeFrame(
  command: string,
  headers: readonly (readonly [string, string])[],
  body: Buffer,
  version: StompVersion,
): Buffer {
  let head = `${command}\n`
  for (const [name, value] of headers) {
    if (version === '1.0' || command === 'CONNECTED') {
      if (!/[\n\r]/.test(name + value) && !name.includes(':')) head += `${name}:${value}\n`
    } else head += `${escapeText(name, version)}:${escapeText(value, version)}\n`
  }
  return Buffer.concat([Buffer.from(`${head}\n`), body, Buffer.of(0)])
}

function escapeText(text: string, version: StompVersion): string {
  const plain = version === '1.1' ? text.replaceAll('\r', '') : text
  return plain.replaceAll(/[\\:\n\r]/g, (character) => written[character] ?? character)
}
