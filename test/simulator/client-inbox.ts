// The receiving half of a client: messages with resolved topic aliases, and their acknowledgements, in order and after
// the delay of the scenario.

import { AckPacket, reasonCodes, type PacketId, type PublishPacket } from '../../src/protocol/index.ts'
import type { ClientParts } from './client-options.ts'
import type { ReceivedMessage } from './client-session.ts'

export class Inbox {
  readonly messages: ReceivedMessage[]
  /** See `Client.acknowledges` and `Client.thinkMs`. */
  acknowledges: boolean
  thinkMs: () => number
  private readonly client: ClientParts
  private readonly aliases: Map<number, string>
  private lastAckAtMs: number

  constructor(client: ClientParts) {
    this.client = client
    this.messages = []
    this.acknowledges = true
    this.thinkMs = () => 0
    this.aliases = new Map()
    this.lastAckAtMs = 0
  }

  forgetAliases(): void {
    this.aliases.clear()
    this.lastAckAtMs = 0
  }

  takePublish(packet: PublishPacket): ReceivedMessage {
    const topic = this.topicOf(packet)
    const { session } = this.client
    // The identifier belongs to an earlier session: this session uses it for the first time.
    if (packet.qos === 2 && !packet.dup && session?.doubtful.has(packet.packetId) === true)
      session.incoming.delete(packet.packetId)
    if (packet.qos === 2) session?.doubtful.delete(packet.packetId)
    const isRepeat = packet.qos === 2 && session?.incoming.has(packet.packetId) === true
    if (isRepeat && !packet.dup)
      this.client.stage.fail(
        `the broker used packet id ${packet.packetId} again towards ${this.client.id}, which received no PUBREL for it`,
      )
    const bytes = Buffer.from(packet.chunk.subarray(packet.payloadStart, packet.frameEnd))
    const message: ReceivedMessage = {
      topic,
      payload: bytes.toString(),
      bytes,
      qos: packet.qos,
      retain: packet.retain,
      dup: packet.dup,
      packetId: packet.packetId,
      properties: packet.properties,
      atMs: this.client.stage.nowMs,
      step: this.client.stage.step,
      session: this.client.sessions.length,
      connection: this.client.connections,
      isRepeat,
      isModern: this.client.version === 5,
    }
    this.messages.push(message)
    if (packet.qos === 0) return message
    if (packet.qos === 2) session?.incoming.add(packet.packetId)
    if (this.acknowledges) this.acknowledgeSoon(() => this.acknowledge(message))
    return message
  }

  /** PUBREL frees the packet identifier, even if PUBCOMP is delayed: the next PUBLISH may use it. */
  takeRelease(packetId: PacketId): void {
    if (!this.acknowledges) return
    const isKnown = this.client.session?.incoming.delete(packetId) === true
    const reason = isKnown || this.client.version < 5 ? reasonCodes.success : reasonCodes.packetIdentifierNotFound
    this.acknowledgeSoon(() => this.client.wire?.send(new AckPacket('pubcomp', packetId, reason, undefined)))
  }

  private topicOf(packet: PublishPacket): string {
    const alias = packet.properties?.topicAlias
    if (alias === undefined)
      return packet.topic?.name ?? this.client.stage.fail(`the broker sent ${this.client.id} a PUBLISH without a topic`)
    if (alias < 1 || alias > (this.client.options.topicAliasMaximum ?? 0))
      this.client.stage.fail(`the broker used topic alias ${alias} towards ${this.client.id} [MQTT5-3.3.2-9]`)
    if (packet.topic !== undefined) this.aliases.set(alias, packet.topic.name)
    return (
      this.aliases.get(alias) ??
      this.client.stage.fail(
        `the broker used topic alias ${alias} towards ${this.client.id} before it defined the alias`,
      )
    )
  }

  /** [MQTT-4.6.0-2] Acknowledgements are sent in the order of the messages, whatever their delays are. */
  private acknowledgeSoon(send: () => void): void {
    const { wire } = this.client
    const thinkMs = this.thinkMs()
    if (thinkMs === 0 && this.lastAckAtMs <= this.client.stage.nowMs) return send()
    this.lastAckAtMs = Math.max(this.lastAckAtMs, this.client.stage.nowMs + thinkMs)
    this.client.stage.after(this.lastAckAtMs - this.client.stage.nowMs, () => {
      if (this.client.wire === wire && wire?.isOpen === true) send()
    })
  }

  private acknowledge(message: ReceivedMessage): void {
    const type = message.qos === 1 ? 'puback' : 'pubrec'
    this.client.wire?.send(new AckPacket(type, message.packetId, reasonCodes.success, undefined))
  }
}
