// connectors.kafka_producer, actions.kafka_producer: records for topics of Kafka. connectors.kafka_consumer,
// sources.kafka_consumer: records for rules.

import { listOf, record, textMap } from '../../schema/collections.ts'
import { size } from '../../schema/quantities.ts'
import { openSection, section, sectionOrNone, setting } from '../../schema/setting.ts'
import { choice, integer, optional } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  ofEmqx,
  createResourceOptions,
  sourceSettings,
  template,
} from './sink-parts.ts'

const kibibyte = 1_024
const mebibyte = kibibyte * kibibyte

const kafkaConnector = section('A connection to a Kafka cluster.', {
  ...connectorSettings,
  bootstrap_hosts: setting(maybeText, undefined, {
    description:
      'Addresses of brokers of the Kafka cluster, from which the client learns the others; separated by commas, such as 10.0.0.1:9092,10.0.0.2:9092.',
    isRequired: true,
  }),
  authentication: sectionOrNone(
    'SASL authentication at the Kafka brokers. The value none instead of a section: no authentication.',
    {
      mechanism: setting(choice(['none', 'plain', 'scram_sha_256', 'scram_sha_512']), 'none', {
        description: 'SASL mechanism. Use plain with TLS only, because it sends the password unencrypted.',
      }),
      username: setting(maybeText, undefined, { description: 'User name for SASL.' }),
      password: setting(maybeText, undefined, { description: 'Password for SASL.', isSecret: true }),
    },
  ),
  connect_timeout: connectTimeout,
  min_metadata_refresh_interval: ofEmqx,
  metadata_request_timeout: ofEmqx,
  health_check_topic: ofEmqx,
  allow_auto_topic_creation: ofEmqx,
  socket_opts: openSection('Settings of EMQX, which are accepted so that its files can be used unchanged.'),
  ssl: outgoingTls,
})

const maxExtendedHeaders = 100
const extendedHeader = record('a header', { kafka_ext_header_key: anyText, kafka_ext_header_value: anyText }, [
  'kafka_ext_header_key',
  'kafka_ext_header_value',
])

const kafkaAction = section('An action that sends a record to a Kafka topic for each result.', {
  ...actionSettings,
  parameters: section('Topic, content and batches of the records. Texts of `message` are templates with ${...}.', {
    topic: setting(anyText, '', {
      description: 'Kafka topic that records are sent to, a template such as readings-${clientid}.',
      isRequired: true,
    }),
    message: section('Key, value and headers of a record.', {
      key: setting(template, '${clientid}', {
        description:
          'Template of the record key. Records with the same key go to the same partition and keep their order. Empty: no key.',
      }),
      value: setting(optional(template, 'none'), undefined, {
        description: 'Template of the record value.',
        defaultWords: 'all columns as JSON',
      }),
      headers: setting(textMap, new Map(), { description: 'Headers of the record. Values are templates.' }),
      timestamp: ofEmqx,
    }),
    kafka_headers: setting(optional(template, 'none'), undefined, {
      description:
        'Additional record headers: a placeholder for a column that is an object of names and values, or a list of {key, value}, such as ${user_properties}.',
    }),
    kafka_ext_headers: setting(listOf(extendedHeader, maxExtendedHeaders), [], {
      description:
        'Additional record headers: a list of {kafka_ext_header_key, kafka_ext_header_value}. Both are templates.',
    }),
    required_acks: setting(choice(['all_isr', 'leader_only']), 'all_isr', {
      description:
        'Which replicas must have stored a record before it counts as delivered: all in-sync replicas, or only the leader of the partition.',
    }),
    compression: setting(choice(['no_compression', 'gzip', 'zstd']), 'no_compression', {
      description: 'Compression of the record batches.',
    }),
    max_batch_bytes: setting(size({ minBytes: kibibyte, maxBytes: 256 * mebibyte }), 896 * kibibyte, {
      description:
        'Maximum size of a batch before compression. It must not exceed message.max.bytes of the cluster. A larger record becomes a dead letter.',
    }),
    max_linger_time: ofEmqx,
    max_linger_bytes: ofEmqx,
    max_inflight: ofEmqx,
    partition_strategy: ofEmqx,
    partitions_limit: ofEmqx,
    disable_topic_check: ofEmqx,
    partition_count_refresh_interval: ofEmqx,
    kafka_header_value_encode_mode: ofEmqx,
    query_mode: ofEmqx,
    sync_query_timeout: ofEmqx,
    buffer: openSection('Settings of EMQX, which are accepted so that its files can be used unchanged.'),
  }),
  resource_opts: createResourceOptions({ batchSize: 1_000, inflightWindow: 1_000 }),
})

const kafkaSource = section(
  'A source that reads the records of one Kafka topic. Rules name it $bridges/kafka_consumer:NAME.',
  {
    ...sourceSettings,
    parameters: section('The topic that is read, and the consumer group.', {
      topic: setting(maybeText, undefined, { description: 'Kafka topic that is read.', isRequired: true }),
      group_id: setting(maybeText, undefined, {
        description:
          'Consumer group. Kafka stores its offsets, so that after a restart the source continues after the last record that the rules have handled.',
        defaultWords: 'godwit- and the name of the source',
      }),
      offset_reset_policy: setting(choice(['latest', 'earliest']), 'latest', {
        description:
          'Where a consumer group without stored offsets begins. latest: with records that are sent from then on. earliest: with the oldest record.',
      }),
      max_batch_bytes: setting(size({ minBytes: kibibyte, maxBytes: 256 * mebibyte }), 896 * kibibyte, {
        description: 'Maximum size of one fetch from a partition.',
      }),
      session_timeout: setting(integer({ min: 1_000, max: 3_600_000 }), 30_000, {
        description:
          'Time after which Kafka removes a group member that sends no heartbeats, and assigns its partitions to others.',
        unit: 'milliseconds',
      }),
    }),
  },
)

export const kafkaConnectors = listNamedSinks('Connections to Kafka clusters.', kafkaConnector)
export const kafkaActions = listNamedSinks('Actions that send records to Kafka.', kafkaAction)
export const kafkaSources = listNamedSinks('Sources that read records from Kafka.', kafkaSource)
