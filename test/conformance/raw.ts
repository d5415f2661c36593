// Packets as bytes, and the client side of a connection on byte level: for packets that the encoder does not write,
// and for checks of sent bytes without the decoder.

import assert from 'node:assert/strict'
import {
  AckPacket,
  reasonCodes,
  type AckType,
  type ConnectPacket,
  type Packet,
  type PublishPacket,
  type ReasonCode,
  type ReasonName,
} from '../../src/protocol/index.ts'
import { bytes, frame } from '../protocol/bytes.ts'
import { calmNetwork } from '../simulator/network.ts'
import type { Client, ConnectOptions, Wire, World } from '../simulator/world.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

export { bytes, frame } from '../protocol/bytes.ts'

/** The two versions with normative statements of their own. */
export const versions = [4, 5] as const
export type Version = (typeof versions)[number]

/** A session that survives its connection, in either version. */
export const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

export class RawEnd {
  isOpen: boolean
  private readonly world: World
  private readonly link: NonNullable<ReturnType<World['broker']['accept']>>
  private arrived: Buffer[]

  constructor(world: World) {
    const link = world.broker.accept(calmNetwork)
    assert.ok(link !== undefined, 'no broker listens')
    this.world = world
    this.link = link
    this.isOpen = true
    this.arrived = []
    link.attachClient({
      arrived: (chunk) => {
        this.arrived.push(chunk)
      },
      ended: (isBroken) => {
        this.isOpen = false
        if (!isBroken) link.toBroker.end()
      },
      drained: () => undefined,
    })
  }

  /**
   * Sends these bytes and runs the broker until it is idle. Returns the bytes that arrived since the last call, in hexadecimal,
   * without reason strings, which may change.
   */
  send(...packets: readonly Uint8Array[]): string {
    this.link.toBroker.send(Buffer.concat(packets))
    this.world.settle()
    return withoutReasons(this.take()).toString('hex')
  }

  take(): Buffer {
    const taken = Buffer.concat(this.arrived)
    this.arrived = []
    return taken
  }
}

/** Removes the reason string of a refusal or DISCONNECT that has no other property. */
export function withoutReasons(stream: Buffer): Buffer {
  return Buffer.concat(framesOf(stream).map(withoutReason))
}

function withoutReason(frame: Buffer): Buffer {
  const isConnack = frame[0] === 0x20
  // After the reason code: the length of the properties, then 0x1f and the string.
  const at = isConnack ? 4 : 3
  const hasWordsOnly = (isConnack || frame[0] === 0xe0) && frame[at + 1] === 0x1f && frame[at] === frame.length - at - 1
  if (!hasWordsOnly || frame[at] !== frame.readUInt16BE(at + 2) + 3) return frame
  return isConnack ? Buffer.from([0x20, 3, frame[2], frame[3], 0]) : Buffer.from([0xe0, 1, frame[2]])
}

/** A connected `RawEnd` whose CONNACK has been read. */
export function connectedRaw(world: World, version: Version, clientId = 'raw'): RawEnd {
  const end = new RawEnd(world)
  const response = end.send(connectBytes(version, { payload: [text(clientId)] }))
  assert.match(response, /^20..0000/, 'the broker did not accept the client')
  return end
}

/** A string or binary value with its length prefix. */
export function text(content: string | Uint8Array): Buffer {
  const content8 = Buffer.from(content as Uint8Array)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(content8.length)
  return Buffer.concat([length, content8])
}

/** The properties, for 5.0; nothing for older versions. Up to 127 bytes. */
export function propertySection(version: Version, ...properties: readonly Uint8Array[]): Buffer {
  if (version < 5) return Buffer.alloc(0)
  const content = Buffer.concat(properties)
  assert.ok(content.length < 128)
  return Buffer.concat([Buffer.from([content.length]), content])
}

export interface ConnectParts {
  name?: string
  level?: number
  /** Default: clean session (0x02). */
  flags?: number
  keepAliveSeconds?: number
  properties?: readonly Uint8Array[]
  payload?: readonly Uint8Array[]
}

export function connectBytes(version: Version, parts: ConnectParts = {}): Buffer {
  const { name = 'MQTT', level = version, flags = 0x02, keepAliveSeconds = 0, properties = [] } = parts
  const fixed = Buffer.from([level, flags, keepAliveSeconds >> 8, keepAliveSeconds & 0xff])
  const payload = parts.payload ?? [text('raw')]
  return frame(0x10, Buffer.concat([text(name), fixed, propertySection(version, ...properties), ...payload]))
}

export function publishBytes(
  version: Version,
  topic: string | Uint8Array,
  parts: { flags?: number; packetId?: number; properties?: readonly Uint8Array[]; payload?: string } = {},
): Buffer {
  const { flags = 0, packetId, properties = [], payload = '' } = parts
  const id = packetId === undefined ? Buffer.alloc(0) : idBytes(packetId)
  const body = [text(topic), id, propertySection(version, ...properties), Buffer.from(payload)]
  return frame(0x30 | flags, Buffer.concat(body))
}

