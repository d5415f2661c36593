// The connection of one gateway client to the broker. A shard has very many of them, most of them idle: one object each, without functions
// of its own, and with options that all share.

import { type LinkCallbacks, type LinkOptions, PacketLink, createReceiveLimits } from '../../mqtt-client/index.ts'
import type { MqttConnection, MqttConnectionCallbacks } from '../../gateways/index.ts'
import type {
  AckType,
  ControlPacket,
  Packet,
  PacketId,
  ProtocolError,
  PublishFields,
  TopicTable,
} from '../../protocol/index.ts'
import type { ByteStream, ConnectionLimit } from '../../transports/index.ts'

const limits = createReceiveLimits()

export function createGatewayLinkOptions(topics: TopicTable, later: LinkOptions['later']): LinkOptions {
  return { decoder: { role: 'client', version: 5, topics, ...limits }, later, ownsChunks: false, spareDecoders: [] }
}

export class GatewayConnection implements MqttConnection, LinkCallbacks {
  readonly #callbacks: MqttConnectionCallbacks
  readonly #link: PacketLink
  /** The other end of the stream pair: the broker, or a relay to the shard of the session, reads it. */
  readonly #brokerEnd: ByteStream
  /** Limit that counts this connection. Undefined: a stream listener counts it, or it was released. */
  #limit: ConnectionLimit | undefined

  constructor(
    [own, other]: readonly [ByteStream, ByteStream],
    callbacks: MqttConnectionCallbacks,
    { limit, link }: { readonly limit: ConnectionLimit | undefined; readonly link: LinkOptions },
  ) {
    this.#callbacks = callbacks
    this.#limit = limit
    this.#link = new PacketLink(this, own, link)
    this.#brokerEnd = other
  }

  // Calls of the gateway

  get unsentBytes(): number {
    return this.#link.unsentBytes
  }

  send(packet: ControlPacket): void {
    this.#link.send(packet)
  }

  acknowledge(type: AckType, packetId: PacketId): void {
    this.#link.acknowledge(type, packetId)
  }

  publish(fields: PublishFields): void {
    this.#link.publish(fields, limits.maxPacketBytes)
  }

  pause(): void {
    this.#link.pauseReading()
  }

  resume(): void {
    this.#link.resumeReading()
  }

  reportClientChange(): void {
    this.#brokerEnd.onGatewayClientChange?.()
  }

  end(goodbye: ControlPacket | undefined): void {
    this.#uncount()
    this.#link.end(goodbye)
  }

  // Callbacks of the link

  handlePacket(_link: PacketLink, packet: Packet): void {
    this.#callbacks.handlePacket(packet)
  }

  handleMalformed(_link: PacketLink, error: ProtocolError): void {
    throw error
  }

  handleClosed(): void {
    this.#uncount()
    this.#callbacks.handleClosed()
  }

  handleWritten(): void {
    this.#callbacks.handleWritten?.()
  }

  #uncount(): void {
    this.#limit?.release()
    this.#limit = undefined
  }
}
