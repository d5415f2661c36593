// Messages to one MQTT-SN client, in order for each topic:
//
//   add ──> topic id known? ──no──> REGISTER ──REGACK──┐
//              │ yes                                   │
//              └────────> PUBLISH <────────────────────┘     QoS 1 and 2: one at a time [6.13], repeated until acknowledged
//
// Messages wait (`waiting-deliveries.ts`) while the client sleeps, while their topic is registered (`topic-registrations.ts`), and until the latest
// publication of the client is acknowledged: a simple client, such as Paho, then accepts only PUBACK.

import type { AckType, PacketId, PublishPacket } from '../../../protocol/index.ts'
import { AddressChallenge } from './address-challenge.ts'
import { returnCodes, toShortTopicId, topicKinds, type SnRequest, type TopicKind } from '../codec/sn-packets.ts'
import type { SendingDependencies } from '../model/sn-client-dependencies.ts'
import type { StoredMessage, StoredMessages } from '../model/stored-messages.ts'
import type { TopicIds } from '../model/topic-ids.ts'
import { TopicRegistrations } from './topic-registrations.ts'
import { type Delivery, WaitingDeliveries } from './waiting-deliveries.ts'

const dupFlag = 0x80
const maxMessageId = 0xffff

/** A packet that is repeated until it is acknowledged. */
interface InFlightDelivery {
  readonly delivery: Delivery
  readonly topicId: number
  readonly messageId: number
  readonly bytes: Buffer
  /** Whether PUBACK proves the present address of the client. */
  provesAddress: boolean
  attempts: number
  dueAtMs: number
}

/** PUBREL, until PUBCOMP arrives. */
interface Release {
  readonly bytes: Buffer
  attempts: number
  dueAtMs: number
}

/** Publications of the client. */
export interface OwnPublications {
  readonly latestUnacknowledged: number | undefined
  isUnacknowledged(messageId: number): boolean
}

/** The properties of the client that deliveries need. They may change. */
export interface DeliveryClient {
  readonly topicIds: TopicIds
  /** Undefined: the client has sent no request yet. */
  readonly publications: OwnPublications | undefined
  acknowledge(type: AckType, packetId: PacketId): void
  /** Undefined: waiting messages end with the connection. */
  readonly storedMessages: StoredMessages | undefined
}

export class Deliveries {
  readonly #gateway: SendingDependencies
  readonly #client: DeliveryClient
  readonly #waiting: WaitingDeliveries
  #inFlight: InFlightDelivery | undefined
  readonly #releases = new Map<PacketId, Release>()
  /** QoS 2 messages that the gateway dropped: it responds to the PUBREL of the broker itself. */
  #dropped: Set<PacketId> | undefined
  readonly #challenge: AddressChallenge
  readonly #registrations: TopicRegistrations
  #isPaused = false
  /** Message ID of the publication of the client that must be acknowledged before messages are sent. */
  #afterPublication: number | undefined

  constructor(gateway: SendingDependencies, client: DeliveryClient) {
    this.#gateway = gateway
    this.#client = client
    this.#waiting = new WaitingDeliveries(client, gateway.counters)
    this.#challenge = new AddressChallenge(gateway)
    this.#registrations = new TopicRegistrations(gateway, client, this.#challenge)
  }

