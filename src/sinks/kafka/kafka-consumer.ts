// What a source of Kafka reads, as it is configured.

import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import type { NamedValue } from '../sink.ts'
import { openKafkaConsumer, type ConsumerCallbacks, type KafkaConsumer } from './kafka-library.ts'
import { kafkaClientSettings, problemOfTopic } from './kafka-producer-sink.ts'

export type KafkaSourceSettings = NamedValue<SourcesConfig['kafka_consumer']>

/** The same as of producers. */
export type KafkaSourceConnector = NamedValue<ConnectorsConfig['kafka_consumer']>

/** Kafka may wait so long with an answer to a fetch, and some more. */
const requestTimeoutMs = 10_000

/** Begins with the name of a setting. */
export function problemOfKafkaSource({ parameters: { topic = '' } }: KafkaSourceSettings): string | undefined {
  return problemOfTopic(topic)
}

/** `id`: `type:name`. Rejects where no broker answers. */
export function kafkaConsumerOf(
  id: string,
  { parameters }: KafkaSourceSettings,
  connector: KafkaSourceConnector,
  callbacks: ConsumerCallbacks,
): Promise<KafkaConsumer> {
  const settings = {
    ...kafkaClientSettings(connector, requestTimeoutMs),
    topic: parameters.topic ?? '',
    groupId: parameters.group_id ?? `godwit-${id.slice(id.indexOf(':') + 1)}`,
    fromBeginning: parameters.offset_reset_policy === 'earliest',
    maxBytes: parameters.max_batch_bytes,
    sessionTimeoutMs: parameters.session_timeout,
  }
  return openKafkaConsumer(settings, callbacks)
}
