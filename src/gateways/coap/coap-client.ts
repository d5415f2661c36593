// One client of the CoAP gateway: its connection to the broker, its observations, and its requests without a response
// of the broker.

import { hash, timingSafeEqual } from 'node:crypto'
import { createConnectPacket } from '../../mqtt-client/index.ts'
import { type GatewayClient, readOnlyEnd, readOnlySubscription } from '../../core/index.ts'
import {
  type ConnackPacket,
  type Packet,
  type PublishPacket,
  type QoS,
  reasonCodes,
  type TopicFilter,
  type TopicName,
  type TopicTable,
} from '../../protocol/index.ts'
import {
  type GatewayDependencies,
  maxUnsentBytes,
  type MqttConnection,
  type MqttConnectionCallbacks,
  toPublishFields,
} from '../gateway.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { type Observation, CoapObservations } from './coap-observations.ts'
import { type RetainedReadDone, RetainedReads } from './coap-retained-reads.ts'
import type { CoapSettings } from './coap-settings.ts'
import { toPingIntervalMs } from '../ping-interval.ts'

/** Compares secrets in constant time. */
function isSameSecret(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'))
}

export interface CoapCredentials {
  readonly clientId: string
  readonly username: string | undefined
  readonly password: string | undefined
}

/** Called with the response of the broker: a reason code of MQTT 5.0. */
export type ResponseCallback = (reasonCode: number) => void

export interface SubscribeRequest {
  readonly filter: TopicFilter
  /** Path and query of the request. */
  readonly target: string
  readonly qos: QoS
  readonly noLocal: boolean
  readonly retainHandling: 0 | 1 | 2
}

const maxPending = 256
const receiveMaximum = 64
const msPerSecond = 1_000
const lostAfter = 1.5
export interface CoapClientDependencies {
  /** Topics of all clients. */
  readonly topics: TopicTable
  readonly settings: CoapSettings
  readonly dependencies: GatewayDependencies
  notify(client: CoapClient, observation: Observation, packet: PublishPacket, settled: () => void): void
  onEnded(client: CoapClient): void
  /** Called when `dueAtMs` of the client has changed. */
  schedule(client: CoapClient): void
}

/** Most clients are idle, and there are many, so objects that only a busy client needs are created on first use. */
export class CoapClient implements MqttConnectionCallbacks, GatewayClient {
  readonly credentials: CoapCredentials
  /** Token of the connection; undefined: the client sends requests without a token. */
  readonly token: string | undefined
  /** Latest address of the client. */
  peer: PeerAddress
  /** First address of the client, under which it is counted. */
  readonly firstAddress: string
  /** Address and association to which the token was sent. */
  readonly firstPeer: PeerAddress
  readonly #gateway: CoapClientDependencies
  readonly #mqtt: MqttConnection
  #state: 'connecting' | 'open' | 'ended' = 'connecting'
  #whenOpen: ResponseCallback[] | undefined
  #pending: Map<number, ResponseCallback> | undefined
  #observations: CoapObservations | undefined
  #retainedReads: RetainedReads | undefined
  #nextPacketId = 1
  #sentPings = 0
  #receivedPingresps = 0
  #receivedAtMs: number
  #nextPingAtMs: number
  #pingIntervalMs: number

