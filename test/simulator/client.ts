// A client that follows the protocol: it keeps its session as the standard requires (packet identifiers, DUP, the broker's Receive
// Maximum, order of acknowledgements) and stores everything that it sent and received. Scenarios call its methods.

import {
  AckPacket,
  reasonCodes,
  type ConnackPacket,
  type DisconnectPacket,
  type DisconnectProperties,
  type Packet,
  type PacketId,
  type ProtocolVersion,
  type QoS,
  type ReasonCode,
  type SubackPacket,
  type TopicFilter,
  type UnsubackPacket,
} from '../../src/protocol/index.ts'
import { takeoverWaitMs } from '../../src/core/connect/takeover-wait.ts'
import { Inbox } from './client-inbox.ts'
import { connectPacketOf, type ConnectOptions, type ClientParts } from './client-options.ts'
import { Outbox } from './client-outbox.ts'
import {
  requestedSubscription,
  ClientSession,
  isSameFilter,
  Publication,
  type HeldSubscription,
  type PublishOptions,
  type ReceivedMessage,
  type SubscribeOptions,
  type WhatToPublish,
} from './client-session.ts'
import type { PlannedEvent, Stage } from './stage.ts'
import { openWire, type ClientListener, type Wire } from './wire.ts'

/** The part of the world that clients use. */
export interface ClientDependencies {
  readonly stage: Stage
  readonly broker: ClientListener
  /** Called after each action of a hand-written scenario: runs everything that takes no time. */
  settle(): void
}

const plainly = { noLocal: false, retainAsPublished: false, retainHandling: 0 } as const

/** The broker may have ended the connection this long before the client noticed, because disk and network were slow. */
const earlierNoticeMs = 8_000

/** A SUBSCRIBE or UNSUBSCRIBE without an acknowledgement: the subscriptions that begin with it and those that end. */
interface PendingRequest {
  readonly held: HeldSubscription[]
  readonly ending: HeldSubscription[]
}

export class Client implements ClientParts {
  readonly id: string
  readonly stage: Stage
  options: ConnectOptions
  /** The CONNACK of the last connection; undefined until it arrives. */
  connack: ConnackPacket | undefined
  /** The broker's DISCONNECT on the last connection. */
  disconnected: DisconnectPacket | undefined
  /** Everything that the scenario published, in order. */
  readonly publications: Publication[]
  readonly sessions: ClientSession[]
  wire: Wire | undefined
  /** Number of connections. */
  connections: number
  /** Called when the other side or the network ends the current connection. */
  whenEnded: () => void
  /** Called for each received message. */
  whenMessage: (message: ReceivedMessage) => void
  lastSeenConnectedAtMs: number
  /** Connections, from 1, that broke or whose end the broker did not wait for: packets may be lost. */
  readonly cutShort: Set<number>
  /** The step of the last successful CONNACK. */
  connectedStep: number
  private readonly surroundings: ClientDependencies
  private readonly outbox: Outbox
  private readonly inbox: Inbox
  private readonly pendingRequests: Map<PacketId, PendingRequest>
  private lastPacketId: number
  private connectAtMs: number
  private ping: PlannedEvent | undefined

  constructor(surroundings: ClientDependencies, id: string, options: ConnectOptions) {
    this.surroundings = surroundings
    this.stage = surroundings.stage
    this.id = id
    this.options = options
    this.connack = undefined
    this.disconnected = undefined
    this.publications = []
    this.sessions = []
    this.wire = undefined
    this.connections = 0
    this.whenEnded = () => undefined
    this.whenMessage = () => undefined
    this.lastSeenConnectedAtMs = 0
    this.cutShort = new Set()
    this.connectAtMs = 0
    this.connectedStep = Infinity
    this.outbox = new Outbox(this)
    this.inbox = new Inbox(this)
    this.pendingRequests = new Map()
    this.lastPacketId = 0
    this.ping = undefined
  }

  get version(): ProtocolVersion {
    return this.options.version ?? 5
  }

  /** CONNACK has arrived and the connection is open. */
  get isConnected(): boolean {
    return this.wire?.isOpen === true && this.connack?.reasonCode === 0
  }

  get hasOpenConnection(): boolean {
    return this.wire?.isOpen === true
  }

  get session(): ClientSession | undefined {
    const last = this.sessions.at(-1)
    return last?.endedStep === Infinity ? last : undefined
  }

  /** All received messages, in order. */
  get messages(): readonly ReceivedMessage[] {
    return this.inbox.messages
  }

  /** False: messages stay unacknowledged until `acknowledge`. */
  get acknowledges(): boolean {
    return this.inbox.acknowledges
  }

  set acknowledges(acknowledges: boolean) {
    this.inbox.acknowledges = acknowledges
  }

