// A remote broker that sends what a test specifies, valid or not.

import {
  AckPacket,
  PacketDecoder,
  reasonCodes,
  TopicTable,
  type AckType,
  type ConnackProperties,
  type Packet,
  type ProtocolVersion,
} from '../../src/protocol/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { encode } from '../simulator/world.ts'

/** `close` ends the connection when all sent bytes have left. */
export type PacketHandler = (packet: Packet, send: (bytes: Buffer) => void, close: () => void) => void

export interface Crafted {
  readonly accept: (stream: ByteStream) => void
  /** Number of connections. */
  connections: number
}

/** A remote broker that passes each packet to `handlePacket`. */
export function crafted(handlePacket: PacketHandler): Crafted {
  const made = {
    connections: 0,
    accept: (stream: ByteStream): void => {
      made.connections++
      const limits = { maxPacketBytes: 1_000_000, maxPropertyBytes: 32_768, maxTopicLevels: 128, maxTopicBytes: 65_535 }
      const decoder = new PacketDecoder({ role: 'server', topics: new TopicTable(64), ...limits })
      const waiting: Buffer[] = []
      let isWriting = false
      const flush = (): void => {
        const next = waiting.shift()
        isWriting = next !== undefined
        if (next !== undefined) stream.write(next, flush)
      }
      const send = (bytes: Buffer): void => {
        waiting.push(bytes)
        if (!isWriting) flush()
      }
      stream.onData = (chunk) => {
        decoder.push(Buffer.from(chunk))
        for (let packet = decoder.next(); packet !== undefined; packet = decoder.next())
          handlePacket(packet, send, () => stream.end())
      }
      stream.onClose = () => undefined
    },
  }
  return made
}

export const pingresp = Buffer.from([0xd0, 0])

export function connackIn(
  version: ProtocolVersion,
  how: { reasonCode?: number; sessionPresent?: boolean; properties?: ConnackProperties } = {},
): Buffer {
  const { reasonCode = 0, sessionPresent = false, properties } = how
  return encode({ type: 'connack', sessionPresent, reasonCode, properties }, version)
}

export function ack(type: AckType, packetId: number): Buffer {
  return encode(new AckPacket(type, packetId, reasonCodes.success, undefined), 5)
}

export function repeated(bytes: Buffer, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => bytes))
}

/** SUBACK or UNSUBACK that grants the request; undefined for other packets. */
export function granted(packet: Packet): Buffer | undefined {
  const { type } = packet
  if (type !== 'subscribe' && type !== 'unsubscribe') return undefined
  const { packetId } = packet
  const codes = type === 'subscribe' ? packet.subscriptions.map(({ qos }) => qos) : packet.filters.map(() => 0)
  const responseType = type === 'subscribe' ? 'suback' : 'unsuback'
  return encode({ type: responseType, packetId, reasonCodes: codes, properties: undefined }, 5)
}

/** Sends CONNACK without a session, and passes all other packets to `then`. */
export function polite(then: PacketHandler): PacketHandler {
  return (packet, send, close) => (packet.type === 'connect' ? send(connackIn(5)) : then(packet, send, close))
}
