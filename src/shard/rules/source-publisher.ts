// Publishes messages of a source as an MQTT client of this broker with QoS 1: PUBACK means that the results of rules are
// durable. While an action queue is full, the acknowledgements wait.

import { createStreamPair, PacketLink } from '../../mqtt-client/index.ts'
import { bridgeClientId, sourceBridgeName } from '../../core/index.ts'
import {
  type Packet,
  type PacketId,
  type PacketLimits,
  type Topic,
  type TopicName,
  TopicTable,
  type UserProperties,
} from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'

export interface SourcePublisherDependencies {
  /** `type:name` */
  readonly source: string
  openConnection(stream: ByteStream): void
  limits(): PacketLimits
  guarded(work: () => void): void
}

export interface SourceMessage {
  readonly topic: TopicName
  readonly payload: Buffer
  readonly properties: UserProperties
}

interface Waiting {
  readonly message: SourceMessage
  resolve(): void
  reject(error: Error): void
}

interface OpenLink {
  readonly link: PacketLink
  readonly topics: TopicTable
  isAccepted: boolean
}

/** Maximum unacknowledged messages. */
const maxUnacknowledged = 1_000
const maxCachedTopics = 16
const firstError = 0x80

export class SourcePublisher {
  readonly #dependencies: SourcePublisherDependencies
  #open: OpenLink | undefined
  readonly #unsent: Waiting[] = []
  readonly #unacknowledged = new Map<PacketId, Waiting>()
  readonly #free: PacketId[] = Array.from({ length: maxUnacknowledged }, (_, index) => index + 1)

  constructor(dependencies: SourcePublisherDependencies) {
    this.#dependencies = dependencies
  }

  /** Resolves when the results of rules are durable. Rejects if this broker rejects the message, or the connection ends before PUBACK. */
  publish(message: SourceMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#unsent.push({ message, resolve, reject })
    this.#send()
    return promise
  }

  /** Closes the connection. Pending calls of `publish` reject. */
  close(): void {
    this.#open?.link.end(undefined)
    this.#fail('the source is stopped')
  }

  #send(): void {
    const open = (this.#open ??= this.#connect())
    if (!open.isAccepted) return
    for (;;) {
      if (this.#unsent.length === 0) return
      const packetId = this.#free.pop()
      if (packetId === undefined) return
      const waiting = this.#unsent.shift()
      if (waiting === undefined) return
      this.#unacknowledged.set(packetId, waiting)
      open.link.publish(fieldsOf(open.topics.named(waiting.message.topic), packetId, waiting.message), Infinity)
    }
  }

  #connect(): OpenLink {
    const dependencies = this.#dependencies
    const { source } = dependencies
    const [clientEnd, brokerEnd] = createStreamPair((work) => process.nextTick(() => dependencies.guarded(work)))
    dependencies.openConnection(brokerEnd)
    const topics = new TopicTable(maxCachedTopics)
    const link = new PacketLink(
      {
        handlePacket: (from, packet) => this.#handlePacket(from, packet),
        handleClosed: (from) => this.#handleClosed(from, 'this broker closed the connection'),
        handleMalformed: (from, error) => this.#handleClosed(from, error.message),
        handleBytes: ignore,
        handleRead: ignore,
        handleWritten: ignore,
      },
      clientEnd,
      {
        decoder: { role: 'client', version: 5, topics, ...dependencies.limits() },
        later: (work) => void setImmediate(() => dependencies.guarded(work)),
        ownsChunks: false,
      },
    )
    link.send({
      type: 'connect',
      version: 5,
      clientId: bridgeClientId(sourceBridgeName(source)),
      cleanStart: true,
      keepAliveSeconds: 0,
      username: undefined,
      password: undefined,
      will: undefined,
      properties: { sessionExpiryIntervalSeconds: 0, receiveMaximum: 1 },
      isBridge: false,
    })
    return { link, topics, isAccepted: false }
  }

  #handlePacket(link: PacketLink, packet: Packet): void {
    const open = this.#open
    if (open?.link !== link) return
    if (packet.type === 'connack') {
      if (packet.reasonCode !== 0)
        return this.#handleClosed(link, `this broker refuses the source: reason code ${packet.reasonCode}`)
      open.isAccepted = true
      return this.#send()
    }
    if (packet.type === 'disconnect')
      return this.#handleClosed(link, `this broker ended the connection: reason code ${packet.reasonCode}`)
    if (packet.type !== 'puback') return
    const waiting = this.#unacknowledged.get(packet.packetId)
    if (waiting === undefined) return
    this.#unacknowledged.delete(packet.packetId)
    this.#free.push(packet.packetId)
    if (packet.reasonCode >= firstError)
      waiting.reject(new Error(`this broker rejects the message: reason code ${packet.reasonCode}`))
    else waiting.resolve()
    this.#send()
  }

  #handleClosed(link: PacketLink, why: string): void {
    if (this.#open?.link !== link) return
    link.destroy()
    this.#fail(why)
  }

  #fail(why: string): void {
    this.#open = undefined
    const waiting = [...this.#unacknowledged.values(), ...this.#unsent.splice(0)]
    this.#free.push(...this.#unacknowledged.keys())
    this.#unacknowledged.clear()
    for (const each of waiting) each.reject(new Error(why))
  }
}

function ignore(): void {}

function fieldsOf(topic: Topic, packetId: PacketId, { payload, properties }: SourceMessage) {
  return {
    topic,
    topicIsOmitted: false,
    topicAlias: 0,
    qos: 1,
    retain: false,
    dup: false,
    packetId,
    properties: { userProperties: properties },
    messageExpiryIntervalSeconds: undefined,
    subscriptionIdentifiers: undefined,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payload.length,
  } as const
}