  constructor(
    gateway: CoapClientDependencies,
    { credentials, token, peer }: { credentials: CoapCredentials; token: string | undefined; peer: PeerAddress },
  ) {
    this.#gateway = gateway
    this.credentials = credentials
    this.token = token
    this.peer = peer
    this.firstAddress = peer.address
    this.firstPeer = peer
    const nowMs = gateway.dependencies.nowMs()
    this.#receivedAtMs = nowMs
    this.#pingIntervalMs = gateway.settings.heartbeatMs / 2
    this.#nextPingAtMs = nowMs + this.#pingIntervalMs
    this.#mqtt = gateway.dependencies.openMqtt(peer, this, this)
    this.#connect()
  }

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  get dueAtMs(): number {
    return Math.min(this.#lostAtMs, this.#nextPingAtMs, this.#retainedReads?.dueAtMs ?? Infinity)
  }

  hasToken(token: string | undefined): boolean {
    return this.token !== undefined && isSameSecret(this.token, token)
  }

  hasCredentials({ username, password }: CoapCredentials): boolean {
    return this.credentials.username === username && isSameSecret(this.credentials.password, password)
  }

  findObservation(token: Buffer): Observation | undefined {
    return this.#observations?.withToken(token)
  }

  // For lists and rules by address

  get address(): string {
    return this.peer.address
  }

  get port(): number {
    return this.peer.port
  }

  recordReceived(peer: PeerAddress): void {
    this.#receivedAtMs = this.#gateway.dependencies.nowMs()
    const { peer: before } = this
    this.peer = peer
    if (before.address === peer.address && before.port === peer.port) return
    this.#mqtt.reportClientChange()
    // With the next packet, the broker checks whether the client may be connected from this address.
    if (before.address !== peer.address && this.#state === 'open') this.#ping()
  }

  /** Calls back when the broker has accepted or refused the client. */
  runWhenOpen(onResponse: ResponseCallback): void {
    if (this.#state === 'open') onResponse(reasonCodes.success)
    else if (this.#state === 'ended' || (this.#whenOpen?.length ?? 0) >= maxPending) onResponse(reasonCodes.serverBusy)
    else (this.#whenOpen ??= []).push(onResponse)
  }

  publish(
    message: { topic: TopicName; payload: Buffer; qos: QoS; retain: boolean; expirySeconds: number | undefined },
    onResponse: ResponseCallback,
  ): void {
    const { topic, payload, qos, retain, expirySeconds } = message
    const packetId = qos === 0 ? 0 : this.#takePacketId()
    if (packetId === undefined || this.#mqtt.unsentBytes > maxUnsentBytes) return onResponse(reasonCodes.serverBusy)
    if (qos > 0) this.#expect(packetId, onResponse)
    const named = this.#gateway.topics.internName(topic)
    this.#mqtt.publish(toPublishFields({ topic: named, payload, qos, retain, packetId, expirySeconds }))
    if (qos === 0) onResponse(reasonCodes.success)
  }

  /** The same token replaces an observation. Undefined: the limit is reached. */
  observe(
    request: SubscribeRequest,
    token: Buffer,
    onResponse: (reasonCode: number, found: Observation) => void,
  ): boolean {
    const { filter, qos, noLocal, retainHandling } = request
    const known = this.findObservation(token)
    if (known !== undefined && known.filter !== request.filter) this.cancel(known)
    const packetId = this.#takePacketId()
    if (packetId === undefined) return false
    const observation = (this.#observations ??= new CoapObservations()).add(
      request,
      token,
      this.#gateway.dependencies.nowMs(),
    )
    if (observation === undefined) return false
    this.#expect(packetId, (reasonCode) => {
      if (reasonCode >= reasonCodes.unspecifiedError) this.#observations?.delete(observation)
      onResponse(reasonCode, observation)
    })
    this.#mqtt.send({
      type: 'subscribe',
      packetId,
      subscriptions: [{ filter, qos, noLocal, retainHandling, retainAsPublished: false }],
      properties: { subscriptionIdentifier: observation.subscriptionId },
    })
    return true
  }

  cancel(observation: Observation): void {
    const { filter } = observation
    if (this.#observations?.delete(observation) !== true) return
    const packetId = this.#takePacketId()
    if (packetId === undefined || this.#state === 'ended') return
    this.#expect(packetId, () => {})
    this.#mqtt.send({ type: 'unsubscribe', packetId, filters: [filter], properties: undefined })
  }

  /**
   * Reads the retained message of a topic, through a subscription that ends at once and changes no other. Returns false if that is not
   * possible now.
   */
  readRetained(topic: TopicName, onResponse: RetainedReadDone): boolean {
    const reads = (this.#retainedReads ??= new RetainedReads())
    if (reads.has(topic)) return reads.join(topic, onResponse)
    const packetId = this.#takePacketId()
    if (packetId === undefined) return false
    const filter = topic as unknown as TopicFilter
    const isObserved = this.#observations?.isSubscribed(filter) === true
    reads.add(topic, { atMs: this.#gateway.dependencies.nowMs(), isObserved, done: onResponse }, () => {
      const unsubscribeId = this.#state === 'open' ? this.#takePacketId() : undefined
      if (unsubscribeId === undefined) return
      this.#expect(unsubscribeId, () => {})
      this.#mqtt.send({ type: 'unsubscribe', packetId: unsubscribeId, filters: [filter], properties: readOnlyEnd })
    })
    this.#expect(packetId, (reasonCode) => {
      if (reasonCode < reasonCodes.unspecifiedError) {
        this.#ping()
        return reads.recordSubscribed(topic, this.#sentPings)
      }
      reads.refuse(topic, reasonCode)
    })
    const request = { filter, qos: 0, noLocal: false, retainAsPublished: true, retainHandling: 0 } as const
    this.#mqtt.send({ type: 'subscribe', packetId, subscriptions: [request], properties: readOnlySubscription })
    this.#gateway.schedule(this)
    return true
  }

  tick(): void {
    const nowMs = this.#gateway.dependencies.nowMs()
    if (nowMs >= this.#lostAtMs) return this.end(this.token === undefined ? 'normal' : 'lost')
    this.#retainedReads?.endDue(nowMs)
    if (nowMs < this.#nextPingAtMs) return
    this.#nextPingAtMs = nowMs + this.#pingIntervalMs
    this.#ping()
  }

  #ping(): void {
    this.#sentPings++
    this.#mqtt.send({ type: 'pingreq' })
  }

  end(why: 'normal' | 'lost'): void {
    const reasonCode = why === 'lost' ? reasonCodes.disconnectWithWill : reasonCodes.normalDisconnection
    if (this.#state !== 'ended') this.#mqtt.end({ type: 'disconnect', reasonCode, properties: undefined })
    this.#end(reasonCodes.unspecifiedError)
  }

  /** A client without a token remains while it observes, and for a time after that. */
  get #lostAtMs(): number {
    const { heartbeatMs, idleTimeoutMs } = this.#gateway.settings
    if (this.token !== undefined) return this.#receivedAtMs + heartbeatMs * lostAfter
    return (this.#observations?.size ?? 0) > 0 ? Infinity : this.#receivedAtMs + idleTimeoutMs
  }

  #connect(): void {
    const { clientId, username, password } = this.credentials
    this.#mqtt.send(
      createConnectPacket({
        version: 5,
        clientId,
        cleanStart: true,
        keepAliveSeconds: Math.ceil(this.#gateway.settings.heartbeatMs / msPerSecond),
        username,
        password: password === undefined ? undefined : Buffer.from(password),
        properties: { sessionExpiryIntervalSeconds: 0, receiveMaximum },
      }),
    )
  }

  handleClosed(): void {
    this.#end(reasonCodes.unspecifiedError)
  }

  handlePacket(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#handleConnack(packet)
      case 'publish':
        return this.#handleDelivery(packet)
      case 'puback':
        return this.#handleResponse(packet.packetId, packet.reasonCode)
      case 'pubrec':
        if (packet.reasonCode >= reasonCodes.unspecifiedError)
          return this.#handleResponse(packet.packetId, packet.reasonCode)
        return this.#mqtt.acknowledge('pubrel', packet.packetId)
      case 'pubcomp':
        return this.#handleResponse(packet.packetId, reasonCodes.success)
      case 'pubrel':
        return this.#mqtt.acknowledge('pubcomp', packet.packetId)
      case 'suback':
      case 'unsuback':
        return this.#handleResponse(packet.packetId, packet.reasonCodes[0] ?? reasonCodes.unspecifiedError)
      case 'pingresp':
        this.#receivedPingresps++
        return this.#retainedReads?.handlePingresp(this.#receivedPingresps)
      case 'disconnect':
        return this.#end(packet.reasonCode)
      default:
        return undefined
    }
  }

  #handleConnack({ reasonCode, properties }: ConnackPacket): void {
    const seconds = properties?.serverKeepAliveSeconds
    if (seconds !== undefined) this.#pingIntervalMs = toPingIntervalMs(seconds)
    if (reasonCode === reasonCodes.success) this.#state = 'open'
    for (const onResponse of this.#takeWaiting()) onResponse(reasonCode)
    if (reasonCode !== reasonCodes.success) this.#end(reasonCode)
  }

  #handleDelivery(packet: PublishPacket): void {
    const settle = (): void => {
      if (this.#state === 'ended') return
      if (packet.qos === 1) this.#mqtt.acknowledge('puback', packet.packetId)
      else if (packet.qos === 2) this.#mqtt.acknowledge('pubrec', packet.packetId)
    }
    const name = packet.topic?.name ?? ''
    if (packet.retain && this.#retainedReads?.take(name, packet) === true) return settle()
    const ids = packet.properties?.subscriptionIdentifiers ?? []
    const observations = ids.flatMap((id) => this.#observations?.listOfSubscription(id) ?? [])
    let open = observations.length
    if (open === 0) return settle()
    const settleOne = (): void => {
      if (--open === 0) settle()
    }
    for (const observation of observations) this.#gateway.notify(this, observation, packet, settleOne)
  }

  #handleResponse(packetId: number, reasonCode: number): void {
    const onResponse = this.#pending?.get(packetId)
    this.#pending?.delete(packetId)
    onResponse?.(reasonCode)
  }

  #takePacketId(): number | undefined {
    if ((this.#pending?.size ?? 0) >= maxPending) return undefined
    do this.#nextPacketId = this.#nextPacketId >= 0xffff ? 1 : this.#nextPacketId + 1
    while (this.#pending?.has(this.#nextPacketId) === true)
    return this.#nextPacketId
  }

  #expect(packetId: number, onResponse: ResponseCallback): void {
    this.#pending ??= new Map()
    this.#pending.set(packetId, onResponse)
  }

  #takeWaiting(): readonly ResponseCallback[] {
    const waiting = this.#whenOpen ?? []
    this.#whenOpen = undefined
    return waiting
  }

  #end(reasonCode: number): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    for (const onResponse of [...this.#takeWaiting(), ...(this.#pending?.values() ?? [])]) onResponse(reasonCode)
    this.#pending = undefined
    this.#retainedReads?.endAll(reasonCode)
    this.#observations = undefined
    this.#gateway.onEnded(this)
  }
}
