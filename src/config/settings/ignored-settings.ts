// Settings of other brokers that are accepted without effect, so that their configuration files can be used unchanged.
// This table is the only place that says so: `config check` warns, and the reference lists them, with the reason.

import type { SchemaNode } from '../schema/setting.ts'

const fixedByLibrary = 'the QUIC library does not have this option'
const fixedByNode = 'Node.js does not have this socket option'
const listenersOnly = 'only a listener can require a certificate of its peer'
const ownStore = 'Godwit stores sessions and queues itself; see `storage`'
const stored = 'messages wait on disk until they are sent, up to `resource_opts.max_buffer_messages`'
const ofWorkers = 'each shard has its own connections; see `pool_size`'
const ofHealth = 'the health is that of the actions; see `resource_opts.health_check_interval` of the action'
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
  'connectors.*.<name>.resource_opts': ofHealth,
  'connectors.http.<name>.pool_type': ofWorkers,
  'connectors.http.<name>.enable_pipelining': 'a connection has one request at a time',
  'connectors.http.<name>.max_inactive': 'idle connections are kept until the service closes them',
  'actions.*.<name>.resource_opts.request_ttl': stored,
  'actions.*.<name>.resource_opts.max_buffer_bytes': stored,
  'actions.*.<name>.resource_opts.worker_pool_size': ofWorkers,
  'actions.*.<name>.resource_opts.query_mode': stored,
  'actions.*.<name>.resource_opts.metrics_flush_interval': 'metrics are read when they are asked for',
  'actions.*.<name>.resource_opts.health_check_timeout': 'use `request_timeout`',
  'actions.*.<name>.resource_opts.start_timeout': 'use `connect_timeout` of the connector',
  'actions.*.<name>.resource_opts.start_after_created': 'use `enable`',
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

/** Returns the schema with the reasons of the table. Parts without an entry stay the same objects. */
export function markIgnored<Node extends SchemaNode>(node: Node, key = ''): Node {
  const ignored = reasonFor(key)
  if (ignored !== undefined) return { ...node, ignored }
  if (node.kind === 'setting') return node
  const prefix = key === '' ? '' : `${key}.`
  const entries = Object.entries(node.entries).map(
    ([name, entry]) => [name, markIgnored(entry, `${prefix}${name}`)] as const,
  )
  const named = node.named === undefined ? undefined : markIgnored(node.named, `${prefix}<${node.placeholder}>`)
  const isSame = named === node.named && entries.every(([name, entry]) => entry === node.entries[name])
  return isSame ? node : { ...node, entries: Object.fromEntries(entries), named }
}

function reasonFor(key: string): string | undefined {
  return Object.entries(ignoredSettings).find(([pattern]) => isMatch(pattern.split('.'), key.split('.')))?.[1]
}

function isMatch(pattern: readonly string[], key: readonly string[]): boolean {
  return pattern.length === key.length && pattern.every((level, index) => level === '*' || level === key[index])
}
