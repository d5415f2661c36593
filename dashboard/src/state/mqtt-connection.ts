// One MQTT 5.0 connection of the page, over the WebSocket that the API serves below the page. The packets are those of `src/protocol`, as in
// the broker.

import {
  type AckPacket,
  AckPacket as Ack,
  type ConnackPacket,
  type ControlPacket,
  measurePacket,
  measurePublish,
  type Packet,
  PacketDecoder,
  parseTopicFilter,
  parseTopicName,
  type PublishPacket,
  type QoS,
  reasonCodes,
  TopicTable,
  writePacket,
  writePublish,
} from '../../../src/protocol/index.ts'

export interface ConnectSettings {
  readonly clientId: string
  readonly username: string
  readonly password: string
}

export interface LoggedMessage {
  readonly number: number
  readonly ts: number
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: QoS
  readonly isRetained: boolean
  /** Of one that was sent: what the broker said of it. undefined: nothing yet. */
  readonly reason: string | undefined
}

export type ConnectionState = 'closed' | 'connecting' | 'connected'

const version = 5
const keepAliveSeconds = 60
const pingMs = 40_000
const connectMs = 15_000
/** That are kept of each direction. */
const maxLogged = 100
const maxPacketBytes = 1_048_576
const maxUnacknowledged = 64
const maxPacketId = 65_535
const limits = { maxPacketBytes, maxPropertyBytes: maxPacketBytes, maxTopicLevels: 65_535, maxTopicBytes: 65_535 }

const reasonNames = new Map<number, string>(Object.entries(reasonCodes).map(([name, code]) => [code, name]))

/** `notAuthorized` as `not authorized (0x87)`. */
function reasonText(code: number, explained?: string): string {
  const name = reasonNames.get(code) ?? 'unknown reason'
  const text = `${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} (0x${code.toString(16).padStart(2, '0')})`
  return explained === undefined ? text : `${text}: ${explained}`
}

