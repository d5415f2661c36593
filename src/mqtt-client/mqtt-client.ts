// A client of a broker over one byte stream, from CONNECT to the end of the connection: messages in both directions with their
// acknowledgements, subscriptions, keep alive. It does not connect again.
//
//   publish ──► queue ──► window of the broker ──► PUBLISH ──► PUBACK | PUBREC, PUBREL, PUBCOMP ──► result
//                         (Receive Maximum)

import {
  type AckPacket,
  type ConnackPacket,
  type ConnectPacket,
  type DisconnectPacket,
  type MessageProperties,
  type Packet,
  type PacketId,
  type ProtocolError,
  type ProtocolVersion,
  type PublishPacket,
  type QoS,
  reasonCodes,
  describeReason,
  type SubackPacket,
  type SubscribePacket,
  type TopicName,
  type UnsubackPacket,
  type UnsubscribePacket,
} from '../protocol/index.ts'
import { createDisconnectPacket } from './client-packets.ts'
import { KeepAlive, selectShorterKeepAlive } from './keep-alive.ts'
import { type ClientStream, type LinkCallbacks, type LinkOptions, PacketLink } from './packet-link.ts'
import { toRemoteLimits, selectLowerQoS, type RemoteLimits } from './remote-limits.ts'

export interface OutgoingMessage {
  readonly topic: TopicName
  readonly qos: QoS
  readonly retain: boolean
  readonly payload: Buffer
  readonly properties?: MessageProperties
}

export type PublishResult =
  /** QoS 0: the message was written. QoS 1 and 2: the broker has acknowledged it. */
  { readonly result: 'accepted' } | { readonly result: 'rejected'; readonly reasonCode: number; readonly why: string }

/** Reason why messages in flight have no result. */
export class ConnectionEnded extends Error {
  override readonly name = 'ConnectionEnded'
  /** `for-packet`: the broker closed the connection, and its reason code refers to a packet. */
  readonly by: 'this-side' | 'remote' | 'for-packet'

  constructor(message: string, by: ConnectionEnded['by']) {
    super(message)
    this.by = by
  }
}

export interface ClientOptions {
  readonly connect: ConnectPacket
  readonly link: LinkOptions
  /** Subject of sentences about the broker: `the remote broker`. */
  readonly brokerName: string
  /** Maximum number of in-flight messages, unless the broker has a lower limit. Undefined: the default of the version. */
  readonly maxInFlight?: number
  /** Maximum time for CONNACK. Undefined: no limit. */
  readonly connectTimeoutMs?: number
  nowMs(): number
  /** Runs `work` after this time. */
  after(delayMs: number, work: () => void): { cancel(): void }
}

export interface ClientCallbacks {
  /** The broker has accepted the connection. */
  handleOpen(connack: ConnackPacket): void
  /** Called once at the end of the connection, before the callbacks of what has no result. */
  handleEnd(end: ConnectionEnded): void
  /** A message of a subscription. QoS 2: called once. It is acknowledged afterwards. */
  handleMessage?(message: PublishPacket): void
}

type Settle<Result> = (result: Result | ConnectionEnded) => void

interface QueuedMessage {
  readonly message: OutgoingMessage
  readonly settle: Settle<PublishResult>
}

type Request = SubscribePacket | UnsubscribePacket
type Response = SubackPacket | UnsubackPacket

const maxPacketId = 65_535
/** Until CONNACK. */
const noLimits: RemoteLimits = {
  receiveMaximum: 0,
  maximumPacketBytes: Infinity,
  maximumQoS: 2,
  retainAvailable: true,
}
const accepted: PublishResult = { result: 'accepted' }
const reasonsForPacket: ReadonlySet<number> = new Set([
  reasonCodes.malformedPacket,
  reasonCodes.protocolError,
  reasonCodes.topicNameInvalid,
  reasonCodes.packetTooLarge,
  reasonCodes.payloadFormatInvalid,
  reasonCodes.retainNotSupported,
  reasonCodes.qosNotSupported,
])

export class MqttClient implements LinkCallbacks {
  readonly #options: ClientOptions
  readonly #callbacks: ClientCallbacks
  readonly #link: PacketLink
  #state: 'connecting' | 'open' | ConnectionEnded = 'connecting'
  #limits = noLimits
  #queue: QueuedMessage[] = []
  readonly #inFlight = new Map<PacketId, Settle<PublishResult>>()
  readonly #requests = new Map<PacketId, Settle<Response>>()
  /** Packet identifiers of received QoS 2 messages without PUBREL. */
  readonly #unreleased = new Set<PacketId>()
  #pings: Settle<void>[] = []
  #lastPacketId = 0
  #keepAlive: KeepAlive | undefined
  #timer: { cancel(): void } | undefined

