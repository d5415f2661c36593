// A connection to a remote broker that only publishes. It uses a clean session.
//
//   publish ──► waiting ──► window of the remote broker ──► PUBLISH ──► PUBACK | PUBREC, PUBREL, PUBCOMP ──► result
//                           (Receive Maximum)

import {
  AckPacket,
  measurePacket,
  measurePublish,
  PacketDecoder,
  type ConnackPacket,
  type ControlPacket,
  type Packet,
  type PacketId,
  ProtocolError,
  type ProtocolVersion,
  type QoS,
  reasonCodes,
  reasonText,
  type TopicName,
  TopicTable,
  writePacket,
  writePublish,
} from '../../protocol/index.ts'
import { type ByteStream, dial, type DialSettings, type DialTarget } from '../../transports/index.ts'

export interface PublisherSettings {
  readonly target: DialTarget
  readonly dial: DialSettings
  readonly version: ProtocolVersion
  readonly clientId: string
  readonly username: string | undefined
  readonly password: string | undefined
  readonly keepAliveMs: number
}

export interface OutgoingMessage {
  readonly topic: TopicName
  readonly qos: QoS
  readonly retain: boolean
  readonly payload: Buffer
}

export type PublishResult =
  /** QoS 0: the message was written. QoS 1 and 2: the remote broker has acknowledged it. */
  { readonly result: 'accepted' } | { readonly result: 'rejected'; readonly reasonCode: number; readonly why: string }

/** Reason why messages in flight have no result. */
export class ConnectionEnded extends Error {
  override readonly name = 'ConnectionEnded'
  /** `for-packet`: the remote broker closed the connection, and its reason code refers to a packet. */
  readonly by: 'this-side' | 'remote' | 'for-packet'

  constructor(message: string, by: ConnectionEnded['by']) {
    super(message)
    this.by = by
  }
}

interface Pending {
  readonly message: OutgoingMessage
  state: 'published' | 'released'
  resolve(result: PublishResult): void
  reject(error: ConnectionEnded): void
}

/** [MQTT5-3.1.2-24] Only acknowledgements and PINGRESP are received. */
const maxPacketBytes = 262_144
const limits = { maxPacketBytes, maxPropertyBytes: maxPacketBytes, maxTopicLevels: 65_535, maxTopicBytes: 65_535 }
const maxCachedTopics = 256
const maxPacketId = 65_535
/** Maximum number of in-flight messages, unless the remote broker has a lower limit. */
const maxInflight = 1_024
/** In-flight limit before MQTT 5.0, in which brokers send no Receive Maximum. Mosquitto loses QoS 2 messages beyond this number. */
const maxInflightBefore5 = 20
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

/** Rejects with a sentence if the remote broker cannot be reached or refuses the connection. */
export function openPublisher(settings: PublisherSettings): Promise<MqttPublisher> {
  const { promise, resolve, reject } = Promise.withResolvers<MqttPublisher>()
  dial(settings.target, settings.dial, {
    onOpen: (stream) => {
      const publisher = new MqttPublisher(settings, stream)
      publisher.connected(settings.dial.connectTimeoutMs).then(() => resolve(publisher), reject)
    },
    onProblem: ({ message }) => reject(new ConnectionEnded(message, 'this-side')),
  })
  return promise
}

export class MqttPublisher {
  readonly #settings: PublisherSettings
  readonly #stream: ByteStream
  readonly #decoder: PacketDecoder
  readonly #topics = new TopicTable(maxCachedTopics)
  readonly #inflight = new Map<PacketId, Pending>()
  #waiting: Pending[] = []
  #pings: PromiseWithResolvers<void>[] = []
  readonly #connack = Promise.withResolvers<void>()
  #state: 'connecting' | 'open' | ConnectionEnded = 'connecting'
  #window = maxInflightBefore5
  #maxPacketBytes = Infinity
  #maxQoS: QoS = 2
  #canRetain = true
  #lastPacketId = 0
  #gathered: Buffer[] = []
  #isWriting = false
  #isFlushPlanned = false
  #hasSent = false
  #keepAlive: NodeJS.Timeout | undefined