  /** True if no message is waiting or unacknowledged. */
  get isEmpty(): boolean {
    return this.#waiting.isEmpty && this.#inFlight === undefined && this.#releases.size === 0
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    if (this.#isPaused) return Infinity
    let dueAtMs = Math.min(this.#inFlight?.dueAtMs ?? Infinity, this.#challenge.dueAtMs, this.#registrations.dueAtMs)
    for (const { dueAtMs: atMs } of this.#releases.values()) dueAtMs = Math.min(dueAtMs, atMs)
    return dueAtMs
  }

  add(packet: PublishPacket, topic: string): void {
    const payload = Buffer.from(packet.chunk.subarray(packet.payloadStart, packet.frameEnd))
    const { qos, retain, packetId, dup } = packet
    const delivery: Delivery = { topic, qos, retain, packetId, payload, dup }
    this.#waiting.push(delivery)
    if (qos === 0 && this.#isPaused) this.#client.storedMessages?.add(delivery)
    this.#afterPublication ??= this.#client.publications?.latestUnacknowledged
    this.flush()
  }

  /** Called when a publication of the client may be acknowledged. Returns true if messages waited for that. */
  flushAfterPublication(): boolean {
    if (this.#afterPublication === undefined) return false
    this.flush()
    return true
  }

  /** Restores QoS 0 messages that waited before the restart, oldest first, by their numbers. */
  restore(messages: ReadonlyMap<number, StoredMessage>): void {
    this.#waiting.restore(messages)
  }

  /** Sends nothing until `resume`, because the client sleeps. Unacknowledged packets are then repeated. */
  pause(): void {
    this.#isPaused = true
    this.#challenge.end()
    this.#registrations.clear()
    this.#waiting.store()
    for (const release of this.#releases.values()) release.attempts = 0
    const inFlight = this.#inFlight
    if (inFlight === undefined) return
    this.#inFlight = undefined
    this.#waiting.putBack(inFlight.delivery)
  }

  /** The client has another address: responses to packets that were sent to the previous one prove nothing. */
  handleAddressChange(): void {
    this.#challenge.end()
    if (this.#inFlight !== undefined) this.#inFlight.provesAddress = false
    this.#registrations.handleMove()
  }

  resume(): void {
    this.#isPaused = false
    for (const release of this.#releases.values()) this.#resend(release)
    this.#registrations.registerNext()
    this.flush()
  }

  /** Registers all topic IDs of the session. */
  registerAll(): void {
    this.#registrations.planAll()
    if (!this.#isPaused) this.#registrations.registerNext()
  }

  /** Sends the messages that can be sent. */
  flush(): void {
    if (this.#isPaused || this.#isAwaitingPublication() || this.#waiting.isEmpty) return
    this.#waiting.send(this)
  }

  /** Returns whether messages wait for a publication: the latest when the first message arrived. Later ones may never end. */
  #isAwaitingPublication(): boolean {
    const messageId = this.#afterPublication
    if (messageId !== undefined && this.#client.publications?.isUnacknowledged(messageId) === true) return true
    this.#afterPublication = undefined
    return false
  }

  /** Returns false if the packet is not a response to a packet of the gateway. */
  handle(request: SnRequest): boolean {
    if (request.type === 'regack') this.#handleRegack(request)
    else if (request.type === 'puback') this.#handlePuback(request)
    else if (request.type === 'pubrec') this.#handlePubrec(request.messageId)
    else if (request.type === 'pubcomp') this.#handlePubcomp(request.messageId)
    else if (request.type === 'pingresp') this.#challenge.handlePingresp()
    else return false
    return true
  }

  #handleRegack({ messageId, topicId, returnCode }: SnRequest & { type: 'regack' }): void {
    if (this.#challenge.isMet(messageId)) return this.#continue()
    const topic = this.#registrations.handleRegack(messageId, topicId)
    if (topic === undefined) return
    if (returnCode === returnCodes.accepted) this.#client.topicIds.setKnown(topic)
    else this.#dropTopic(topic)
    this.#continue()
  }

  #handlePuback({ topicId, messageId, returnCode }: SnRequest & { type: 'puback' }): void {
    const { topicIds } = this.#client
    // A publication with QoS 0 has no message ID.
    if (returnCode === returnCodes.invalidTopicId) topicIds.setUnknown(topicId)
    const inFlight = this.#inFlight
    if (inFlight === undefined || inFlight.messageId !== messageId) return
    const { delivery } = inFlight
    if (inFlight.provesAddress) this.#gateway.recordProof()
    this.#inFlight = undefined
    if (returnCode === returnCodes.invalidTopicId && topicIds.findName(topicId) === delivery.topic) {
      this.#waiting.putBack(delivery)
    } else this.#settle(delivery)
    this.flush()
  }

  #handlePubrec(messageId: number): void {
    const release = this.#releases.get(messageId)
    if (release !== undefined) return this.#resend(release)
    const inFlight = this.#inFlight
    if (inFlight?.delivery.qos !== 2 || inFlight.delivery.packetId !== messageId) return
    this.#inFlight = undefined
    this.#client.acknowledge('pubrec', messageId)
  }

  /** Handles PUBREL of the broker: the client has sent PUBREC, on this connection or an earlier one. */
  handlePubrel(packetId: PacketId): void {
    if (this.#dropped?.delete(packetId) === true) return this.#client.acknowledge('pubcomp', packetId)
    const bytes = this.#gateway.codec.ack('pubrel', packetId)
    this.#releases.set(packetId, { bytes, attempts: 0, dueAtMs: this.#computeRetryAtMs() })
    if (!this.#isPaused) this.#gateway.sendUnasked(bytes)
  }

  #handlePubcomp(messageId: number): void {
    if (!this.#releases.delete(messageId)) return
    this.#client.acknowledge('pubcomp', messageId)
    this.flush()
  }

  /** Returns false if the maximum of repetitions is reached: the client is lost. */
  tick(): boolean {
    const { settings } = this.#gateway
    const nowMs = this.#gateway.nowMs()
    if (this.#isPaused) return true
    const sent = this.#inFlight === undefined ? [] : [this.#inFlight]
    for (const one of [...sent, ...this.#releases.values()]) {
      if (nowMs < one.dueAtMs) continue
      if (one.attempts >= settings.maxRetries) return false
      this.#resend(one)
    }
    if (!this.#registrations.tick()) return false
    if (this.#challenge.tick()) this.#continue()
    return true
  }

  /** Returns false if the message must wait. */
  trySend(delivery: Delivery): boolean {
    if (delivery.qos > 0 && (this.#inFlight !== undefined || this.#releases.size > 0)) return false
    const known = this.#resolveTopicId(delivery.topic)
    if (known === undefined) return this.#refuseUnnamed(delivery)
    const { topicId, topicKind, isKnown } = known
    if (!isKnown) {
      this.#registrations.register(delivery.topic, topicId)
      return false
    }
    const messageId = this.#selectMessageId(delivery)
    const provesAddress = messageId !== delivery.packetId
    const { dup, qos, retain, payload } = delivery
    const bytes = this.#gateway.codec.publish({ dup, qos, retain, topicKind, topicId, messageId, payload })
    if (bytes === undefined) {
      this.#gateway.counters.dropped['too-large']++
      this.#settle(delivery)
      return true
    }
    if (!this.#gateway.isProven) this.#challenge.begin()
    if (!this.#gateway.sendUnasked(bytes)) return false
    if (qos > 0) {
      const dueAtMs = this.#computeRetryAtMs()
      this.#inFlight = { delivery, topicId, messageId, bytes, provesAddress, attempts: 0, dueAtMs }
    }
    return true
  }

  /** PUBACK with an unpredictable ID proves the address. QoS 2 keeps its ID, by which the client recognizes copies. */
  #selectMessageId({ qos, packetId }: Delivery): number {
    if (qos === 0) return 0
    return qos === 1 && !this.#gateway.isProven ? 1 + this.#gateway.randomBelow(maxMessageId) : packetId
  }

  /** The client has proven its address, or acknowledged a topic: other packets can be sent. */
  #continue(): void {
    if (!this.#isPaused) this.#registrations.registerNext()
    this.flush()
  }

  /** Drops a message for whose topic no topic ID is left. */
  #refuseUnnamed(delivery: Delivery): boolean {
    this.#gateway.counters.dropped['not-registered']++
    this.#settle(delivery)
    return true
  }

  #resolveTopicId(
    topic: string,
  ): { readonly topicId: number; readonly topicKind: TopicKind; readonly isKnown: boolean } | undefined {
    const { settings, codec } = this.#gateway
    const { topicIds } = this.#client
    const predefined = settings.predefined.findId(topic)
    if (predefined !== undefined) return { topicId: predefined, topicKind: topicKinds.predefined, isKnown: true }
    const short = codec.hasShortNames ? toShortTopicId(topic) : undefined
    if (short !== undefined) return { topicId: short, topicKind: topicKinds.short, isKnown: true }
    const topicId = topicIds.register(topic)
    if (topicId === undefined) return undefined
    return { topicId, topicKind: topicKinds.name, isKnown: topicIds.isKnown(topic) }
  }

  #dropTopic(topic: string): void {
    for (const delivery of this.#waiting.removeTopic(topic)) {
      this.#gateway.counters.dropped['not-registered']++
      this.#settle(delivery)
    }
  }

  /** Acknowledges a message to the broker, which then does not send it again. */
  #settle({ qos, packetId }: Delivery): void {
    if (qos === 1) this.#client.acknowledge('puback', packetId)
    else if (qos === 2) {
      this.#dropped ??= new Set()
      this.#dropped.add(packetId)
      this.#client.acknowledge('pubrec', packetId)
    }
  }

  #resend(one: InFlightDelivery | Release): void {
    one.dueAtMs = this.#computeRetryAtMs()
    // DUP is the first bit of the flags of PUBLISH, after length and type [5.3.4].
    const flagsAt = one.bytes[0] === 1 ? 4 : 2
    if ('delivery' in one) one.bytes[flagsAt] = (one.bytes[flagsAt] ?? 0) | dupFlag
    // Without a proof of its address, the client is lost when its keep alive expires.
    if (!this.#gateway.sendUnasked(one.bytes)) return this.#challenge.begin()
    one.attempts++
    this.#gateway.counters.retransmitted++
  }

  #computeRetryAtMs(): number {
    return this.#gateway.nowMs() + this.#gateway.settings.retryIntervalMs
  }
}
