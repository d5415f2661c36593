// A client without bytes: it sends and receives packets, follows the standard, and records the received messages
// and the acknowledgements.

import { headBits, Message, type Connection, type SendList } from '../../../src/core/index.ts'
import {
  AckPacket,
  parseTopicName,
  PublishPacket,
  reasonCodes,
  type AckType,
  type ConnectPacket,
  type Packet,
  type PacketId,
  type QoS,
  type RetainHandling,
  type SubscriptionRequest,
  type TopicFilter,
  type TopicName,
  type TopicTable,
} from '../../../src/protocol/index.ts'
import { plainConnect } from '../../simulator/plain-connect.ts'
import { newConnection } from './driven-core.ts'

export interface ClientTraits {
  version: 4 | 5
  /** The session expiry; 0: the session ends with the connection. */
  expirySeconds: number
  receiveMaximum: number
  will: { topic: string; payload: string; qos: QoS; retain: boolean } | undefined
  /** Whether it is the client of a gateway. */
  isOfGateway: boolean
}

export interface Heard {
  readonly topic: string
  readonly payload: string
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
  /** Number of filters that had been granted when it arrived. */
  readonly granted?: number
}

interface Sending {
  readonly topic: TopicName
  readonly payload: string
  readonly qos: QoS
  readonly retain: boolean
  readonly packetId: PacketId
  stage: 'published' | 'released'
  wasSent: boolean
}

type Said =
  | { readonly kind: 'packet'; readonly packet: Packet }
  | { readonly kind: 'publish'; readonly sending: Sending }

export class PacketClient {
  readonly id: string
  readonly traits: ClientTraits
  connection: Connection | undefined = undefined
  /** Whether CONNACK arrived. */
  isIn = false
  /** Starts a new session with its next connection. */
  cleanStart = false
  acknowledges = true
  readonly heard: Heard[] = []
  /** Reason codes of the received PUBACK and PUBREC, by payload. */
  readonly acknowledged = new Map<string, number>()
  /** For each PINGRESP: the number of messages that arrived before it. */
  readonly pinged: number[] = []
  /** Filters that SUBACK granted. */
  readonly subscribed = new Map<string, number>()
  /** Payloads whose packet identifier is free again. */
  readonly finished = new Set<string>()
  readonly #unfinished: Sending[] = []
  readonly #received = new Set<PacketId>()
  readonly #subscribing = new Map<PacketId, string[]>()
  #toSay: Said[] = []
  #toHear: (() => void)[] = []

  constructor(id: string, traits: Partial<ClientTraits>) {
    this.id = id
    this.traits = {
      version: 5,
      expirySeconds: 0,
      receiveMaximum: 65_535,
      will: undefined,
      isOfGateway: false,
      ...traits,
    }
  }

  get payloads(): string[] {
    return this.heard.map(({ payload }) => payload)
  }

  get hasToSay(): boolean {
    return this.connection !== undefined && this.#toSay.length > 0 && !this.connection.isPaused
  }

  get hasToHear(): boolean {
    return this.#toHear.length > 0
  }

  get unfinishedCount(): number {
    return this.#unfinished.length
  }

  /** Opens a new connection and sends CONNECT. */
  open(): Connection {
    this.connection = newConnection(this, this.traits.isOfGateway ? { gateway: { name: 'CoAP', version: 1 } } : {})
    this.#toSay = [{ kind: 'packet', packet: this.#connect() }]
    return this.connection
  }

  /** Drops all packets in both directions. */
  lose(): void {
    this.connection = undefined
    this.isIn = false
    this.#toSay = []
    this.#toHear = []
    this.#subscribing.clear()
  }

  subscribe(filter: string, options: Partial<SubscriptionRequest> & { retainHandling?: RetainHandling } = {}): void {
    this.subscribeTo([filter], options)
  }

  /** Subscribes to all filters with one SUBSCRIBE. */
  subscribeTo(filters: readonly string[], options: Partial<SubscriptionRequest> = {}): void {
    const packetId = this.#nextId()
    const subscriptions = filters.map((filter): SubscriptionRequest => ({
      filter: filter as TopicFilter,
      qos: 2,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
      ...options,
    }))
    this.#subscribing.set(packetId, [...filters])
    this.#speak({ type: 'subscribe', packetId, subscriptions, properties: undefined })
  }

