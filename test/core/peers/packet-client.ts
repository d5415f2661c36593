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
  isGatewayClient: boolean
}

export interface ReceivedMessage {
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

type UnsentPacket =
  | { readonly kind: 'packet'; readonly packet: Packet }
  | { readonly kind: 'publish'; readonly sending: Sending }

export class PacketClient {
  readonly id: string
  readonly traits: ClientTraits
  connection: Connection | undefined = undefined
  /** Whether CONNACK arrived. */
  isConnected = false
  /** Starts a new session with its next connection. */
  cleanStart = false
  acknowledges = true
  readonly received: ReceivedMessage[] = []
  /** Reason codes of the received PUBACK and PUBREC, by payload. */
  readonly acknowledged = new Map<string, number>()
  /** For each PINGRESP: the number of messages that arrived before it. */
  readonly pingresps: number[] = []
  /** Filters that SUBACK granted. */
  readonly grantedQoS = new Map<string, number>()
  /** Payloads whose packet identifier is free again. */
  readonly completed = new Set<string>()
  readonly #unfinished: Sending[] = []
  readonly #received = new Set<PacketId>()
  readonly #subscribing = new Map<PacketId, string[]>()
  #unsent: UnsentPacket[] = []
  #unprocessed: (() => void)[] = []

  constructor(id: string, traits: Partial<ClientTraits>) {
    this.id = id
    this.traits = {
      version: 5,
      expirySeconds: 0,
      receiveMaximum: 65_535,
      will: undefined,
      isGatewayClient: false,
      ...traits,
    }
  }

  get payloads(): string[] {
    return this.received.map(({ payload }) => payload)
  }

  get hasPacketToSend(): boolean {
    return this.connection !== undefined && this.#unsent.length > 0 && !this.connection.isPaused
  }

  get hasPacketToProcess(): boolean {
    return this.#unprocessed.length > 0
  }

  get unfinishedCount(): number {
    return this.#unfinished.length
  }

  /** Opens a new connection and sends CONNECT. */
  open(): Connection {
    this.connection = newConnection(this, this.traits.isGatewayClient ? { gateway: { name: 'CoAP', version: 1 } } : {})
    this.#unsent = [{ kind: 'packet', packet: this.#connect() }]
    return this.connection
  }

  /** Drops all packets in both directions. */
  loseConnection(): void {
    this.connection = undefined
    this.isConnected = false
    this.#unsent = []
    this.#unprocessed = []
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
    this.#send({ type: 'subscribe', packetId, subscriptions, properties: undefined })
  }