export class MqttConnection {
  state: ConnectionState = 'connecting'
  /** Why it is closed, or what the broker refused last. */
  problem: string | undefined
  clientId: string
  /** The newest first. */
  received: readonly LoggedMessage[] = []
  sent: readonly LoggedMessage[] = []
  filters: readonly string[] = []
  readonly #socket: WebSocket
  readonly #decoder: PacketDecoder
  readonly #topics = new TopicTable(1_024)
  readonly #onChange: () => void
  /** Packet identifiers that wait for the broker: numbers of messages, or filters. */
  readonly #waiting = new Map<number, { readonly message: number } | { readonly filter: string }>()
  /** Messages of QoS 2 that came and were not released. */
  readonly #unreleased = new Set<number>()
  #lastId = 0
  #logged = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `onChange`: something of what is shown is different. */
  constructor({ clientId, username, password }: ConnectSettings, onChange: () => void) {
    this.clientId = clientId
    this.#onChange = onChange
    this.#decoder = new PacketDecoder({ role: 'client', topics: this.#topics, version, ...limits })
    const { href } = new URL('mqtt', location.href.replace(/^http/, 'ws').replace(/#.*/s, ''))
    this.#socket = new WebSocket(href, 'mqtt')
    this.#socket.binaryType = 'arraybuffer'
    this.#timer = setTimeout(() => this.#end('the broker does not respond'), connectMs)
    this.#socket.addEventListener('open', () =>
      this.#send({
        type: 'connect',
        version,
        clientId,
        cleanStart: true,
        keepAliveSeconds,
        username: username === '' ? undefined : username,
        password: password === '' ? undefined : Buffer.from(password),
        will: undefined,
        properties: { maximumPacketSizeBytes: maxPacketBytes, receiveMaximum: maxUnacknowledged },
        isBridge: false,
      }),
    )
    this.#socket.addEventListener('message', ({ data }) => this.#read(data as ArrayBuffer))
    this.#socket.addEventListener('close', () => this.#end('the connection was closed'))
  }

  disconnect(): void {
    if (this.state === 'connected') this.#send({ type: 'disconnect', reasonCode: 0, properties: undefined })
    this.#end(undefined)
  }

  /** A problem is a sentence. */
  subscribe(filter: string): string | undefined {
    const parsed = parseTopicFilter(filter)
    if (parsed === undefined) return `${filter}: not a topic filter`
    const packetId = this.#nextId({ filter })
    if (packetId === undefined) return tooMany
    const subscription = { filter: parsed, qos: 2, noLocal: false, retainAsPublished: true, retainHandling: 0 } as const
    this.#send({ type: 'subscribe', packetId, subscriptions: [subscription], properties: undefined })
    return undefined
  }

  unsubscribe(filter: string): void {
    const parsed = parseTopicFilter(filter)
    const packetId = parsed === undefined ? undefined : this.#nextId({ filter })
    if (parsed === undefined || packetId === undefined) return
    this.#send({ type: 'unsubscribe', packetId, filters: [parsed], properties: undefined })
  }

  /** A problem is a sentence. */
  publish(topic: string, payload: string, { qos, retain }: { qos: QoS; retain: boolean }): string | undefined {
    const name = parseTopicName(topic)
    if (name === undefined) return `${topic}: not a topic name`
    const chunk = Buffer.from(payload)
    const message = this.#logged + 1
    const packetId = qos === 0 ? 0 : this.#nextId({ message })
    if (packetId === undefined) return tooMany
    const fields = {
      topic: this.#topics.named(name),
      topicIsOmitted: false,
      topicAlias: 0,
      qos,
      retain,
      dup: false,
      packetId,
      properties: undefined,
      messageExpiryIntervalSeconds: undefined,
      subscriptionIdentifiers: undefined,
      chunk,
      payloadStart: 0,
      payloadEnd: chunk.length,
    }
    const bytes = Buffer.allocUnsafe(measurePublish(fields, version))
    writePublish(fields, version, bytes, 0)
    this.#socket.send(bytes)
    const reason = qos === 0 ? '' : undefined
    this.sent = this.#log(this.sent, { topic, payload: chunk, qos, isRetained: retain, reason })
    this.#onChange()
    return undefined
  }

  #log(log: readonly LoggedMessage[], message: Omit<LoggedMessage, 'number' | 'ts'>): readonly LoggedMessage[] {
    this.#logged += 1
    return [{ ...message, number: this.#logged, ts: Date.now() }, ...log.slice(0, maxLogged - 1)]
  }

  /** undefined: too many wait. */
  #nextId(what: { readonly message: number } | { readonly filter: string }): number | undefined {
    if (this.#waiting.size >= maxUnacknowledged) return undefined
    do this.#lastId = (this.#lastId % maxPacketId) + 1
    while (this.#waiting.has(this.#lastId))
    this.#waiting.set(this.#lastId, what)
    return this.#lastId
  }

  #send(packet: ControlPacket): void {
    const bytes = Buffer.allocUnsafe(measurePacket(packet, version))
    writePacket(packet, version, bytes, 0)
    this.#socket.send(bytes)
  }

  #read(data: ArrayBuffer): void {
    if (this.state === 'closed') return
    try {
      this.#decoder.push(Buffer.from(new Uint8Array(data)))
      for (let packet = this.#decoder.next(); packet !== undefined; packet = this.#decoder.next()) this.#take(packet)
    } catch (error) {
      this.#end(String(error))
    }
    this.#onChange()
  }

  #take(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#takeConnack(packet)
      case 'publish':
        return this.#takePublish(packet)
      case 'puback':
      case 'pubcomp':
        return this.#noteAcknowledged(packet)
      case 'pubrec':
        if (packet.reasonCode >= reasonCodes.unspecifiedError) return this.#noteAcknowledged(packet)
        return this.#send(new Ack('pubrel', packet.packetId, reasonCodes.success, undefined))
      case 'pubrel':
        this.#unreleased.delete(packet.packetId)
        return this.#send(new Ack('pubcomp', packet.packetId, reasonCodes.success, undefined))
      case 'suback':
      case 'unsuback':
        return this.#noteSubscription(packet.packetId, packet.type, packet.reasonCodes[0] ?? 0)
      case 'disconnect':
        return this.#end(reasonText(packet.reasonCode, packet.properties?.reasonString))
      default:
    }
  }

  #takeConnack({ reasonCode, properties }: ConnackPacket): void {
    if (reasonCode !== reasonCodes.success) return this.#end(reasonText(reasonCode, properties?.reasonString))
    clearTimeout(this.#timer)
    this.#timer = setInterval(() => this.#send({ type: 'pingreq' }), pingMs)
    this.clientId = properties?.assignedClientIdentifier ?? this.clientId
    this.state = 'connected'
  }

  #takePublish({ topic, qos, retain, packetId, chunk, payloadStart, frameEnd }: PublishPacket): void {
    if (qos === 1) this.#send(new Ack('puback', packetId, reasonCodes.success, undefined))
    if (qos === 2) this.#send(new Ack('pubrec', packetId, reasonCodes.success, undefined))
    if (qos === 2 && this.#unreleased.has(packetId)) return
    if (qos === 2) this.#unreleased.add(packetId)
    const payload = chunk.subarray(payloadStart, frameEnd)
    this.received = this.#log(this.received, {
      topic: topic?.name ?? '',
      payload,
      qos,
      isRetained: retain,
      reason: undefined,
    })
  }

  #noteAcknowledged({ packetId, reasonCode, properties }: AckPacket): void {
    const waiting = this.#waiting.get(packetId)
    this.#waiting.delete(packetId)
    if (waiting === undefined || !('message' in waiting)) return
    const isRefused = reasonCode >= reasonCodes.unspecifiedError
    const reason = isRefused ? reasonText(reasonCode, properties?.reasonString) : ''
    this.sent = this.sent.map((one) => (one.number === waiting.message ? { ...one, reason } : one))
  }

  #noteSubscription(packetId: number, type: 'suback' | 'unsuback', reasonCode: number): void {
    const waiting = this.#waiting.get(packetId)
    this.#waiting.delete(packetId)
    if (waiting === undefined || !('filter' in waiting)) return
    const { filter } = waiting
    const others = this.filters.filter((one) => one !== filter)
    if (reasonCode >= reasonCodes.unspecifiedError) this.problem = `${filter}: ${reasonText(reasonCode)}`
    else this.filters = type === 'suback' ? [...others, filter] : others
  }

  #end(problem: string | undefined): void {
    if (this.state === 'closed') return
    this.state = 'closed'
    this.problem = problem
    this.filters = []
    clearTimeout(this.#timer)
    clearInterval(this.#timer)
    this.#socket.close()
    this.#onChange()
  }
}

const tooMany = 'too many requests wait for the broker: try again'