  /** Sends CONNECT. */
  constructor(stream: ClientStream, options: ClientOptions, callbacks: ClientCallbacks) {
    this.#options = options
    this.#callbacks = callbacks
    this.#link = new PacketLink(this, stream, options.link)
    this.#link.send(options.connect)
    const { connectTimeoutMs: timeoutMs, brokerName } = options
    if (timeoutMs !== undefined)
      this.#timer = options.after(timeoutMs, () => this.close(`${brokerName} did not accept within ${timeoutMs} ms`))
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Messages and requests without a result. */
  get pending(): number {
    return this.#queue.length + this.#inFlight.size + this.#requests.size
  }

  /** Bytes that the stream has not accepted yet. */
  get unsentBytes(): number {
    return this.#link.unsentBytes
  }

  /** QoS and retain are lowered to what the broker supports, but never from 1 or 2 to 0. */
  publish(message: OutgoingMessage, settle: Settle<PublishResult>): void {
    if (this.#state instanceof ConnectionEnded) return settle(this.#state)
    if (this.#queue.length === 0 && this.#canSend(message)) this.#sendPublish(message, settle)
    else this.#queue.push({ message, settle })
  }

  subscribe(request: Omit<SubscribePacket, 'type' | 'packetId'>, settle: Settle<Response>): void {
    this.#request({ ...request, type: 'subscribe', packetId: this.#nextPacketId() }, settle)
  }

  unsubscribe(request: Omit<UnsubscribePacket, 'type' | 'packetId'>, settle: Settle<Response>): void {
    this.#request({ ...request, type: 'unsubscribe', packetId: this.#nextPacketId() }, settle)
  }

  /** Settles with PINGRESP: the broker has received everything that was written before. */
  ping(settle: Settle<void>): void {
    if (this.#state instanceof ConnectionEnded) return settle(this.#state)
    this.#pings.push(settle)
    this.#link.send({ type: 'pingreq' })
  }

  /** Closes the connection. What has no result yet fails with `why`. */
  close(why = 'the connection is being closed'): void {
    if (this.#state === 'open') this.#link.end(createDisconnectPacket(this.#link.version, {}))
    else this.#link.destroy()
    this.#end(new ConnectionEnded(why, 'this-side'))
  }

  // Callbacks of the link

  handleBytes(): void {
    this.#keepAlive?.recordReceived(this.#options.nowMs())
  }

  handlePacket(_link: PacketLink, packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#handleConnack(packet)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.#handleAck(packet)
      case 'publish':
        return this.#handlePublish(packet)
      case 'pubrel':
        this.#unreleased.delete(packet.packetId)
        return this.#link.acknowledge('pubcomp', packet.packetId)
      case 'suback':
      case 'unsuback':
        return this.#handleResponse(packet)
      case 'pingresp':
        return this.#pings.shift()?.(undefined)
      case 'disconnect': {
        const why = `${this.#options.brokerName} ended the connection: ${formatReason(packet, 5)}`
        return this.#fail(why, reasonsForPacket.has(packet.reasonCode) ? 'for-packet' : 'remote')
      }
      default:
    }
  }

  handleMalformed(_link: PacketLink, error: ProtocolError): void {
    this.#fail(`${this.#options.brokerName} sent a packet that is not valid MQTT: ${error.message}`)
  }

  handleClosed(_link: PacketLink, error: Error | undefined): void {
    const why = error === undefined ? `${this.#options.brokerName} closed the connection` : error.message
    this.#end(new ConnectionEnded(why, 'remote'))
  }

  #handleConnack(connack: ConnackPacket): void {
    const { connect, brokerName, maxInFlight } = this.#options
    const { version } = this.#link
    if (this.#state === 'open') return this.#fail(`${brokerName} sent a second CONNACK`)
    if (connack.reasonCode !== 0)
      return this.#fail(`${brokerName} refuses the connection: ${formatReason(connack, version)}`)
    this.#limits = toRemoteLimits(connack, { version, maxInFlight, maxQoS: 2 })
    this.#state = 'open'
    this.#timer?.cancel()
    const seconds = selectShorterKeepAlive(connect.keepAliveSeconds, connack.properties?.serverKeepAliveSeconds)
    this.#checkLater((this.#keepAlive = new KeepAlive(seconds, this.#options.nowMs())))
    this.#callbacks.handleOpen(connack)
    this.#sendQueued()
  }

  #checkLater(keepAlive: KeepAlive): void {
    const options = this.#options
    if (keepAlive.dueAtMs === Infinity) return
    this.#timer = options.after(keepAlive.dueAtMs - options.nowMs(), () => {
      if (keepAlive.check(options.nowMs()) === 'disconnect') return this.close(`${options.brokerName} does not respond`)
      this.ping(() => {})
      this.#checkLater(keepAlive)
    })
  }

  #handleAck(ack: AckPacket): void {
    const { type, packetId, reasonCode } = ack
    const settle = this.#inFlight.get(packetId)
    if (settle === undefined) return
    const isRejected = reasonCode >= reasonCodes.unspecifiedError && type !== 'pubcomp'
    if (type === 'pubrec' && !isRejected) return this.#link.acknowledge('pubrel', packetId)
    this.#inFlight.delete(packetId)
    const why = isRejected ? `${this.#options.brokerName} rejects the message: ${formatReason(ack, 5)}` : ''
    settle(isRejected ? { result: 'rejected', reasonCode, why } : accepted)
    this.#sendQueued()
  }

