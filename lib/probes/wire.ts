// Encodes and decodes MQTT for probes of any broker. Sent packets may violate the standard on purpose; received packets are not
// validated.

import { packetTypes } from '../../src/protocol/index.ts'

export type ProbeVersion = 4 | 5

export interface Frame {
  /** 1 to 15, as in the first byte. */
  readonly type: number
  /** The four lower bits of the first byte. */
  readonly flags: number
  readonly body: Buffer
}

/** Returns a packet: first byte, length of the body, body. */
export function frame(firstByte: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const length: number[] = []
  let rest = body.length
  do {
    length.push((rest % 128) | (rest >= 128 ? 128 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Buffer.concat([Buffer.from([firstByte, ...length]), body])
}

export function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff])
}

/** Returns a text with its length before it. */
export function text(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value as Uint8Array)
  return Buffer.concat([uint16(bytes.length), bytes])
}

/** Returns a section of properties. They exist in 5.0 only; `parts` have at most 127 bytes. */
export function properties(version: ProbeVersion, ...parts: readonly Uint8Array[]): Buffer {
  if (version === 4) return Buffer.alloc(0)
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([content.length]), content])
}

export interface ConnectFields {
  readonly version: ProbeVersion
  readonly clientId?: string
  readonly cleanStart?: boolean
  readonly keepAliveSeconds?: number
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly will?: { readonly topic: string; readonly payload: string; readonly qos?: number; readonly retain?: boolean }
  readonly properties?: readonly Uint8Array[]
  /** Replaces the name and level of `version`. */
  readonly protocolName?: string
  readonly protocolLevel?: number
  /** Added to the connect flags. */
  readonly moreFlags?: number
}

export function connectFrame(fields: ConnectFields): Buffer {
  const { version, clientId = '', cleanStart = true, keepAliveSeconds = 0, username, password, will } = fields
  const flags =
    (cleanStart ? 2 : 0) |
    (will === undefined ? 0 : 4 | ((will.qos ?? 0) << 3) | (will.retain === true ? 32 : 0)) |
    (password === undefined ? 0 : 64) |
    (username === undefined ? 0 : 128) |
    (fields.moreFlags ?? 0)
  const parts = [
    text(fields.protocolName ?? 'MQTT'),
    Buffer.from([fields.protocolLevel ?? version, flags]),
    uint16(keepAliveSeconds),
    properties(version, ...(fields.properties ?? [])),
    text(clientId),
  ]
  if (will !== undefined) parts.push(properties(version), text(will.topic), text(will.payload))
  if (username !== undefined) parts.push(text(username))
  if (password !== undefined) parts.push(text(password))
  return frame(packetTypes.connect << 4, ...parts)
}

export interface PublishFrameFields {
  readonly version: ProbeVersion
  readonly topic: string
  readonly payload?: string | Uint8Array
  readonly qos?: number
  readonly packetId?: number
  readonly retain?: boolean
  readonly dup?: boolean
  readonly properties?: readonly Uint8Array[]
}

export function publishFrame(fields: PublishFrameFields): Buffer {
  const { version, topic, payload = '', qos = 0, packetId = 1, retain = false, dup = false } = fields
  const firstByte = (packetTypes.publish << 4) | (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0)
  const id = qos > 0 ? uint16(packetId) : Buffer.alloc(0)
  return frame(
    firstByte,
    text(topic),
    id,
    properties(version, ...(fields.properties ?? [])),
    Buffer.from(payload as string),
  )
}

export function subscribeFrame(
  version: ProbeVersion,
  filters: readonly (readonly [filter: string, options: number])[],
  packetId = 1,
): Buffer {
  const requests = filters.flatMap(([filter, options]) => [text(filter), Buffer.from([options])])
  return frame(0x82, uint16(packetId), properties(version), ...requests)
}

/** Returns a PUBACK, PUBREC, PUBREL or PUBCOMP with success. */
export function ackFrame(type: number, packetId: number): Buffer {
  return frame((type << 4) | (type === packetTypes.pubrel ? 2 : 0), uint16(packetId))
}

export function unsubscribeFrame(version: ProbeVersion, filter: string, packetId = 1): Buffer {
  return frame(0xa2, uint16(packetId), properties(version), text(filter))
}

export const pingreqFrame = frame(packetTypes.pingreq << 4)

export function disconnectFrame(): Buffer {
  return frame(packetTypes.disconnect << 4)
}

export interface ReceivedPublish {
  readonly topic: string
  readonly qos: number
  readonly retain: boolean
  readonly dup: boolean
  /** 0 at QoS 0. */
  readonly packetId: number
  /** The properties without their length; empty in 3.1.1. */
  readonly properties: Buffer
  readonly payload: Buffer
}

/**
 * Decodes a PUBLISH. Undefined: the frame is no PUBLISH, or ends too early. If the length of the properties is too large, everything
 * after it counts as properties.
 */
export function decodePublish(version: ProbeVersion, { type, flags, body }: Frame): ReceivedPublish | undefined {
  if (type !== packetTypes.publish || body.length < 2) return undefined
  const qos = (flags >> 1) & 3
  const topicEnd = 2 + body.readUInt16BE(0)
  const idEnd = topicEnd + (qos > 0 ? 2 : 0)
  if (idEnd > body.length) return undefined
  const packetId = qos > 0 ? body.readUInt16BE(topicEnd) : 0
  const section = version === 5 ? readLength(body, idEnd) : { value: 0, end: idEnd }
  if (section === undefined) return undefined
  return {
    topic: body.toString('utf8', 2, topicEnd),
    qos,
    retain: (flags & 1) === 1,
    dup: (flags & 8) === 8,
    packetId,
    properties: body.subarray(section.end, section.end + section.value),
    payload: body.subarray(section.end + section.value),
  }
}

interface ReadLength {
  readonly value: number
  readonly end: number
}

/** Reads a variable byte integer. Undefined: the bytes end within it. Infinity: it is longer than four bytes, which is malformed. */
export function readLength(bytes: Buffer, at: number): ReadLength | undefined {
  let value = 0
  for (let index = 0; index < 4; index += 1) {
    const byte = bytes[at + index]
    if (byte === undefined) return undefined
    value += (byte & 127) * 128 ** index
    if (byte < 128) return { value, end: at + index + 1 }
  }
  return { value: Number.POSITIVE_INFINITY, end: at + 4 }
}

/** Divides received bytes into frames of at most `maxFrameBytes`. */
export class FrameReader {
  #held: Buffer = Buffer.alloc(0)

  /** Returns the frames that are complete now; undefined: a frame is too large, or the bytes are not MQTT. */
  read(chunk: Buffer): readonly Frame[] | undefined {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const frames: Frame[] = []
    let at = 0
    while (at < bytes.length) {
      const length = readLength(bytes, at + 1)
      if (length === undefined) break
      if (length.value > maxFrameBytes) return undefined
      const end = length.end + length.value
      if (end > bytes.length) break
      const first = bytes[at] ?? 0
      frames.push({ type: first >> 4, flags: first & 15, body: bytes.subarray(length.end, end) })
      at = end
    }
    this.#held = Buffer.from(bytes.subarray(at))
    return frames
  }
}

const maxFrameBytes = 16 * 1_048_576
