// The source for Kafka. Offsets are committed when the results of rules are durable: after a crash, records may be repeated, but none
// is skipped.

import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import type { UserProperties } from '../../protocol/index.ts'
import type { NamedValue } from '../sink.ts'
import { checkOnce, type OpeningAttempt } from '../connections/open-service-connection.ts'
import {
  cleanText,
  toServiceName,
  type ReceivedMessage,
  sourceProperties,
  type SourceType,
} from '../sources/source-type.ts'
import {
  type ConsumedRecord,
  type ConsumerCallbacks,
  type KafkaConsumer,
  type KafkaProducer,
  loadKafka,
  openKafkaConsumer,
  openKafkaProducer,
} from './kafka-library.ts'
import { toKafkaClientSettings, findKafkaConnectorProblem, findTopicProblem } from './kafka-producer-sink.ts'

type KafkaSourceSettings = NamedValue<SourcesConfig['kafka_consumer']>

/** The same as of producers. */
type KafkaSourceConnector = NamedValue<ConnectorsConfig['kafka_consumer']>

/** Time for which Kafka may delay the response to a fetch. It may exceed this time slightly. */
const requestTimeoutMs = 10_000
/** Timeout for connecting, which the library limits for each Kafka broker, and for joining the group, which may be waiting for other members. */
const joinTimeoutMs = 60_000
const control = /\p{Cc}/u

export const kafkaSourceType: SourceType<KafkaSourceSettings, KafkaSourceConnector, KafkaConsumer> = {
  findConnectorProblem: findKafkaConnectorProblem,
  findSourceProblem: ({ parameters: { topic = '' } }) => findTopicProblem(topic),
  formatServer: ({ bootstrap_hosts: servers = '' }) => servers,

  driver(id, { parameters }, connector, callbacks) {
    const settings = {
      ...toKafkaClientSettings(connector, requestTimeoutMs),
      topic: parameters.topic ?? '',
      groupId: parameters.group_id ?? toServiceName(id),
      fromBeginning: parameters.offset_reset_policy === 'earliest',
      maxBytes: parameters.max_batch_bytes,
      sessionTimeoutMs: parameters.session_timeout,
    }
    const consumerCallbacks: ConsumerCallbacks = {
      take: async (records) => {
        await Promise.all(records.map((record) => callbacks.take(toReceivedMessage(record))))
      },
      onJoined: () => callbacks.onConnected(),
      onFailed: (error) => callbacks.onFailed(error),
    }
    return {
      limits: { connectTimeoutMs: settings.connectTimeoutMs, requestTimeoutMs: joinTimeoutMs },
      load: loadKafka,
      open: () => openKafkaConsumer(settings, consumerCallbacks),
      receive: (consumer) => consumer.receive(),
      end: (consumer) => consumer.leave(),
      destroy: (consumer) => consumer.close(),
    }
  },

  async check(connector, source, timeoutMs) {
    const usual = { acks: 'all', compression: 'no_compression' } as const
    const settings = { ...toKafkaClientSettings(connector, timeoutMs), ...usual }
    const driver = {
      load: loadKafka,
      open: (attempt: OpeningAttempt) => openKafkaProducer(settings, attempt),
      destroy: (client: KafkaProducer) => client.close(),
    }
    return await checkOnce(driver, timeoutMs, async (client) => {
      if (source !== undefined) await client.check(source.parameters.topic ?? '')
    })
  },
}

function toReceivedMessage(record: ConsumedRecord): ReceivedMessage {
  const { topic, value, partition, offset } = record
  const name = `the record ${offset} of partition ${partition}`
  return { topic, payload: value, properties: toRecordProperties(record), name }
}

function toRecordProperties({ key, partition, offset, timestamp, headers }: ConsumedRecord): UserProperties {
  return [
    ...(key === undefined ? [] : [toKeyProperty(key)]),
    [sourceProperties.partition, String(partition)],
    [sourceProperties.offset, offset],
    [sourceProperties.timestamp, timestamp],
    ...headers.map(([name, text]) => [sourceProperties.header + cleanText(name), cleanText(text)] as const),
  ]
}

/** The key as a user property: as text, if the text is valid in MQTT. */
function toKeyProperty(key: Buffer): readonly [string, string] {
  const text = key.toString()
  const isText = Buffer.from(text).equals(key) && !control.test(text)
  return isText ? [sourceProperties.key, text] : [sourceProperties.keyBytes, key.toString('base64')]
}
