// Settings of other brokers that are accepted without effect, so that their configuration files can be used unchanged.
// This table is the only place that says so: `config check` warns, and the reference lists them, with the reason.

import type { SchemaNode } from '../schema/setting.ts'

const fixedByLibrary = 'the QUIC library does not have this option'
const fixedByNode = 'Node.js does not have this socket option'
const listenersOnly = 'only a listener can require a certificate of its peer'
const ownStore = 'Godwit stores sessions and queues itself; see `storage`'
const stored = 'messages wait on disk until they are sent, up to `resource_opts.max_buffer_messages`'
const ofWorkers = 'each shard has its own connections; see `pool_size`'
const ofLibrary = 'the library of the service does this itself'
const reconnects = 'an action always connects again'
const ofPartitions = 'records with a key go to the partition of the key, others of a batch go together'
const ofHealth = 'the health is that of the actions; see `resource_opts.health_check_interval` of the action'
const ofHistory = 'the history of the configuration has the times of changes'
const noGateway = 'Godwit has no such gateway'

/** Reasons by key. `*` stands for one level, `<name>` for any name. A section includes everything in it. */
export const ignoredSettings: Readonly<Record<string, string>> = {
  'mqtt.batch_resend': 'after a reconnect all in-flight messages are sent again at once, up to the in-flight window',
  'log.uds_addr': 'lines cannot be sent to a Unix socket',
  'bridges.mqtt.cache.enable': 'the queue of a bridge is always on disk',
  'bridges.mqtt.cache.mounted_file_path': 'queues are in the data directory',
  'bridges.mqtt.cache.flush_mem_threshold': 'each acknowledged message is on disk',
  'bridges.mqtt.cache.resend_interval': 'queued messages are sent as soon as the remote broker is connected',
  'bridges.*.<name>.ssl.fail_if_no_peer_cert': listenersOnly,
  'bridges.*.<name>.tls.fail_if_no_peer_cert': listenersOnly,
  'bridges.mqtt.<name>.tcp.quickack': fixedByNode,
  'bridges.mqtt.<name>.tcp.keepintvl': fixedByNode,
  'bridges.mqtt.<name>.tcp.keepcnt': fixedByNode,
  'bridges.mqtt.<name>.tcp.sendtimeo': fixedByNode,
  'bridges.mqtt.<name>.tcp.recvtimeo': fixedByNode,
  'bridges.mqtt.<name>.unsub_properties.identifier': 'UNSUBSCRIBE has no subscription identifier',
  'bridges.mqtt.<name>.quic_discon_timeout': fixedByLibrary,
  'bridges.mqtt.<name>.quic_send_idle_timeout': fixedByLibrary,
  'bridges.mqtt.<name>.quic_initial_rtt_ms': fixedByLibrary,
  'bridges.mqtt.<name>.quic_max_ack_delay_ms': fixedByLibrary,
  'bridges.mqtt.<name>.quic_qos_priority': fixedByLibrary,
  'bridges.mqtt.<name>.quic_0rtt': fixedByLibrary,
  'bridges.aws.<name>.max_parallel_processes': 'a bridge has one connection',
  'connectors.*.<name>.ssl.fail_if_no_peer_cert': listenersOnly,
  'webhook.ssl.fail_if_no_peer_cert': listenersOnly,
  'connectors.*.<name>.tags': 'connectors and actions have no tags',
  'actions.*.<name>.tags': 'connectors and actions have no tags',
  'connectors.*.<name>.created_at': ofHistory,
  'connectors.*.<name>.last_modified_at': ofHistory,
  'actions.*.<name>.created_at': ofHistory,
  'actions.*.<name>.last_modified_at': ofHistory,
  'sources.*.<name>.created_at': ofHistory,
  'sources.*.<name>.last_modified_at': ofHistory,
  'connectors.*.<name>.resource_opts': ofHealth,
  'connectors.http.<name>.pool_type': ofWorkers,
  'connectors.elasticsearch.<name>.pool_type': ofWorkers,
  'connectors.s3.<name>.access_method': 'the bucket is in the path of the URL',
  'connectors.s3.<name>.url_expire_time': 'no signed URLs are made',
  'connectors.s3.<name>.transport_options': 'use `connect_timeout`, `pool_size` and `ssl`',
  'connectors.http.<name>.max_inactive':
    'idle connections are closed after 30 seconds, or earlier if the service says so',
  'connectors.mqtt.<name>.pool_size': ofWorkers,
  'connectors.mqtt.<name>.clean_start': 'actions keep messages on disk, and sources have persistent sessions',
  'connectors.mqtt.<name>.bridge_mode': 'messages of this broker are recognised by a user property',
  'connectors.mqtt.<name>.retry_interval': 'use `resource_opts.retry_interval` of the action',
  'connectors.mqtt.<name>.max_inflight': 'use `resource_opts.inflight_window` of the action',
  'connectors.*.<name>.auto_reconnect': reconnects,
  'connectors.redis.<name>.parameters.auto_reconnect': reconnects,
  'connectors.redis.<name>.parameters.pool_size': ofWorkers,
  'connectors.*.<name>.disable_prepared_statements': 'statements are prepared for one batch only',
  'connectors.rabbitmq.<name>.pool_size': ofWorkers,
  'connectors.rabbitmq.<name>.timeout': 'use `connect_timeout`',
  'connectors.mongodb.<name>.parameters.w_mode': 'a write is always confirmed',
  'connectors.mongodb.<name>.parameters.r_mode': 'actions do not read',
  'connectors.mongodb.<name>.srv_record': 'write the addresses of the servers',
  'connectors.mongodb.<name>.use_legacy_protocol': ofLibrary,
  'connectors.mongodb.<name>.topology': ofLibrary,
  'connectors.*.<name>.min_metadata_refresh_interval': ofLibrary,
  'connectors.*.<name>.metadata_request_timeout': 'use `connect_timeout`',
  'connectors.*.<name>.health_check_topic': 'the topic of the action is checked',
  'connectors.*.<name>.allow_auto_topic_creation': 'the cluster decides whether it creates topics',
  'connectors.*.<name>.socket_opts': ofLibrary,
  'actions.kafka_producer.<name>.parameters.message.timestamp': 'a record has the time at which it is sent',
  'actions.kafka_producer.<name>.parameters.max_linger_time': 'use `resource_opts.batch_time`',
  'actions.kafka_producer.<name>.parameters.max_linger_bytes': 'use `parameters.max_batch_bytes`',
  'actions.kafka_producer.<name>.parameters.max_inflight': 'use `resource_opts.inflight_window`',
  'actions.kafka_producer.<name>.parameters.partition_strategy': ofPartitions,
  'actions.kafka_producer.<name>.parameters.partitions_limit': ofPartitions,
  'actions.kafka_producer.<name>.parameters.disable_topic_check':
    'a topic that is missing is shown and keeps no start back',
  'actions.elasticsearch.<name>.parameters.max_retries': 'use `resource_opts.max_retries`',
  'actions.s3.<name>.parameters.min_part_size': 'an object is sent in one piece',
  'actions.s3.<name>.parameters.max_part_size': 'an object is sent in one piece',
  'actions.kafka_producer.<name>.parameters.partition_count_refresh_interval': ofLibrary,
  'actions.kafka_producer.<name>.parameters.kafka_header_value_encode_mode':
    'headers are texts; other values are written as JSON',
  'actions.clickhouse.<name>.parameters.batch_value_separator': 'rows of a batch are joined by commas',
  'actions.*.<name>.parameters.undefined_vars_as_null': 'a value that does not exist is always NULL',
  'actions.kafka_producer.<name>.parameters.query_mode': stored,
  'actions.kafka_producer.<name>.parameters.sync_query_timeout': 'use `resource_opts.request_timeout`',
  'actions.kafka_producer.<name>.parameters.buffer': stored,
  'actions.rabbitmq.<name>.parameters.wait_for_publish_confirmations': 'RabbitMQ always confirms each message',
  'actions.rabbitmq.<name>.parameters.publish_confirmation_timeout': 'use `resource_opts.request_timeout`',
  'sources.*.<name>.tags': 'sources have no tags',
  'sources.*.<name>.resource_opts': 'a source receives while its connection is open, and connects again by itself',
  'actions.*.<name>.resource_opts.request_ttl': stored,
  'actions.*.<name>.resource_opts.max_buffer_bytes': stored,
  'actions.*.<name>.resource_opts.worker_pool_size': ofWorkers,
  'actions.*.<name>.resource_opts.query_mode': stored,
  'actions.*.<name>.resource_opts.metrics_flush_interval': 'metrics are read when they are requested',
  'actions.*.<name>.resource_opts.health_check_timeout': 'use `request_timeout`',
  'actions.*.<name>.resource_opts.start_timeout': 'use `connect_timeout` of the connector',
  'actions.*.<name>.resource_opts.start_after_created': 'use `enable`',
  'actions.*.<name>.resource_opts.health_check_interval_jitter': 'each shard checks for itself',
  'actions.*.<name>.resource_opts.resume_interval': 'use `retry_interval`',
  'actions.*.<name>.resource_opts.buffer_mode': stored,
  'actions.*.<name>.resource_opts.buffer_seg_bytes': stored,
  'actions.*.<name>.resource_opts.async_inflight_window': 'use `inflight_window`',
  'actions.*.<name>.resource_opts.enable_batch': 'use `batch_size`',
  'actions.*.<name>.resource_opts.enable_queue': stored,
  'actions.*.<name>.resource_opts.auto_restart_interval': reconnects,
  'actions.*.<name>.local_topic': 'write a rule for the topic that names the action',
  'sources.mqtt.<name>.parameters.no_local': 'the connection of a source publishes nothing',
  'rule_engine.rules.<id>.name': 'rules are known by their IDs; use `description`',
  'rule_engine.rules.<id>.metadata': ofHistory,
  'sources.rabbitmq.<name>.parameters.no_ack': 'a message is always acknowledged when what rules make of it is stored',
  'sources.rabbitmq.<name>.parameters.wait_for_publish_confirmations': 'a source publishes nothing to RabbitMQ',
  'preset.session': 'sessions are created by clients',
  sqlite: ownStore,
  system: 'these settings describe processes of NanoMQ; see `node.shards`',
  plugin: 'native plugins cannot be loaded',
  'gateway.mqtt': 'use `bridges`',
  'gateway.zmq': noGateway,
  dds: noGateway,
  forward_rules: noGateway,
  vsomeip: noGateway,
  exchange_client: ownStore,
  parquet: ownStore,
}

