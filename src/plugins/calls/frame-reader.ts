// Decodes frames from chunks. Everything that comes from the process of a plugin is checked here.

import { hookNames, type HookName } from '../manifest/plugin-manifest.ts'
import { frameKinds, messageSources, type FrameFromProcess, type FrameToProcess } from './call-frames.ts'

const lengthBytes = 4
const noBytes: Buffer = Buffer.alloc(0)

/** A channel with such an error cannot be read any further. */
export class FrameError extends Error {
  override readonly name = 'FrameError'
}

/** Splits chunks into frames. A frame that is complete in its chunk is not copied. */
export class FrameReader {
  readonly #maxFrameBytes: number
  #rest = noBytes
  /** Chunks of an incomplete frame after `#rest`, and their bytes. */
  #chunks: Buffer[] = []
  #chunkBytes = 0

  constructor(maxFrameBytes: number) {
    this.#maxFrameBytes = maxFrameBytes
  }

  /** Calls `handle` with each complete frame. Throws a `FrameError` if a frame is too large, and what `handle` throws. */
  read(chunk: Buffer, handle: (frame: Buffer) => void): void {
    this.#chunks.push(chunk)
    this.#chunkBytes += chunk.length
    if (this.#rest.length >= lengthBytes && this.#rest.length + this.#chunkBytes < this.#readLength(this.#rest, 0))
      return
    const bytes =
      this.#rest.length === 0 && this.#chunks.length === 1 ? chunk : Buffer.concat([this.#rest, ...this.#chunks])
    this.#chunks = []
    this.#chunkBytes = 0
    let at = 0
    while (bytes.length - at >= lengthBytes) {
      const end = at + this.#readLength(bytes, at)
      if (end > bytes.length) break
      handle(bytes.subarray(at + lengthBytes, end))
      at = end
    }
    this.#rest = at === bytes.length ? noBytes : bytes.subarray(at)
  }

  /** With the length field. */
  #readLength(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at)
    if (length === 0 || length > this.#maxFrameBytes)
      throw new FrameError(`a frame of ${length} bytes; allowed are 1 to ${this.#maxFrameBytes}`)
    return lengthBytes + length
  }
}

export function decodeFromProcess(frame: Buffer): FrameFromProcess {
  const fields = new FieldReader(frame)
  const kind = fields.readUint8()
  const id = fields.readUint32()
  switch (kind) {
    case frameKinds.pass:
      fields.expectEnd()
      return { kind: 'pass', callId: id }
    case frameKinds.answer:
      return decodeAnswer(id, fields.readRest())
    case frameKinds.change:
      return decodeChange(id, fields)
    case frameKinds.failure:
      return { kind: 'failure', callId: id, text: fields.readRest() }
    case frameKinds.request:
      return { kind: 'request', requestId: id, request: parseJson(fields.readRest()) }
    case frameKinds.publishRequest: {
      const depth = fields.readUint8()
      const flags = fields.readUint8()
      const topic = fields.readText()
      const { qos, retain } = decodeFlags(flags)
      return { kind: 'publish-request', requestId: id, depth, topic, qos, retain, payload: fields.readBytes() }
    }
    default:
      throw new FrameError(`a frame of the unknown kind ${kind}`)
  }
}

export function decodeToProcess(frame: Buffer): FrameToProcess {
  const fields = new FieldReader(frame)
  const kind = fields.readUint8()
  const id = fields.readUint32()
  switch (kind) {
    case frameKinds.client:
      return { kind: 'client', client: id, info: parseJson(fields.readRest()) }
    case frameKinds.forgetClient:
      fields.expectEnd()
      return { kind: 'forget-client', client: id }
    case frameKinds.call: {
      const hook = readHook(fields)
      const client = fields.readUint32()
      return { kind: 'call', callId: id, hook, client, fields: parseJson(fields.readRest()) }
    }
    case frameKinds.publishCall:
      return decodePublishCall(id, fields)
    case frameKinds.response: {
      const { error, value } = parseJson(fields.readRest()) as { readonly error?: string; readonly value?: unknown }
      return { kind: 'response', requestId: id, error, value }
    }
    default:
      throw new FrameError(`a frame of the unknown kind ${kind}`)
  }
}

function decodePublishCall(callId: number, fields: FieldReader): FrameToProcess {
  const hook = readHook(fields)
  const client = fields.readUint32()
  const flags = fields.readUint8()
  const source = messageSources[fields.readUint8()]
  if (source === undefined) throw new FrameError('a message of an unknown source')
  const depth = fields.readUint8()
  const delaySeconds = fields.readUint32()
  const topic = fields.readText()
  const properties = fields.readText()
  const { qos, retain } = decodeFlags(flags & 7)
  const payload = fields.readBytes()
  const dup = (flags & 8) !== 0
  return {
    kind: 'publish-call',
    callId,
    hook,
    client,
    message: { topic, payload, qos, retain, dup, delaySeconds, source, depth, properties },
  }
}

/** Invalid JSON is a failure of its call: the frame itself is complete. */
function decodeAnswer(callId: number, json: string): FrameFromProcess {
  try {
    return { kind: 'answer', callId, value: JSON.parse(json) as unknown }
  } catch {
    return { kind: 'failure', callId, text: 'its answer is not JSON' }
  }
}

function decodeChange(callId: number, fields: FieldReader): FrameFromProcess {
  const present = fields.readUint8()
  const flags = fields.readUint8()
  const topic = fields.readText()
  const properties = fields.readText()
  const payload = fields.readBytes()
  if (present > 31 || flags > 6 || (flags & 3) === 3)
    return { kind: 'failure', callId, text: 'its answer has an invalid QoS' }
  const { qos, retain } = decodeFlags(flags)
  const change = {
    topic: (present & 1) === 0 ? undefined : topic,
    payload: (present & 2) === 0 ? undefined : payload,
    qos: (present & 4) === 0 ? undefined : qos,
    retain: (present & 8) === 0 ? undefined : retain,
    properties: (present & 16) === 0 ? undefined : properties,
  }
  return { kind: 'change', callId, change }
}

function decodeFlags(flags: number): { readonly qos: 0 | 1 | 2; readonly retain: boolean } {
  const qos = flags & 3
  if (qos === 3 || flags > 7) throw new FrameError('a message with an invalid QoS')
  return { qos: qos as 0 | 1 | 2, retain: (flags & 4) !== 0 }
}

function readHook(fields: FieldReader): HookName {
  const hook = hookNames[fields.readUint8()]
  if (hook === undefined) throw new FrameError('a call of an unknown hook')
  return hook
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new FrameError('a frame whose text is not JSON')
  }
}

/** Reads the fields of one frame in order. */
class FieldReader {
  readonly #frame: Buffer
  #at = 0

  constructor(frame: Buffer) {
    this.#frame = frame
  }

  readUint8(): number {
    return this.#frame[this.#advance(1)]
  }

  readUint32(): number {
    return this.#frame.readUInt32BE(this.#advance(4))
  }

  readText(): string {
    const bytes = this.readUint32()
    const start = this.#advance(bytes)
    return this.#frame.toString('utf8', start, start + bytes)
  }

  readRest(): string {
    return this.#frame.toString('utf8', this.#at)
  }

  readBytes(): Buffer {
    return this.#frame.subarray(this.#at)
  }

  expectEnd(): void {
    if (this.#at !== this.#frame.length) throw new FrameError('a frame that is too long')
  }

  /** Returns the position before the field. */
  #advance(bytes: number): number {
    const start = this.#at
    if (bytes > this.#frame.length - start) throw new FrameError('a frame that is too short')
    this.#at = start + bytes
    return start
  }
}