  /** Delay of each acknowledgement, in milliseconds. */
  get thinkMs(): () => number {
    return this.inbox.thinkMs
  }

  set thinkMs(thinkMs: () => number) {
    this.inbox.thinkMs = thinkMs
  }

  /** Payloads that the application received, without duplicates of QoS 2. */
  get payloads(): string[] {
    return this.messages.filter((message) => !message.isRepeat).map((message) => message.payload)
  }

  /** Number of publications without a final acknowledgement, sent or not. */
  get unfinished(): number {
    return this.outbox.waiting.length + (this.session?.outgoing.size ?? 0)
  }

  /** Received packets of one type on the current or last connection. */
  received<T extends Packet['type']>(type: T): Extract<Packet, { type: T }>[] {
    return this.wire?.of(type) ?? []
  }

  /** Opens a connection and sends CONNECT. A connection that is still open is taken over by the broker. */
  connect(options: ConnectOptions = {}): ConnackPacket | undefined {
    this.options = { ...this.options, ...options }
    if (this.isConnected) this.lastSeenConnectedAtMs = this.stage.nowMs
    this.connack = undefined
    this.disconnected = undefined
    const wire: Wire | undefined = openWire(this.stage, this.surroundings.broker, {
      name: this.id,
      version: this.version,
      maxPacketBytes: this.version < 5 ? undefined : this.options.maximumPacketBytes,
      network: this.options.network,
      user: {
        packet: (packet) => {
          if (this.wire === wire) this.take(packet)
        },
        ended: (isBroken) => {
          if (this.wire !== wire) return
          if (isBroken) this.cutShort.add(this.connections)
          this.lost()
          this.whenEnded()
        },
      },
    })
    this.leaveOldConnection()
    this.wire = wire
    if (wire === undefined) return undefined
    this.connections++
    this.connectAtMs = this.stage.nowMs
    const awayMs = this.stage.nowMs - this.lastSeenConnectedAtMs
    this.session?.noteConnect(this.stage.step, this.isCleanStart || this.expirySeconds === 0 ? Infinity : awayMs)
    wire.send(connectPacketOf(this.id, this.options))
    this.planPing()
    this.surroundings.settle()
    return this.connack
  }

  /** Publishes as soon as the broker's Receive Maximum and the connection allow it. */
  publish(topic: string, payload: string | Buffer, options: PublishOptions = {}): Publication {
    return this.publishAll([{ topic, payload }], options)[0]
  }

  /** Publishes messages that the broker receives in one turn. */
  publishAll(all: readonly WhatToPublish[], options: PublishOptions = {}): Publication[] {
    const publications = all.map((each) => new Publication(this.id, { ...options, ...each }))
    this.publications.push(...publications)
    this.outbox.publish(publications)
    this.surroundings.settle()
    return publications
  }

  /** Subscribes to one or more filters with the same options. Undefined: SUBACK has not arrived yet. */
  subscribe(filters: string | readonly string[], options: SubscribeOptions = {}): SubackPacket | undefined {
    const packetId = this.takePacketId()
    const { identifier, ...how } = options
    const subscriptions = [filters].flat().map((filter) => ({
      filter: filter as TopicFilter,
      qos: how.qos ?? 2,
      noLocal: how.noLocal ?? false,
      retainAsPublished: how.retainAsPublished ?? false,
      retainHandling: how.retainHandling ?? 0,
    }))
    const held = subscriptions.map((request) => requestedSubscription(request, identifier, this.stage.step))
    const ending = this.markEnding(held.map(({ request }) => request.filter))
    this.session?.subscriptions.push(...held)
    this.pendingRequests.set(packetId, { held, ending })
    const properties = identifier === undefined ? undefined : { subscriptionIdentifier: identifier }
    const { wire } = this
    wire?.send({ type: 'subscribe', packetId, subscriptions, properties })
    this.surroundings.settle()
    return wire?.of('suback').findLast((suback) => suback.packetId === packetId)
  }

  unsubscribe(filters: string | readonly string[]): UnsubackPacket | undefined {
    const packetId = this.takePacketId()
    const list = [filters].flat() as TopicFilter[]
    const ending = this.markEnding(list).filter(({ request }) => list.includes(request.filter))
    this.pendingRequests.set(packetId, { held: [], ending })
    const { wire } = this
    wire?.send({ type: 'unsubscribe', packetId, filters: list, properties: undefined })
    this.surroundings.settle()
    return wire?.of('unsuback').findLast((unsuback) => unsuback.packetId === packetId)
  }