  constructor(settings: PublisherSettings, stream: ByteStream) {
    this.#settings = settings
    this.#stream = stream
    this.#decoder = new PacketDecoder({
      role: 'client',
      version: settings.version,
      topics: new TopicTable(2),
      ...limits,
    })
    stream.onData = (chunk) => this.#read(chunk)
    stream.onClose = (error) => {
      const why = error === undefined ? 'the remote broker closed the connection' : error.message
      this.#end(new ConnectionEnded(why, 'remote'))
    }
    this.#sendConnect()
  }

  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Resolves when the remote broker has accepted the connection. */
  async connected(timeoutMs: number): Promise<void> {
    const late = setTimeout(() => this.close(`the remote broker did not accept within ${timeoutMs} ms`), timeoutMs)
    await this.#connack.promise.finally(() => clearTimeout(late))
  }

  /** Rejects with ConnectionEnded. QoS and retain are lowered to what the remote broker supports, but never from 1 or 2 to 0. */
  publish(message: OutgoingMessage): Promise<PublishResult> {
    if (this.#state !== 'open') return Promise.reject(this.#endedError())
    const qos = Math.min(message.qos, this.#maxQoS) as QoS
    if (qos === 0 && message.qos > 0) {
      const why = 'the remote broker supports QoS 0 only, which has no acknowledgements'
      return Promise.resolve({ result: 'rejected', reasonCode: reasonCodes.qosNotSupported, why })
    }
    const { promise, resolve, reject } = Promise.withResolvers<PublishResult>()
    const lowered = { ...message, qos, retain: message.retain && this.#canRetain }
    this.#waiting.push({ message: lowered, state: 'published', resolve, reject })
    this.#sendWaiting()
    return promise
  }

  /** Resolves with PINGRESP: the remote broker has received everything that was written before. */
  ping(): Promise<void> {
    if (this.#state !== 'open') return Promise.reject(this.#endedError())
    const pending = Promise.withResolvers<void>()
    this.#pings.push(pending)
    this.#send({ type: 'pingreq' })
    return pending.promise
  }

  /** Closes the connection. Publications in progress fail with `why`. */
  close(why = 'the connection is being closed'): void {
    if (this.#state === 'open') {
      this.#send({ type: 'disconnect', reasonCode: reasonCodes.normalDisconnection, properties: undefined })
      this.#flush()
      this.#stream.end()
    } else this.#stream.destroy()
    this.#end(new ConnectionEnded(why, 'this-side'))
  }

  #endedError(): ConnectionEnded {
    return this.#state instanceof ConnectionEnded
      ? this.#state
      : new ConnectionEnded('the remote broker has not accepted the connection yet', 'this-side')
  }

  #sendConnect(): void {
    const { version, clientId, username, password, keepAliveMs } = this.#settings
    // [MQTT-3.1.2-22] Before 5.0 there is no password without a user name.
    const hasPassword = password !== undefined && (version === 5 || username !== undefined)
    this.#send({
      type: 'connect',
      version,
      clientId,
      cleanStart: true,
      keepAliveSeconds: secondsOf(keepAliveMs),
      username,
      password: hasPassword ? Buffer.from(password) : undefined,
      will: undefined,
      properties: version === 5 ? { maximumPacketSizeBytes: maxPacketBytes } : undefined,
      isBridge: false,
    })
  }

  #read(chunk: Buffer): void {
    try {
      this.#decoder.push(chunk)
      for (let packet = this.#decoder.next(); packet !== undefined; packet = this.#decoder.next()) {
        if (this.#state instanceof ConnectionEnded) return
        this.#handlePacket(packet)
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#fail(`the remote broker sent a packet that is not valid MQTT: ${error.message}`)
    }
  }

  #handlePacket(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#handleConnack(packet)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.#handleAck(packet)
      case 'pingresp':
        return this.#pings.shift()?.resolve()
      case 'disconnect': {
        const { reasonCode, properties } = packet
        const why = `the remote broker ended the connection: ${reasonText(reasonCode, 5, properties?.reasonString)}`
        return this.#fail(why, reasonsForPacket.has(reasonCode) ? 'for-packet' : 'remote')
      }
      default:
        // There is no subscription, so a PUBLISH of the remote broker is ignored.
        return
    }
  }

  #handleConnack({ reasonCode, properties }: ConnackPacket): void {
    if (reasonCode !== 0) {
      const why = reasonText(reasonCode, this.#settings.version, properties?.reasonString)
      return this.#fail(`the remote broker refuses the connection: ${why}`)
    }
    if (this.#settings.version === 5) this.#window = Math.min(properties?.receiveMaximum ?? maxInflight, maxInflight)
    this.#maxPacketBytes = properties?.maximumPacketSizeBytes ?? Infinity
    this.#maxQoS = properties?.maximumQoS ?? 2
    this.#canRetain = properties?.retainAvailable ?? true
    this.#state = 'open'
    this.#startKeepAlive(properties?.serverKeepAliveSeconds ?? secondsOf(this.#settings.keepAliveMs))
    this.#connack.resolve()
  }

  /** Sends PINGREQ if half of the keep alive passes without a packet. PINGRESP must arrive within the other half. */
  #startKeepAlive(seconds: number): void {
    if (seconds === 0) return
    this.#keepAlive = setInterval(() => {
      if (this.#pings.length > 0) return this.close('the remote broker does not respond')
      if (!this.#hasSent) this.ping().catch(() => {})
      this.#hasSent = false
    }, seconds * 500).unref()
  }

  #handleAck({ type, packetId, reasonCode, properties }: AckPacket): void {
    const pending = this.#inflight.get(packetId)
    if (pending === undefined) return
    const isRejected = reasonCode >= reasonCodes.unspecifiedError && type !== 'pubcomp'
    if (type === 'pubrec' && !isRejected) {
      pending.state = 'released'
      return this.#send(new AckPacket('pubrel', packetId, reasonCodes.success, undefined))
    }
    this.#inflight.delete(packetId)
    const why = isRejected ? reasonText(reasonCode, 5, properties?.reasonString) : ''
    pending.resolve(
      isRejected ? { result: 'rejected', reasonCode, why: `the remote broker rejects the message: ${why}` } : accepted,
    )
    this.#sendWaiting()
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0 && this.#state === 'open') {
      const [next] = this.#waiting
      if (next.message.qos > 0 && this.#inflight.size >= this.#window) return
      this.#waiting.shift()
      this.#sendPublish(next)
    }
  }

  #sendPublish(pending: Pending): void {
    const { version } = this.#settings
    const { topic, qos, retain, payload } = pending.message
    const packetId = qos === 0 ? 0 : this.#nextPacketId()
    const fields = {
      topic: this.#topics.named(topic),
      topicIsOmitted: false,
      topicAlias: 0,
      qos,
      retain,
      dup: false,
      packetId,
      properties: undefined,
      messageExpiryIntervalSeconds: undefined,
      subscriptionIdentifiers: undefined,
      chunk: payload,
      payloadStart: 0,
      payloadEnd: payload.length,
    }
    const bytes = measurePublish(fields, version)
    if (bytes > this.#maxPacketBytes) {
      const why = `the message has ${bytes} bytes, and the remote broker accepts ${this.#maxPacketBytes}`
      return pending.resolve({ result: 'rejected', reasonCode: reasonCodes.packetTooLarge, why })
    }
    const buffer = Buffer.allocUnsafe(bytes)
    writePublish(fields, version, buffer, 0)
    this.#write(buffer)
    if (qos === 0) pending.resolve(accepted)
    else this.#inflight.set(packetId, pending)
  }

  #nextPacketId(): PacketId {
    do this.#lastPacketId = (this.#lastPacketId % maxPacketId) + 1
    while (this.#inflight.has(this.#lastPacketId))
    return this.#lastPacketId
  }

  #send(packet: ControlPacket): void {
    const { version } = this.#settings
    const bytes = Buffer.allocUnsafe(measurePacket(packet, version))
    writePacket(packet, version, bytes, 0)
    this.#write(bytes)
  }

  /** Collects the writes of one iteration of the event loop, so that they are one system call. */
  #write(bytes: Buffer): void {
    this.#gathered.push(bytes)
    this.#hasSent = true
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    process.nextTick(() => {
      this.#isFlushPlanned = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#isWriting || this.#gathered.length === 0 || this.#state instanceof ConnectionEnded) return
    const bytes = Buffer.concat(this.#gathered)
    this.#gathered = []
    this.#isWriting = true
    this.#stream.write(bytes, () => {
      this.#isWriting = false
      this.#flush()
    })
  }

  #fail(why: string, by: ConnectionEnded['by'] = 'remote'): void {
    this.#stream.destroy()
    this.#end(new ConnectionEnded(why, by))
  }

  #end(error: ConnectionEnded): void {
    if (this.#state instanceof ConnectionEnded) return
    const wasOpen = this.#state === 'open'
    this.#state = error
    clearInterval(this.#keepAlive)
    if (!wasOpen) this.#connack.reject(error)
    for (const pending of [...this.#inflight.values(), ...this.#waiting, ...this.#pings]) pending.reject(error)
    this.#inflight.clear()
    this.#waiting = []
    this.#pings = []
  }
}

function secondsOf(ms: number): number {
  return Math.min(65_535, Math.ceil(ms / 1_000))
}