  unsubscribe(filter: string): void {
    this.grantedQoS.delete(filter)
    this.#send({
      type: 'unsubscribe',
      packetId: this.#nextId(),
      filters: [filter as TopicFilter],
      properties: undefined,
    })
  }

  publish(topic: string, payload: string, how: { qos?: QoS; retain?: boolean } = {}): void {
    const name = parseTopicName(topic)
    if (name === undefined) throw new Error(`${topic} is not a topic`)
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
    if (this.isConnected) this.#unsent.push({ kind: 'publish', sending })
  }

  ping(): void {
    this.#send({ type: 'pingreq' })
  }

  disconnect(): void {
    this.#send({ type: 'disconnect', reasonCode: reasonCodes.normalDisconnection, properties: undefined })
  }

  /** Takes the next packet to send. */
  takePacket(topics: TopicTable): Packet | undefined {
    const unsent = this.#unsent.shift()
    if (unsent === undefined) return undefined
    return unsent.kind === 'packet' ? unsent.packet : publishPacket(unsent.sending, topics)
  }

  /** Adds a packet of the core, to be processed later. */
  receive(sends: SendList, index: number): void {
    const head = sends.head[index]
    const what = sends.what[index]
    if (what instanceof Message) {
      const received: ReceivedMessage = {
        topic: what.topic.name,
        payload: what.readPayload().toString(),
        qos: headBits.qos(head),
        retain: headBits.retain(head),
        dup: headBits.dup(head),
      }
      this.#unprocessed.push(() => this.#handlePublish(received, headBits.packetId(head)))
    } else if (what !== undefined) {
      this.#unprocessed.push(() => this.#handlePacket(what))
    } else {
      const type = ackTypes[headBits.kind(head) - 1] ?? 'puback'
      this.#unprocessed.push(() => this.#handlePacket(new AckPacket(type, headBits.packetId(head), 0, undefined)))
    }
  }

  processPacket(): void {
    this.#unprocessed.shift()?.()
  }

  #handlePublish(received: ReceivedMessage, packetId: PacketId): void {
    if (received.qos === 2 && this.#received.has(packetId)) {
      this.#acknowledge('pubrec', packetId)
      return
    }
    this.received.push({ ...received, granted: this.grantedQoS.size })
    if (received.qos === 1) this.#acknowledge('puback', packetId)
    if (received.qos === 2) {
      this.#received.add(packetId)
      this.#acknowledge('pubrec', packetId)
    }
  }

  #handlePacket(packet: Packet): void {
    if (packet.type === 'connack') return this.#handleConnack(packet.reasonCode, packet.sessionPresent)
    if (packet.type === 'suback') {
      for (const [place, filter] of (this.#subscribing.get(packet.packetId) ?? []).entries())
        this.grantedQoS.set(filter, packet.reasonCodes[place])
    }
    if (packet.type === 'pingresp') this.pingresps.push(this.received.length)
    if (packet.type === 'puback') this.#complete(packet)
    if (packet.type === 'pubrec') this.#handlePubrec(packet)
    if (packet.type === 'pubcomp') this.#complete(packet)
    if (packet.type === 'pubrel') {
      this.#received.delete(packet.packetId)
      this.#acknowledge('pubcomp', packet.packetId)
    }
  }

  #handleConnack(reasonCode: number, sessionPresent: boolean): void {
    if (reasonCode !== 0) return
    this.isConnected = true
    if (!sessionPresent) this.#discardSession()
    for (const sending of this.#unfinished) {
      if (sending.stage === 'published') this.#unsent.push({ kind: 'publish', sending })
      else this.#send(new AckPacket('pubrel', sending.packetId, 0, undefined))
    }
  }

  /** [MQTT5-3.2.2-5] The broker has no session: the earlier messages are lost. */
  #discardSession(): void {
    this.#received.clear()
    const neverSent = this.#unfinished.filter(({ wasSent }) => !wasSent)
    this.#unfinished.splice(0, this.#unfinished.length, ...neverSent)
  }

  #handlePubrec(packet: AckPacket): void {
    const sending = this.#unfinished.find(({ packetId }) => packetId === packet.packetId)
    if (sending === undefined) return
    this.acknowledged.set(sending.payload, packet.reasonCode)
    if (packet.reasonCode >= 0x80) {
      this.#complete(packet)
      return
    }
    sending.stage = 'released'
    this.#send(new AckPacket('pubrel', packet.packetId, 0, undefined))
  }

  #complete(packet: AckPacket): void {
    const at = this.#unfinished.findIndex(({ packetId }) => packetId === packet.packetId)
    if (at === -1) return
    const [sending] = this.#unfinished.splice(at, 1)
    if (packet.type === 'puback') this.acknowledged.set(sending.payload, packet.reasonCode)
    this.completed.add(sending.payload)
  }

  #acknowledge(type: AckType, packetId: PacketId): void {
    if (this.acknowledges) this.#send(new AckPacket(type, packetId, 0, undefined))
  }

  #send(packet: Packet): void {
    this.#unsent.push({ kind: 'packet', packet })
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
  const packet = new PublishPacket(topics.internName(sending.topic), flags, payload)
  packet.packetId = sending.packetId
  packet.frameEnd = payload.length
  sending.wasSent = true
  return packet
}