  /**
   * An administrator subscribes for the client: callbacks for success and failure. The order with the client's own pending requests is
   * unknown: then the subscription, and the one that it replaces, apply perhaps.
   */
  beSubscribed(filter: string, qos: QoS): { granted: () => void; refused: () => void } {
    const held = requestedSubscription({ filter: filter as TopicFilter, qos, ...plainly }, undefined, this.stage.step)
    const ending = this.markEnding([filter])
    this.session?.subscriptions.push(held)
    const isCertain = this.pendingRequests.size === 0
    const granted = (): void => {
      if (!isCertain) return
      this.end(ending)
      held.grantedStep = this.stage.step
      held.grantedQoS = qos
    }
    return { granted, refused: () => void (held.isRefused = true) }
  }

  /** An administrator unsubscribes for the client: returns the callback for success. */
  beUnsubscribed(filter: string): () => void {
    const ending = this.markEnding([filter]).filter(({ request }) => request.filter === filter)
    const isCertain = this.pendingRequests.size === 0
    return () => (isCertain ? this.end(ending) : undefined)
  }

  /** Sends DISCONNECT and closes the connection. */
  disconnect(options: { reasonCode?: ReasonCode; properties?: DisconnectProperties } = {}): void {
    const { reasonCode = reasonCodes.normalDisconnection, properties } = options
    const expirySeconds = properties?.sessionExpiryIntervalSeconds
    if (expirySeconds !== undefined && this.session !== undefined) this.session.willExpireAfter(expirySeconds)
    this.wire?.send({ type: 'disconnect', reasonCode, properties })
    this.wire?.close()
    this.lost()
    this.surroundings.settle()
  }

  /** Breaks the connection; both sides notice. */
  drop(brokerAfterMs = 0): void {
    this.stage.record(this.id, () => `loses its connection (the broker notices after ${brokerAfterMs} ms)`)
    this.cutShort.add(this.connections)
    this.wire?.break(brokerAfterMs)
    this.lost()
    this.surroundings.settle()
  }

  /** Breaks the connection; the broker does not notice. */
  vanish(): void {
    this.stage.record(this.id, () => 'vanishes')
    this.cutShort.add(this.connections)
    this.wire?.break(undefined)
    this.lost()
    this.surroundings.settle()
  }

  sendPing(): void {
    this.wire?.send({ type: 'pingreq' })
    this.surroundings.settle()
  }

  stopReading(): void {
    this.wire?.stopReading()
  }

  resumeReading(): void {
    this.wire?.resumeReading()
    this.surroundings.settle()
  }

  /** Sends PUBACK or PUBREC for a message (see `acknowledges`). */
  acknowledge(message: ReceivedMessage, reasonCode: ReasonCode = reasonCodes.success): void {
    const type = message.qos === 1 ? 'puback' : 'pubrec'
    this.wire?.send(new AckPacket(type, message.packetId, reasonCode, undefined))
    this.surroundings.settle()
  }

  /** Sends PUBCOMP. */
  complete(packetId: PacketId): void {
    this.session?.incoming.delete(packetId)
    this.wire?.send(new AckPacket('pubcomp', packetId, reasonCodes.success, undefined))
    this.surroundings.settle()
  }

  private get isCleanStart(): boolean {
    return this.options.cleanStart ?? true
  }

  private get expirySeconds(): number {
    const { options } = this
    if (this.version < 5) return this.isCleanStart ? 0 : Infinity
    return (
      this.connack?.properties?.sessionExpiryIntervalSeconds ??
      options.sessionExpirySeconds ??
      options.properties?.sessionExpiryIntervalSeconds ??
      0
    )
  }

  /** Pending packets on the old connection are discarded; the session continues. */
  private leaveOldConnection(): void {
    this.stage.cancel(this.ping)
    this.pendingRequests.clear()
    this.inbox.forgetAliases()
    this.outbox.forgetAliases()
    for (const held of this.session?.subscriptions ?? []) {
      // Requested and not acknowledged: from now on it is unknown whether the subscription applies.
      if (held.grantedStep === Infinity && held.endSentStep === Infinity) held.endSentStep = this.stage.step
    }
    if (this.session?.expirySeconds === 0) this.session.endedStep = this.stage.step
  }

  private lost(): void {
    if (this.isConnected || this.connack?.reasonCode === 0) this.lastSeenConnectedAtMs = this.stage.nowMs
    this.leaveOldConnection()
  }

