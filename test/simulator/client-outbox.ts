// The publishing half of a client: messages that wait for a connection or for the broker's Receive Maximum, messages in flight, and the
// acknowledgements of the broker.
//
//   publish --> waiting --pump--> session.outgoing --PUBACK or PUBCOMP--> complete

import { AckPacket, reasonCodes, type PacketId } from '../../src/protocol/index.ts'
import type { ClientParts } from './client-options.ts'
import type { Publication } from './client-session.ts'

const protocolDefaultReceiveMaximum = 65_535

export class Outbox {
  readonly waiting: Publication[]
  private readonly client: ClientParts
  private readonly aliases: Map<string, number>

  constructor(client: ClientParts) {
    this.client = client
    this.waiting = []
    this.aliases = new Map()
  }

  /** [MQTT5-3.3.2-7] Aliases end with their connection. */
  forgetAliases(): void {
    this.aliases.clear()
  }

  /** [MQTT-4.4.0-1] Sends in-flight messages again, in order, with their packet identifiers. */
  resume(): void {
    for (const publication of this.client.session?.outgoing.values() ?? []) {
      if (!publication.isReceived) this.send(publication)
      else this.client.wire?.send(new AckPacket('pubrel', publication.packetId, reasonCodes.success, undefined))
    }
  }

  publish(publications: readonly Publication[]): void {
    this.waiting.push(...publications)
    this.pump()
  }

  /** Sends waiting messages in order, up to the broker's Receive Maximum. */
  pump(): void {
    const { session } = this.client
    if (!this.client.isConnected || session === undefined) return
    const limit = this.client.connack?.properties?.receiveMaximum ?? protocolDefaultReceiveMaximum
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (next.qos !== 0 && session.outgoing.size >= limit) return
      this.waiting.shift()
      if (next.qos !== 0) {
        next.packetId = this.client.takePacketId()
        session.outgoing.set(next.packetId, next)
      } else next.isComplete = true
      this.send(next)
    }
  }

  handleAck(packet: AckPacket): void {
    const { outgoing } = this.client.session ?? { outgoing: new Map<PacketId, Publication>() }
    const publication = outgoing.get(packet.packetId)
    if (publication === undefined) {
      // After a crash, the broker may acknowledge a completed message again, but never one that it did not receive.
      if (packet.type !== 'pubcomp')
        this.client.stage.fail(
          `the broker sent ${packet.type} ${packet.packetId} to ${this.client.id}, which has nothing in flight with it`,
        )
      return
    }
    if (packet.type === 'puback' ? publication.qos !== 1 : publication.qos !== 2) {
      this.client.stage.fail(`the broker acknowledged QoS ${publication.qos} of ${this.client.id} with ${packet.type}`)
    }
    if (packet.type !== 'pubcomp') {
      publication.reasonCode = packet.reasonCode
      publication.reasonString = packet.properties?.reasonString
      publication.acknowledgedStep = Math.min(publication.acknowledgedStep, this.client.stage.step)
      publication.acknowledgedAtMs = Math.min(publication.acknowledgedAtMs, this.client.stage.nowMs)
    }
    if (packet.type === 'pubrec' && packet.reasonCode < 0x80) {
      publication.isReceived = true
      this.client.wire?.send(new AckPacket('pubrel', packet.packetId, reasonCodes.success, undefined))
      return
    }
    publication.isComplete = true
    outgoing.delete(packet.packetId)
    this.pump()
  }

  private send(publication: Publication): void {
    const dup = publication.timesSent > 0
    publication.timesSent++
    publication.lastSentStep = this.client.stage.step
    publication.connection = this.client.connections
    if (this.client.version < 5) publication.lostProperties = true
    if (!dup) {
      publication.firstSentStep = this.client.stage.step
      publication.firstSentAtMs = this.client.stage.nowMs
    }
    const { topic, properties } = this.withAlias(publication)
    const { payload, qos, retain, packetId } = publication
    const frame = { topic, payload, qos, retain, packetId, dup }
    this.client.wire?.sendPublish(properties === undefined ? frame : { ...frame, properties })
  }

  private withAlias(publication: Publication): { topic: string; properties: Publication['properties'] } {
    const { topic, properties } = publication
    const maximum = this.client.connack?.properties?.topicAliasMaximum ?? 0
    if (this.client.options.usesAliases !== true || maximum === 0) return { topic, properties }
    const known = this.aliases.get(topic)
    if (known !== undefined) return { topic: '', properties: { ...properties, topicAlias: known } }
    if (this.aliases.size >= maximum) return { topic, properties }
    this.aliases.set(topic, this.aliases.size + 1)
    return { topic, properties: { ...properties, topicAlias: this.aliases.size } }
  }
}