/** SUBSCRIBE with one filter. */
export function subscribeBytes(
  version: Version,
  filter: string | Uint8Array,
  parts: { firstByte?: number; packetId?: number; options?: number; properties?: readonly Uint8Array[] } = {},
): Buffer {
  const { firstByte = 0x82, packetId = 1, options = 0, properties = [] } = parts
  const body = [idBytes(packetId), propertySection(version, ...properties), text(filter), Buffer.from([options])]
  return frame(firstByte, Buffer.concat(body))
}

export function unsubscribeBytes(
  version: Version,
  filter: string | Uint8Array,
  parts: { firstByte?: number; packetId?: number } = {},
): Buffer {
  const { firstByte = 0xa2, packetId = 1 } = parts
  return frame(firstByte, Buffer.concat([idBytes(packetId), propertySection(version), text(filter)]))
}

/** PUBACK (0x40), PUBREC (0x50), PUBREL (0x62) or PUBCOMP (0x70), without a reason code. */
export function ackBytes(firstByte: number, packetId: number): Buffer {
  return frame(firstByte, idBytes(packetId))
}

export const pingreq = bytes`c0 00`

function idBytes(packetId: number): Buffer {
  return Buffer.from([packetId >> 8, packetId & 0xff])
}

/** Splits bytes into packets of up to 127 bytes. */
export function framesOf(stream: Buffer): Buffer[] {
  const frames: Buffer[] = []
  for (let at = 0; at < stream.length;) {
    const end = at + 2 + (stream[at + 1] ?? 0)
    frames.push(stream.subarray(at, end))
    at = end
  }
  return frames
}

/** The default values of a CONNECT. */
export function connectPacket(version: Version, parts: Partial<ConnectPacket> = {}): ConnectPacket {
  return plainConnect(version, 'wire', parts)
}

/** A connected client that acknowledges nothing by itself. */
export function connectedWire(world: World, version: Version, parts: Partial<ConnectPacket> = {}): Wire {
  const wire = world.wire({ version })
  wire.send(connectPacket(version, parts))
  world.settle()
  assert.equal(wire.of('connack')[0]?.reasonCode, 0)
  return wire
}

/** The received acknowledgements of one type. */
export function acksOf(wire: Wire, type: AckType): AckPacket[] {
  return wire.received.filter((packet): packet is AckPacket => packet.type === type)
}

/** Sends any bytes on a client's connection. */
export function sendBytes(world: World, client: Client, ...packets: readonly Buffer[]): void {
  for (const packet of packets) client.wire?.sendBytes(packet)
  world.settle()
}

/** The broker has closed the connection; a 5.0 client got DISCONNECT with this reason before, an older one nothing. */
export function assertClosed(client: Client, reason: ReasonName): void {
  assert.equal(client.hasOpenConnection, false, 'the connection is still open')
  const expected = client.version === 5 ? reasonCodes[reason] : undefined
  assert.equal(client.disconnected?.reasonCode, expected)
}

/** A client that connects, sends these bytes and is disconnected because of them. */
export function assertBytesEnd(version: Version, packet: Buffer, reason: ReasonName, world: World): void {
  const client = world.connect(`offender-${clientCount++}`, { version })
  sendBytes(world, client, packet)
  assertClosed(client, reason)
}

let clientCount = 0

/** A connected client that does not acknowledge messages. */
export function silentClient(world: World, id: string, options: ConnectOptions = {}): Client {
  const client = world.connect(id, options)
  client.acknowledges = false
  return client
}

export const typesOf = (packets: readonly Packet[]): string[] => packets.map((packet) => packet.type)

export const payloadOf = (packet: PublishPacket): string =>
  packet.chunk.toString('utf8', packet.payloadStart, packet.frameEnd)

/** Sends an acknowledgement and runs the broker until it is idle. */
export function acknowledge(
  world: World,
  wire: Wire,
  { type, packetId, reason = 0 }: { type: AckType; packetId: number; reason?: ReasonCode },
): void {
  wire.send(new AckPacket(type, packetId, reason, undefined))
  world.settle()
}

/** A connected client with a persistent session and the client ID `me`. */
export function persistentWire(world: World, version: Version, receiveMaximum?: number): Wire {
  const properties = {
    sessionExpiryIntervalSeconds: 3_600,
    ...(receiveMaximum === undefined ? {} : { receiveMaximum }),
  }
  return connectedWire(world, version, {
    clientId: 'me',
    cleanStart: false,
    properties: version === 5 ? properties : undefined,
  })
}

/** The connection breaks, and the broker notices at once. */
export function breakConnection(world: World, wire: Wire): void {
  wire.break(0)
  world.settle()
}
