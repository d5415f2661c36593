// The packets that a load generator sends, as bytes that are created once and written many times.

export type QoS = 0 | 1 | 2
export type ProtocolVersion = 4 | 5

export const packetType = {
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  suback: 9,
  pingresp: 13,
  disconnect: 14,
} as const

export interface ConnectOptions {
  readonly version: ProtocolVersion
  readonly clientId: string
  /** The broker keeps the session when the connection ends. */
  readonly persistent: boolean
}

export function connectFrame({ version, clientId, persistent }: ConnectOptions): Buffer {
  const flags = persistent ? 0x00 : 0x02
  // Session expiry (0x11) of an hour for a session that stays; receive maximum (0x21) of 65,535 for every one.
  const properties = persistent ? [8, 0x11, 0, 0, 0x0e, 0x10, 0x21, 0xff, 0xff] : [3, 0x21, 0xff, 0xff]
  return frame(0x10, [
    text('MQTT'),
    Buffer.from([version, flags, 0, 0]),
    Buffer.from(version === 5 ? properties : []),
    text(clientId),
  ])
}

export interface SubscribeOptions {
  readonly version: ProtocolVersion
  readonly packetId: number
  readonly filters: readonly string[]
  readonly qos: QoS
}

export function subscribeFrame({ version, packetId, filters, qos }: SubscribeOptions): Buffer {
  const entries = filters.flatMap((filter) => [text(filter), Buffer.from([qos])])
  return frame(0x82, [Buffer.from([packetId >> 8, packetId & 255]), Buffer.from(version === 5 ? [0] : []), ...entries])
}

export interface PublishOptions {
  readonly version: ProtocolVersion
  readonly topic: string
  readonly qos: QoS
  /** Meaningless at QoS 0. */
  readonly packetId: number
  readonly payload: Buffer
  readonly retain?: boolean
}

export function publishFrame({ version, topic, qos, packetId, payload, retain }: PublishOptions): Buffer {
  return frame(0x30 | (qos << 1) | (retain === true ? 1 : 0), [
    text(topic),
    Buffer.from(qos > 0 ? [packetId >> 8, packetId & 255] : []),
    Buffer.from(version === 5 ? [0] : []),
    payload,
  ])
}

export interface PublishRing {
  /** `size` frames twice over, so that any run of at most `size` frames is one piece of memory. */
  readonly bytes: Buffer
  readonly frameBytes: number
  readonly size: number
  /** Where the payload begins within a frame. */
  readonly payloadOffset: number
}

/** Frames with the packet identifiers 1 to `size`. A broker acknowledges in order, so an identifier is free again when it is reused. */
export function publishRing(options: Omit<PublishOptions, 'packetId'>, size: number): PublishRing {
  const frames = Array.from({ length: size }, (_, index) => publishFrame({ ...options, packetId: index + 1 }))
  const frameBytes = frames[0].length
  return {
    bytes: Buffer.concat([...frames, ...frames]),
    frameBytes,
    size,
    payloadOffset: frameBytes - options.payload.length,
  }
}

export const disconnectFrame: Buffer = Buffer.from([0xe0, 0])

function frame(firstByte: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([firstByte, ...variableLength(body.length)]), body])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
}

function variableLength(length: number): number[] {
  const rest = length >>> 7
  return rest === 0 ? [length] : [(length & 127) | 128, ...variableLength(rest)]
}
