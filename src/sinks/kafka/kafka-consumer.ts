// What a source of Kafka reads, as it is configured.

import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import type { NamedValue } from '../sink.ts'
import { messageOf, withTimeout } from '../service-answers.ts'
import { openKafkaConsumer, openKafkaProducer, type ConsumerCallbacks, type KafkaConsumer } from './kafka-library.ts'
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

/** Undefined: a broker answers, and the topic, if one is named, has a leader. Reads nothing. */
export async function checkKafka(
  connector: KafkaSourceConnector,
  topic: string | undefined,
  timeoutMs: number,
): Promise<string | undefined> {
  const usual = { acks: 'all', compression: 'no_compression' } as const
  const opening = openKafkaProducer({ ...kafkaClientSettings(connector, timeoutMs), ...usual })
  try {
    const client = await withTimeout(opening, timeoutMs)
    if (topic !== undefined) await withTimeout(client.check(topic), timeoutMs)
    return undefined
  } catch (error) {
    return messageOf(error)
  } finally {
    // One that opens late is closed as well.
    opening.then((client) => client.close()).catch(() => {})
  }
}