  unsubscribe(filter: string): void {
    this.subscribed.delete(filter)
    this.#speak({
      type: 'unsubscribe',
      packetId: this.#nextId(),
      filters: [filter as TopicFilter],
      properties: undefined,
    })
  }

  publish(topic: string, payload: string, how: { qos?: QoS; retain?: boolean } = {}): void {
    const name = parseTopicName(topic)
    if (name === undefined) throw new Error(`${topic} is no topic`)
    const qos = how.qos ?? 0
    const sending: Sending = {
      topic: name,
      payload,
      qos,
      retain: how.retain ?? false,
      packetId: qos === 0 ? 0 : this.#nextId(),
      stage: 'published',
      wasSent: false,
    }
    if (qos > 0) this.#unfinished.push(sending)
    // Before CONNACK, the message is only recorded: CONNACK sends all unfinished ones.
    if (this.isIn) this.#toSay.push({ kind: 'publish', sending })
  }

  ping(): void {
    this.#speak({ type: 'pingreq' })
  }

  disconnect(): void {
    this.#speak({ type: 'disconnect', reasonCode: reasonCodes.normalDisconnection, properties: undefined })
  }

  /** Takes the next packet to send. */
  say(topics: TopicTable): Packet | undefined {
    const said = this.#toSay.shift()
    if (said === undefined) return undefined
    return said.kind === 'packet' ? said.packet : publishPacket(said.sending, topics)
  }

  /** Adds a packet of the core, to be processed later. */
  receive(sends: SendList, index: number): void {
    const head = sends.head[index]
    const what = sends.what[index]
    if (what instanceof Message) {
      const heard: Heard = {
        topic: what.topic.name,
        payload: what.payload().toString(),
        qos: headBits.qos(head),
        retain: headBits.retain(head),
        dup: headBits.dup(head),
      }
      this.#toHear.push(() => this.#hearPublish(heard, headBits.packetId(head)))
    } else if (what !== undefined) {
      this.#toHear.push(() => this.#hearPacket(what))
    } else {
      const type = ackTypes[headBits.kind(head) - 1] ?? 'puback'
      this.#toHear.push(() => this.#hearPacket(new AckPacket(type, headBits.packetId(head), 0, undefined)))
    }
  }

  hear(): void {
    this.#toHear.shift()?.()
  }

  #hearPublish(heard: Heard, packetId: PacketId): void {
    if (heard.qos === 2 && this.#received.has(packetId)) {
      this.#acknowledge('pubrec', packetId)
      return
    }
    this.heard.push({ ...heard, granted: this.subscribed.size })
    if (heard.qos === 1) this.#acknowledge('puback', packetId)
    if (heard.qos === 2) {
      this.#received.add(packetId)
      this.#acknowledge('pubrec', packetId)
    }
  }

  #hearPacket(packet: Packet): void {
    if (packet.type === 'connack') return this.#hearConnack(packet.reasonCode, packet.sessionPresent)
    if (packet.type === 'suback') {
      for (const [place, filter] of (this.#subscribing.get(packet.packetId) ?? []).entries())
        this.subscribed.set(filter, packet.reasonCodes[place])
    }
    if (packet.type === 'pingresp') this.pinged.push(this.heard.length)
    if (packet.type === 'puback') this.#finish(packet)
    if (packet.type === 'pubrec') this.#hearPubrec(packet)
    if (packet.type === 'pubcomp') this.#finish(packet)
    if (packet.type === 'pubrel') {
      this.#received.delete(packet.packetId)
      this.#acknowledge('pubcomp', packet.packetId)
    }
  }

  #hearConnack(reasonCode: number, sessionPresent: boolean): void {
    if (reasonCode !== 0) return
    this.isIn = true
    if (!sessionPresent) this.#forgetSession()
    for (const sending of this.#unfinished) {
      if (sending.stage === 'published') this.#toSay.push({ kind: 'publish', sending })
      else this.#speak(new AckPacket('pubrel', sending.packetId, 0, undefined))
    }
  }

  /** [MQTT5-3.2.2-5] The broker has no session: the earlier messages are lost. */
  #forgetSession(): void {
    this.#received.clear()
    const unsaid = this.#unfinished.filter(({ wasSent }) => !wasSent)
    this.#unfinished.splice(0, this.#unfinished.length, ...unsaid)
  }

  #hearPubrec(packet: AckPacket): void {
    const sending = this.#unfinished.find(({ packetId }) => packetId === packet.packetId)
    if (sending === undefined) return
    this.acknowledged.set(sending.payload, packet.reasonCode)
    if (packet.reasonCode >= 0x80) {
      this.#finish(packet)
      return
    }
    sending.stage = 'released'
    this.#speak(new AckPacket('pubrel', packet.packetId, 0, undefined))
  }

  #finish(packet: AckPacket): void {
    const at = this.#unfinished.findIndex(({ packetId }) => packetId === packet.packetId)
    if (at === -1) return
    const [sending] = this.#unfinished.splice(at, 1)
    if (packet.type === 'puback') this.acknowledged.set(sending.payload, packet.reasonCode)
    this.finished.add(sending.payload)
  }

  #acknowledge(type: AckType, packetId: PacketId): void {
    if (this.acknowledges) this.#speak(new AckPacket(type, packetId, 0, undefined))
  }

  #speak(packet: Packet): void {
    this.#toSay.push({ kind: 'packet', packet })
  }

  /** The lowest free packet identifier: identifiers are reused as early as possible. */
  #nextId(): PacketId {
    const used = new Set([...this.#unfinished.map(({ packetId }) => packetId), ...this.#subscribing.keys()])
    for (let id = 1; ; id++) if (!used.has(id)) return id
  }

  #connect(): ConnectPacket {
    const { version, expirySeconds, receiveMaximum, will } = this.traits
    const cleanStart = this.cleanStart || expirySeconds === 0
    return plainConnect(version, this.id, {
      cleanStart,
      will:
        will === undefined
          ? undefined
          : { ...will, topic: will.topic as TopicName, payload: Buffer.from(will.payload), properties: undefined },
      properties: version === 5 ? { sessionExpiryIntervalSeconds: expirySeconds, receiveMaximum } : undefined,
    })
  }
}

/** Has the order of `sendKinds`, which begins with `publish`. */
const ackTypes: readonly AckType[] = ['puback', 'pubrec', 'pubrel', 'pubcomp']

function publishPacket(sending: Sending, topics: TopicTable): PublishPacket {
  const payload = Buffer.from(sending.payload)
  const flags = { qos: sending.qos, retain: sending.retain, dup: sending.wasSent }
  const packet = new PublishPacket(topics.named(sending.topic), flags, payload)
  packet.packetId = sending.packetId
  packet.frameEnd = payload.length
  sending.wasSent = true
  return packet
}
