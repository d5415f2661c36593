// Publishes messages of a source as an MQTT client of this broker with QoS 1: PUBACK means that the results of rules are
// durable. While an action queue is full, the acknowledgements wait.

import { toBridgeClientId, toSourceBridgeName } from '../../core/index.ts'
import { createConnectPacket, createStreamPair, MqttClient } from '../../mqtt-client/index.ts'
import { type PacketLimits, type TopicName, TopicTable, type UserProperties } from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'

export interface SourcePublisherDependencies {
  /** `type:name` */
  readonly source: string
  openConnection(stream: ByteStream): void
  readLimits(): PacketLimits
  runGuarded(work: () => void): void
  after(delayMs: number, work: () => void): { cancel(): void }
}

export interface SourceMessage {
  readonly topic: TopicName
  readonly payload: Buffer
  readonly properties: UserProperties
}

/** Maximum unacknowledged messages. */
const maxInFlight = 1_000
const maxCachedTopics = 16

export class SourcePublisher {
  readonly #dependencies: SourcePublisherDependencies
  #client: MqttClient | undefined

  constructor(dependencies: SourcePublisherDependencies) {
    this.#dependencies = dependencies
  }

  /** Resolves when the results of rules are durable. Rejects if this broker rejects the message, or the connection ends before PUBACK. */
  publish({ topic, payload, properties }: SourceMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const client = (this.#client ??= this.#connect())
    const message = { topic, payload, qos: 1, retain: false, properties: { userProperties: properties } } as const
    client.publish(message, (result) => {
      if (result instanceof Error) reject(result)
      else if (result.result === 'rejected') reject(new Error(result.why))
      else resolve()
    })
    return promise
  }

  /** Closes the connection. Pending calls of `publish` reject. */
  close(): void {
    this.#client?.close('the source is stopped')
  }

  #connect(): MqttClient {
    const dependencies = this.#dependencies
    const [clientEnd, brokerEnd] = createStreamPair((work) => process.nextTick(() => dependencies.runGuarded(work)))
    dependencies.openConnection(brokerEnd)
    const topics = new TopicTable(maxCachedTopics)
    const options = {
      connect: createConnectPacket({
        version: 5,
        clientId: toBridgeClientId(toSourceBridgeName(dependencies.source)),
        cleanStart: true,
        properties: { sessionExpiryIntervalSeconds: 0, receiveMaximum: 1 },
      }),
      link: {
        decoder: { role: 'client', version: 5, topics, ...dependencies.readLimits() },
        later: (work: () => void) => void setImmediate(() => dependencies.runGuarded(work)),
        ownsChunks: false,
      },
      brokerName: 'this broker',
      maxInFlight,
      nowMs: () => performance.now(),
      after: (delayMs: number, work: () => void) => dependencies.after(delayMs, work),
    } as const
    return new MqttClient(clientEnd, options, { handleOpen: () => {}, handleEnd: () => (this.#client = undefined) })
  }
}
