// A subscriber that stores received packet identifiers across crashes, so that it receives each QoS 2 message once from a correct broker.

import {
  parseTopicFilter,
  type AckType,
  type Packet,
  type PacketId,
  type PublishPacket,
  type QoS,
} from '../../src/protocol/index.ts'
import { DurableClient, type ClientOptions } from './durable-client.ts'

/** Maximum number of delayed acknowledgements. */
const maxDelayedAcks = 8
const maxAckDelayMs = 5

export interface SubscriberOptions extends ClientOptions {
  readonly filters: readonly string[]
  readonly qos: QoS
}

export class Subscriber extends DurableClient {
  readonly qos: QoS
  /** By topic, the numbers in order of arrival. */
  readonly received: Map<string, number[]>
  readonly retained: Map<string, number>
  /** Number of different messages. */
  distinctMessages: number
  readonly #known: Set<string>
  readonly #filters: readonly string[]
  readonly #unreleased: Set<PacketId>
  #delayedAcks: [AckType, PacketId][]
  #timer: NodeJS.Timeout | undefined
  isSubscribed: boolean

  constructor(options: SubscriberOptions) {
    super(options)
    this.qos = options.qos
    this.received = new Map()
    this.retained = new Map()
    this.distinctMessages = 0
    this.#known = new Set()
    this.#filters = options.filters
    this.#unreleased = new Set()
    this.#delayedAcks = []
    this.#timer = undefined
    this.isSubscribed = false
  }

  protected connected(): void {
    if (this.isSubscribed) return
    const options = { qos: this.qos, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
    const subscriptions = this.#filters.map((text) => {
      const filter = parseTopicFilter(text)
      if (filter === undefined) throw new Error(`${text} is not a filter`)
      return { filter, ...options }
    })
    this.send({ type: 'subscribe', packetId: 1, subscriptions, properties: undefined })
  }

  protected packet(packet: Packet): void {
    switch (packet.type) {
      case 'suback':
        this.isSubscribed = true
        return
      case 'publish':
        return this.#receive(packet)
      case 'pubrel':
        this.#unreleased.delete(packet.packetId)
        return this.#acknowledgeSoon('pubcomp', packet.packetId)
      default:
        return this.unexpected(packet)
    }
  }

  #receive(packet: PublishPacket): void {
    if (packet.qos > this.qos) this.fault(`got QoS ${packet.qos} but subscribed with QoS ${this.qos}`)
    const isKnown = packet.qos === 2 && this.#unreleased.has(packet.packetId)
    if (isKnown && !packet.dup) this.fault(`got packet id ${packet.packetId} again before it was released`)
    if (!isKnown) this.#note(packet)
    if (packet.qos === 1) this.#acknowledgeSoon('puback', packet.packetId)
    if (packet.qos !== 2) return
    this.#unreleased.add(packet.packetId)
    this.#acknowledgeSoon('pubrec', packet.packetId)
  }

  #note(packet: PublishPacket): void {
    const topic = packet.topic?.name ?? ''
    const number = Number.parseInt(packet.chunk.toString('latin1', packet.payloadStart, packet.frameEnd), 10)
    if (packet.retain) {
      this.retained.set(topic, number)
      return
    }
    this.distinctMessages = this.#known.add(`${topic} ${number}`).size
    const numbers = this.received.get(topic)
    if (numbers === undefined) this.received.set(topic, [number])
    else numbers.push(number)
  }

  /** Some acknowledgements are delayed, so that a crash between a message and its acknowledgement is likely. */
  #acknowledgeSoon(type: AckType, packetId: PacketId): void {
    this.#delayedAcks.push([type, packetId])
    if (this.#delayedAcks.length > packetId % maxDelayedAcks) return this.#acknowledgeAll()
    this.#timer ??= setTimeout(() => this.#acknowledgeAll(), maxAckDelayMs)
  }

  #acknowledgeAll(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [type, packetId] of this.#delayedAcks.splice(0)) this.acknowledge(type, packetId)
  }

  /** Pending acknowledgements of one connection are not sent on the next: the broker redelivers the messages there. */
  override disconnect(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#delayedAcks = []
    super.disconnect()
  }
}