  #handlePublish(message: PublishPacket): void {
    const { qos, packetId } = message
    const isDuplicate = qos === 2 && this.#unreleased.has(packetId)
    if (qos === 2) this.#unreleased.add(packetId)
    if (!isDuplicate) this.#callbacks.handleMessage?.(message)
    if (qos > 0) this.#link.acknowledge(qos === 1 ? 'puback' : 'pubrec', packetId)
  }

  #request(request: Request, settle: Settle<Response>): void {
    if (this.#state instanceof ConnectionEnded) return settle(this.#state)
    this.#requests.set(request.packetId, settle)
    this.#link.send(request)
  }

  #handleResponse(response: Response): void {
    const settle = this.#requests.get(response.packetId)
    this.#requests.delete(response.packetId)
    settle?.(response)
  }

  #sendQueued(): void {
    for (let [next] = this.#queue; next !== undefined && this.#canSend(next.message); [next] = this.#queue) {
      this.#queue.shift()
      this.#sendPublish(next.message, next.settle)
    }
  }

  #canSend({ qos }: OutgoingMessage): boolean {
    return this.#state === 'open' && (qos === 0 || this.#inFlight.size < this.#limits.receiveMaximum)
  }

  #sendPublish(message: OutgoingMessage, settle: Settle<PublishResult>): void {
    const { topic, payload, properties } = message
    const limits = this.#limits
    const qos = selectLowerQoS(message.qos, limits.maximumQoS)
    if (qos === 0 && message.qos > 0) {
      const why = `${this.#options.brokerName} supports QoS 0 only, which has no acknowledgements`
      return settle({ result: 'rejected', reasonCode: reasonCodes.qosNotSupported, why })
    }
    const packetId = qos === 0 ? 0 : this.#nextPacketId()
    const fields = {
      topic: this.#options.link.decoder.topics.internName(topic),
      topicIsOmitted: false,
      topicAlias: 0,
      qos,
      retain: message.retain && limits.retainAvailable,
      dup: false,
      packetId,
      properties,
      messageExpiryIntervalSeconds: undefined,
      subscriptionIdentifiers: undefined,
      chunk: payload,
      payloadStart: 0,
      payloadEnd: payload.length,
    }
    const { maximumPacketBytes } = limits
    const bytes = this.#link.publish(fields, maximumPacketBytes)
    if (bytes > maximumPacketBytes) {
      const why = `the message has ${bytes} bytes, and ${this.#options.brokerName} accepts ${maximumPacketBytes}`
      return settle({ result: 'rejected', reasonCode: reasonCodes.packetTooLarge, why })
    }
    if (qos === 0) settle(accepted)
    else this.#inFlight.set(packetId, settle)
  }

  #nextPacketId(): PacketId {
    do this.#lastPacketId = (this.#lastPacketId % maxPacketId) + 1
    while (this.#inFlight.has(this.#lastPacketId) || this.#requests.has(this.#lastPacketId))
    return this.#lastPacketId
  }

  #fail(why: string, by: ConnectionEnded['by'] = 'remote'): void {
    this.#link.destroy()
    this.#end(new ConnectionEnded(why, by))
  }

  #end(end: ConnectionEnded): void {
    if (this.#state instanceof ConnectionEnded) return
    this.#state = end
    this.#timer?.cancel()
    this.#callbacks.handleEnd(end)
    const queued = this.#queue.map(({ settle }) => settle)
    for (const settle of [...this.#inFlight.values(), ...queued, ...this.#requests.values(), ...this.#pings])
      settle(end)
    this.#inFlight.clear()
    this.#requests.clear()
    this.#queue = []
    this.#pings = []
  }
}

function formatReason(
  { reasonCode, properties }: ConnackPacket | DisconnectPacket | AckPacket,
  version: ProtocolVersion,
) {
  return describeReason(reasonCode, version, properties?.reasonString)
}