  private take(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        this.takeConnack(packet)
        return
      case 'publish':
        this.whenMessage(this.inbox.takePublish(packet))
        return
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        this.outbox.handleAck(packet)
        return
      case 'pubrel':
        this.inbox.takeRelease(packet.packetId)
        return
      case 'suback':
        this.takeSuback(packet)
        return
      case 'unsuback':
        this.takeUnsuback(packet)
        return
      case 'disconnect':
        this.disconnected = packet
        return
      default:
    }
  }

  private takeConnack(connack: ConnackPacket): void {
    this.connack = connack
    if (connack.reasonCode !== 0) return this.session?.refused()
    this.connectedStep = this.stage.step
    if (this.stage.nowMs - this.connectAtMs >= takeoverWaitMs) this.cutShort.add(this.connections - 1)
    // MQTT 3.1 has no such flag: its clients assume that the requested session exists.
    const isResumed = this.version === 3 ? !this.isCleanStart && this.session !== undefined : connack.sessionPresent
    if (isResumed) this.resume()
    else this.begin()
    this.planPing()
    this.outbox.pump()
  }

  private begin(): void {
    const old = this.session
    if (old !== undefined) {
      const knownGoneMs = this.stage.nowMs - this.lastSeenConnectedAtMs + earlierNoticeMs
      if (!this.isCleanStart && !old.mayBeGone && old.expirySeconds * 1_000 > knownGoneMs) {
        this.stage.fail(`the broker lost the session of ${this.id}`)
      }
      old.endedStep = this.stage.step
    }
    this.startSession()
  }

  private startSession(): void {
    const { expirySeconds } = this
    this.sessions.push(new ClientSession({ number: this.sessions.length + 1, step: this.stage.step, expirySeconds }))
  }

  private resume(): void {
    if (this.session === undefined) {
      // The CONNACK that created the session was lost. The client only knows that the session exists.
      if (this.sessions.length === 0 && this.connections === 1)
        this.stage.fail(`the broker gave ${this.id} a session that it never had`)
      return this.startSession()
    }
    const awayMs = this.stage.nowMs - this.lastSeenConnectedAtMs + earlierNoticeMs
    const { step, nowMs } = this.stage
    this.session.resumed({ step, nowMs, lastSeenMs: this.lastSeenConnectedAtMs, awayMs, hasFlag: this.version > 3 })
    this.session.expirySeconds = this.expirySeconds
    this.outbox.resume()
  }

  private takeSuback(suback: SubackPacket): void {
    const request = this.pendingRequests.get(suback.packetId)
    if (request === undefined)
      return this.stage.fail(`the broker sent SUBACK ${suback.packetId} to ${this.id}, which sent no such request`)
    this.pendingRequests.delete(suback.packetId)
    const { held, ending } = request
    const codes = suback.reasonCodes.length
    if (held.length !== codes)
      this.stage.fail(`the broker sent ${codes} reason codes for ${held.length} filters of ${this.id}`)
    held.forEach((subscription, at) => {
      const code = suback.reasonCodes[at] ?? 0x80
      if (code > subscription.request.qos && code < 0x80)
        this.stage.fail(`the broker granted ${this.id} more than it requested`)
      if (code >= 0x80) subscription.isRefused = true
      else {
        this.end(ending.filter((one) => isSameFilter(one.request.filter, subscription.request.filter)))
        subscription.grantedStep = this.stage.step
        subscription.grantedQoS = code as QoS
      }
    })
  }

  private takeUnsuback(unsuback: UnsubackPacket): void {
    const request = this.pendingRequests.get(unsuback.packetId)
    if (request === undefined)
      return this.stage.fail(`the broker sent UNSUBACK ${unsuback.packetId} to ${this.id}, which sent no such request`)
    this.pendingRequests.delete(unsuback.packetId)
    this.end(request.ending)
  }

  private end(ending: readonly HeldSubscription[]): void {
    for (const held of ending) held.endedStep = Math.min(held.endedStep, this.stage.step)
  }

  /** Marks the subscriptions that end when this packet is acknowledged: from now on they apply perhaps. */
  private markEnding(filters: readonly string[]): HeldSubscription[] {
    const ending = (this.session?.subscriptions ?? []).filter(
      (held) => filters.some((filter) => isSameFilter(filter, held.request.filter)) && held.endedStep === Infinity,
    )
    for (const held of ending) held.endSentStep = Math.min(held.endSentStep, this.stage.step)
    return ending
  }

  /** Returns a packet identifier that is not in use. */
  takePacketId(): PacketId {
    const outgoing = this.session?.outgoing
    do this.lastPacketId = (this.lastPacketId % 65_535) + 1
    while (outgoing?.has(this.lastPacketId) === true || this.pendingRequests.has(this.lastPacketId))
    return this.lastPacketId
  }

  private planPing(): void {
    this.stage.cancel(this.ping)
    const seconds = this.connack?.properties?.serverKeepAliveSeconds ?? this.options.keepAliveSeconds ?? 0
    if (this.options.pings !== true || seconds === 0) return
    const { wire } = this
    this.ping = this.stage.after(seconds * 700, () => {
      if (this.wire !== wire || wire?.isOpen !== true) return
      wire.send({ type: 'pingreq' })
      this.planPing()
    })
  }
}