/** A level of keys in the table: the reason of the key that ends here, and the levels below. */
interface KeyLevel {
  reason: string | undefined
  readonly below: Map<string, KeyLevel>
}

/** Returns the schema of `key` with the reasons of the table. Parts without an entry stay the same objects. */
export function markIgnored<Node extends SchemaNode>(node: Node, key = ''): Node {
  const whole: readonly KeyLevel[] = [indexLevels(ignoredSettings)]
  return markLevel(node, key === '' ? whole : key.split('.').reduce(findLevelsBelow, whole))
}

/** Walks the schema and the table together: each thread of the node reads the schema when it starts. */
function markLevel<Node extends SchemaNode>(node: Node, matching: readonly KeyLevel[]): Node {
  if (matching.length === 0) return node
  const ignored = matching.find(({ reason }) => reason !== undefined)?.reason
  if (ignored !== undefined) return { ...node, ignored }
  if (node.kind === 'setting') return node
  const entries = Object.entries(node.entries).map(
    ([name, entry]) => [name, markLevel(entry, findLevelsBelow(matching, name))] as const,
  )
  const named =
    node.named === undefined ? undefined : markLevel(node.named, findLevelsBelow(matching, `<${node.placeholder}>`))
  const isSame = named === node.named && entries.every(([name, entry]) => entry === node.entries[name])
  return isSame ? node : { ...node, entries: Object.fromEntries(entries), named }
}

function findLevelsBelow(matching: readonly KeyLevel[], name: string): readonly KeyLevel[] {
  return matching.flatMap(({ below }) => [below.get(name) ?? [], below.get('*') ?? []].flat())
}

function indexLevels(table: Readonly<Record<string, string>>): KeyLevel {
  const root: KeyLevel = { reason: undefined, below: new Map() }
  for (const [key, reason] of Object.entries(table)) {
    let level = root
    for (const name of key.split('.')) {
      let next = level.below.get(name)
      if (next === undefined) level.below.set(name, (next = { reason: undefined, below: new Map() }))
      level = next
    }
    level.reason = reason
  }
  return root
}
