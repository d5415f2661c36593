// A source of Kafka: records are passed to rules, and their offsets are committed when the results of the rules are
// durable. After a crash records may be repeated, and none is skipped.

import {
  Backoff,
  kafkaConsumerOf,
  type ConsumedRecord,
  type KafkaConsumer,
  type KafkaSourceConnector,
  type KafkaSourceSettings,
} from '../../sinks/index.ts'
import { sourceTopicPrefix } from '../../core/index.ts'
import { parseTopicName, type UserProperties } from '../../protocol/index.ts'
import type { SourceReport } from '../messages/rule-plan.ts'
import { recordProperties } from './source-columns.ts'
import type { SourceMessage } from './source-publisher.ts'

export interface KafkaSourceDependencies {
  /** `type:name` */
  readonly id: string
  readonly source: KafkaSourceSettings
  readonly connector: KafkaSourceConnector
  readonly publisher: { publish(message: SourceMessage): Promise<void>; close(): void }
  maxPacketBytes(): number
  after(delayMs: number, work: () => void): { cancel(): void }
  random(): number
  noteState(state: SourceReport['state'], why: string): void
  /** Reports an internal error. */
  fail(error: unknown): void
}

const firstPauseMs = 1_000
/** Maximum size of a packet without payload and properties. */
const packetOverhead = 1_024
const maxPropertyBytes = 65_535
const control = /\p{Cc}/u

export class KafkaSource {
  readonly #dependencies: KafkaSourceDependencies
  readonly #backoff: Backoff
  #consumer: KafkaConsumer | undefined
  #pause: { cancel(): void } | undefined
  /** Number of the current consumer. */
  #generation = 0
  #state: SourceReport['state'] = 'disconnected'
  #why = ''
  #received = 0
  #dropped = 0
  #lastError = ''

  constructor(dependencies: KafkaSourceDependencies) {
    this.#dependencies = dependencies
    this.#backoff = new Backoff(firstPauseMs, () => dependencies.random())
  }

  start(): void {
    this.#open().catch((error: unknown) => this.#dependencies.fail(error))
  }

  stop(why: string): void {
    this.#generation++
    this.#pause?.cancel()
    this.#pause = undefined
    this.#dependencies.publisher.close()
    this.#closeConsumer()
    this.#setState('disconnected', why)
  }

  report(): SourceReport {
    const { id } = this.#dependencies
    const counters = { received: this.#received, dropped: this.#dropped }
    return { id, state: this.#state, stateReason: this.#why, ...counters, lastError: this.#lastError }
  }

  async #open(): Promise<void> {
    const generation = ++this.#generation
    const { source, connector, id } = this.#dependencies
    this.#setState('connecting', this.#lastError)
    const isPresent = (): boolean => generation === this.#generation
    try {
      const consumer = await kafkaConsumerOf(id, source, connector, {
        take: (records) => this.#take(records),
        noteJoined: () => {
          if (!isPresent()) return
          this.#backoff.reset()
          this.#setState('connected', '')
        },
        noteFailed: (error) => {
          if (isPresent()) this.#reopen(error)
        },
      })
      if (isPresent()) this.#consumer = consumer
      else await consumer.close()
    } catch (error) {
      if (isPresent()) this.#reopen(error)
    }
  }

  #reopen(error: unknown): void {
    this.#generation++
    this.#lastError = error instanceof Error ? error.message : String(error)
    this.#closeConsumer()
    this.#setState('disconnected', this.#lastError)
    this.#pause = this.#dependencies.after(this.#backoff.nextMs(), () => this.start())
  }

  #closeConsumer(): void {
    const consumer = this.#consumer
    this.#consumer = undefined
    consumer?.close().catch((error: unknown) => this.#dependencies.fail(error))
  }

  async #take(records: readonly ConsumedRecord[]): Promise<void> {
    const { publisher } = this.#dependencies
    const messages = records.flatMap((record) => this.#messageOf(record) ?? [])
    await Promise.all(messages.map((message) => publisher.publish(message)))
    this.#received += messages.length
  }

  /** Undefined if this broker can never accept the message. */
  #messageOf(record: ConsumedRecord): SourceMessage | undefined {
    const { id } = this.#dependencies
    const { topic, value } = record
    const name = parseTopicName(sourceTopicPrefix(id) + topic)
    const properties = propertiesOf(record)
    const propertyBytes = properties.reduce((sum, [key, text]) => sum + key.length + Buffer.byteLength(text) + 5, 0)
    const bytes = value.length + propertyBytes + topic.length + packetOverhead
    const isTooLarge = bytes > this.#dependencies.maxPacketBytes() || propertyBytes > maxPropertyBytes
    if (name !== undefined && !isTooLarge) return { topic: name, payload: value, properties }
    this.#dropped++
    this.#lastError = `the record ${record.offset} of partition ${record.partition} has ${bytes} bytes: this broker takes none so large (mqtt.max_packet_size)`
    return undefined
  }

  #setState(state: SourceReport['state'], why: string): void {
    if (state === this.#state && why === this.#why) return
    this.#state = state
    this.#why = why
    this.#dependencies.noteState(state, why)
  }
}

function propertiesOf({ key, partition, offset, timestamp, headers }: ConsumedRecord): UserProperties {
  return [
    ...(key === undefined ? [] : [keyProperty(key)]),
    [recordProperties.partition, String(partition)],
    [recordProperties.offset, offset],
    [recordProperties.timestamp, timestamp],
    ...headers.map(([name, text]) => [recordProperties.header + cleanText(name), cleanText(text)] as const),
  ]
}

/** As text, if it is valid in MQTT. */
function keyProperty(key: Buffer): readonly [string, string] {
  const text = key.toString()
  const isText = Buffer.from(text).equals(key) && !control.test(text)
  return isText ? [recordProperties.key, text] : [recordProperties.keyBytes, key.toString('base64')]
}

function cleanText(text: string): string {
  return text.toWellFormed().replaceAll(/\p{Cc}/gu, '\u{FFFD}')
}
