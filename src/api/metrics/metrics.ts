// Metrics: for Prometheus, and the numbers of EMQX 4.

import type { metricEndpoints } from './endpoints.ts'
import type { MetricName } from '../../contract/index.ts'
import {
  counterMetrics,
  type CounterMetricName,
  type HistogramName,
  type LoopDelay,
  type ThreadMemory,
} from '../../telemetry/index.ts'
import { type Handlers, type ApiError, refuse } from '../../management/index.ts'
import { type GatewayMetrics, toGatewayMetrics } from './to-gateway-metrics.ts'
import { computeAgeSeconds } from '../bridges/to-bridge-node.ts'
import type { BridgeReport } from '../../shard/index.ts'
import type { ConfiguredGateways } from '../gateways/configured-gateways.ts'
import { type MetricValue, type Sample, writePrometheus } from './prometheus-text.ts'
import type { RuleParts } from '../rules/configured-rules.ts'
import { scrapeRules } from '../rules/rule-reports.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { CountedTopics } from '../topic-metrics/counted-topics.ts'
import { createNodeReader, type NodeReading } from './node-reading.ts'
import { toRuleMetrics, type RuleMetricName } from './to-rule-metrics.ts'
import { type TopicMetricName, toTopicMetrics } from './to-topic-metrics.ts'

const msPerSecond = 1_000

export function createMetricHandlers(
  node: ApiContext,
  {
    rules,
    gateways,
    topics,
  }: {
    readonly rules: RuleParts
    readonly gateways: Pick<ConfiguredGateways, 'list'>
    readonly topics: Pick<CountedTopics, 'scrape'>
  },
): Handlers<typeof metricEndpoints> {
  const { nodeName } = node
  const read = createNodeReader(node)
  const checkNode = (node: string): ApiError | undefined => (node === nodeName ? undefined : refuseNode(node, nodeName))
  return {
    get_metrics: () => {
      const { cpuPercent, memoryBytes } = read()
      return { metrics: [], cpuinfo: `${cpuPercent.toFixed(2)}%`, memory: String(memoryBytes) }
    },
    get_prometheus: async () =>
      writePrometheus({
        ...toMetrics(read()),
        ...toRuleMetrics(await scrapeRules(rules.configuration.config, rules.shards)),
        ...toTopicMetrics(await topics.scrape()),
        ...toGatewayMetrics(await gateways.list()),
      }),
    get_stats: () => ({ code: 0, data: [{ node: nodeName, stats: toStats(read()) }] }),
    get_node_stats: ({ params }) => checkNode(params.node) ?? { code: 0, data: toStats(read()) },
    get_node_metrics: ({ params }) => checkNode(params.node) ?? { code: 0, data: toCounts(read()) },
    get_status: () => {
      const { shardsRunning } = read()
      if (shardsRunning === 0) return refuse('rpcError', 'no shard of the node is running: see its log', 503)
      return `Node ${nodeName} is started\ngodwit is running\n`
    },
  }
}

export function refuseNode(node: string, nodeName: string): ApiError {
  return refuse('invalidParameter', `there is no node '${node}': this one is '${nodeName}'`, 404)
}

/** Gauges of a node, by their names in EMQX 4. */
function toStats({ counters, highest }: NodeReading): Record<string, number> {
  const pairs: [string, number, number][] = [
    ['connections', counters.connectionsOpen, highest.connections],
    ['channels', counters.connectionsOpen, highest.connections],
    ['sessions', counters.sessionsStored, highest.sessions],
    ['topics', counters.topicsStored, highest.topics],
    ['suboptions', counters.subscriptionsStored, highest.subscriptions],
    ['subscribers', counters.subscribersStored, highest.subscribers],
    ['subscriptions', counters.subscriptionsStored, highest.subscriptions],
    ['subscriptions.shared', counters.sharedSubscriptionsStored, highest.sharedSubscriptions],
    ['routes', counters.topicsStored, highest.topics],
    ['retained', counters.retainedStored, highest.retained],
  ]
  return Object.fromEntries(
    pairs.flatMap(([name, count, max]) => [
      [`${name}.count`, count],
      [`${name}.max`, max],
    ]),
  )
}

/** Counters of a node. */
function toCounts({ counters }: NodeReading): Record<string, number> {
  return {
    'bytes.received': counters.bytesReceived,
    'bytes.sent': counters.bytesSent,
    'packets.received': counters.packetsReceived,
    'packets.sent': counters.packetsSent,
    'messages.received': counters.messagesReceived,
    'messages.sent': counters.messagesSent,
    'messages.dropped': counters.messagesDropped + counters.droppedNoSubscribers,
    'messages.dropped.no_subscribers': counters.droppedNoSubscribers,
    'delivery.dropped': counters.messagesDropped,
    'delivery.dropped.queue_full': counters.droppedQueueFull,
    'delivery.dropped.memory_full': counters.droppedMemoryFull,
    'delivery.dropped.expired': counters.droppedExpired,
    'delivery.dropped.too_large': counters.droppedTooLarge,
    'client.connected': counters.clientsConnected,
    'connections.accepted': counters.connectionsAccepted,
    'connections.refused': counters.connectionsRefused,
  }
}

function toMetrics(
  reading: NodeReading,
): Record<Exclude<MetricName, RuleMetricName | TopicMetricName | keyof GatewayMetrics>, MetricValue> {
  return {
    ...toRequiredMetrics(reading),
    ...toCounterMetrics(reading),
    ...toMemoryMetrics(reading),
    ...toTrafficMetrics(reading),
    ...toNodeMetrics(reading),
    ...toBridgeMetrics(reading),
    ...toShardMetrics(reading),
  }
}

function toRequiredMetrics({ counters, highest, memoryBytes, cpuPercent }: NodeReading) {
  return {
    svc_connections_count: counters.connectionsOpen,
    svc_connections_max: highest.connections,
    svc_sessions_count: counters.sessionsStored,
    svc_sessions_max: highest.sessions,
    svc_topics_count: counters.topicsStored,
    svc_topics_max: highest.topics,
    svc_subscribers_count: counters.subscribersStored,
    svc_subscribers_max: highest.subscribers,
    svc_messages_received: counters.messagesReceived,
    svc_messages_sent: counters.messagesSent,
    svc_messages_dropped: counters.messagesDropped + counters.droppedNoSubscribers,
    svc_memory_usage: memoryBytes,
    svc_memory_usage_max: highest.memoryBytes,
    svc_cpu_usage: cpuPercent.toFixed(2),
    svc_cpu_usage_max: highest.cpuPercent.toFixed(2),
  }
}

/** The metrics that are one counter. */
function toCounterMetrics({ counters }: NodeReading): Record<CounterMetricName, number> {
  return Object.fromEntries(
    Object.entries(counterMetrics).map(([metric, { counter }]) => [metric, counters[counter]]),
  ) as Record<CounterMetricName, number>
}

function toTrafficMetrics({ counters, rates, uptimeMs }: NodeReading) {
  return {
    svc_uptime_seconds: Math.floor(uptimeMs / msPerSecond),
    svc_clients_refused_total: toReasonSamples(counters, refused),
    svc_messages_received_rate: rates.received,
    svc_messages_sent_rate: rates.sent,
    svc_messages_dropped_rate: rates.dropped,
    svc_messages_dropped_by_reason_total: toReasonSamples(counters, dropped),
    godwit_packets_refused_total: toReasonSamples(counters, packetsRefused),
  }
}

const memoryLevels: Readonly<Record<NodeReading['memoryLevel'], number>> = { normal: 0, soft: 1, hard: 2 }

function toMemoryMetrics({ memoryLimitBytes, memoryLevel, memoryHeld }: NodeReading) {
  return {
    svc_memory_limit_bytes: memoryLimitBytes,
    svc_memory_level: memoryLevels[memoryLevel],
    svc_memory_held_bytes: Object.entries(memoryHeld).map(([use, value]) => ({ labels: { use }, value })),
  }
}

function toBridgeMetrics({ bridges }: NodeReading) {
  const toSamples = (valueOf: (bridge: BridgeReport) => number): Sample[] =>
    bridges.map((bridge) => ({ labels: { bridge: bridge.name }, value: valueOf(bridge) }))
  const toCounterSamples = (counter: Exclude<keyof BridgeReport['counters'], 'dropped'>): Sample[] =>
    toSamples(({ counters }) => counters[counter])
  return {
    svc_bridge_connected: toSamples(({ state }) => (state === 'connected' ? 1 : 0)),
    svc_bridge_state: bridges.flatMap(toStateSamples),
    svc_bridge_last_error_timestamp_seconds: toSamples(({ lastErrorAtMs = 0 }) => lastErrorAtMs / msPerSecond),
    svc_bridge_spool_depth: toSamples(({ spooled }) => spooled),
    svc_bridge_in_flight: toSamples(({ inFlight }) => inFlight),
    svc_bridge_oldest_seconds: toSamples(({ oldestAtMs }) =>
      oldestAtMs === undefined ? 0 : computeAgeSeconds(oldestAtMs),
    ),
    svc_bridge_lag_seconds: toSamples(({ oldestAtMs }) =>
      oldestAtMs === undefined ? 0 : computeAgeSeconds(oldestAtMs),
    ),
    svc_bridge_messages_sent_total: toCounterSamples('sent'),
    svc_bridge_messages_sent_again_total: toCounterSamples('sentAgain'),
    svc_bridge_messages_acknowledged_total: toCounterSamples('acknowledged'),
    svc_bridge_messages_received_total: toCounterSamples('received'),
    svc_bridge_bytes_sent_total: toCounterSamples('sentBytes'),
    svc_bridge_bytes_received_total: toCounterSamples('receivedBytes'),
    svc_bridge_messages_sent_rate: toSamples(({ sentRate }) => sentRate),
    svc_bridge_messages_received_rate: toSamples(({ receivedRate }) => receivedRate),
    svc_bridge_messages_dropped_total: bridges.flatMap(toDropSamples),
    svc_bridge_filters_passed_on: toSamples(({ passedOn }) => passedOn),
    svc_bridge_filters_not_passed_on: toSamples(({ notPassedOn }) => notPassedOn),
    svc_bridge_connects_total: toCounterSamples('connects'),
    svc_bridge_failures_total: toCounterSamples('failures'),
  }
}

const bridgeStates = ['off', 'preparing', 'connecting', 'connected', 'draining', 'waiting'] as const

function toStateSamples({ name: bridge, state: present }: BridgeReport): Sample[] {
  return bridgeStates.map((state) => ({ labels: { bridge, state }, value: state === present ? 1 : 0 }))
}

function toDropSamples({ name: bridge, spoolDrops, counters }: BridgeReport): Sample[] {
  // Reasons start at zero, so that their rate is visible from the first drop on.
  const spool = { 'storage-full': 0, expired: 0, ...spoolDrops }
  const reasons = Object.entries({ ...counters.dropped, ...spool })
  return reasons.map(([reason, value]) => ({ labels: { bridge, reason }, value }))
}

const dropped = /^dropped([A-Z]\w*)$/
const refused = /^refused([A-Z]\w*)$/
const packetsRefused = /^packetsRefused([A-Z]\w*)$/

/** Every reason has its own counter: `droppedQueueFull` is `queue_full`. */
function toReasonSamples(counters: NodeReading['counters'], named: RegExp): Sample[] {
  return Object.entries(counters).flatMap(([counter, value]) => {
    const [, reason] = named.exec(counter) ?? []
    if (reason === undefined) return []
    const words = reason.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase()
    return [{ labels: { reason: words }, value }]
  })
}

function toNodeMetrics(reading: NodeReading) {
  const { listeners, alarms, diskFreeBytes, certificates, openFiles } = reading
  const toSamples = (count: 'connections' | 'accepted' | 'refused'): Sample[] =>
    listeners.map((one) => ({ labels: { listener: one.listener }, value: one[count] }))
  return {
    svc_listener_connections: toSamples('connections'),
    svc_listener_connections_accepted_total: toSamples('accepted'),
    svc_listener_connections_refused_total: toSamples('refused'),
    svc_disk_free_bytes: diskFreeBytes ?? [],
    svc_open_files: openFiles.count ?? [],
    svc_open_files_limit: openFiles.limit ?? [],
    svc_open_files_lacking_seconds_total: reading.openFilesLackingSeconds,
    svc_certificate_end_timestamp_seconds: certificates.map(({ of, file, endsAtMs }) => ({
      labels: { of, file },
      value: endsAtMs / msPerSecond,
    })),
    svc_alarm_active: alarms.map((name) => ({ labels: { name }, value: 1 })),
  }
}

function toShardMetrics(reading: NodeReading) {
  const { shards, shardsRunning, shardRestarts } = reading
  const toHistogramSamples = (name: HistogramName): Sample[] =>
    shards.map(({ histograms }, shard) => ({ labels: { shard: String(shard) }, value: histograms.read(name) }))
  return {
    svc_shards: shards.length,
    svc_shards_running: shardsRunning,
    svc_shard_restarts_total: shardRestarts,
    svc_shard_connections: shards.map(({ connections }, shard) => ({
      labels: { shard: String(shard) },
      value: connections,
    })),
    svc_event_loop_delay_mean_seconds: toDelaySamples(reading, 'meanSeconds'),
    svc_event_loop_delay_p99_seconds: toDelaySamples(reading, 'p99Seconds'),
    svc_event_loop_delay_max_seconds: toDelaySamples(reading, 'maxSeconds'),
    svc_thread_heap_bytes: toMemorySamples(reading, 'heapBytes'),
    svc_thread_buffers_bytes: toMemorySamples(reading, 'buffersBytes'),
    svc_commit_seconds: toHistogramSamples('commit'),
    svc_acknowledgement_held_seconds: toHistogramSamples('held'),
    svc_turn_seconds: toHistogramSamples('turn'),
  }
}

function toDelaySamples({ shards, loopDelay }: NodeReading, which: keyof LoopDelay): Sample[] {
  return [
    { labels: { shard: 'main' }, value: loopDelay[which] },
    ...shards.map(({ histograms }, shard) => ({
      labels: { shard: String(shard) },
      value: histograms.loopDelay[which],
    })),
  ]
}

function toMemorySamples({ shards, memory }: NodeReading, which: keyof ThreadMemory): Sample[] {
  return [
    { labels: { shard: 'main' }, value: memory[which] },
    ...shards.map(({ histograms }, shard) => ({ labels: { shard: String(shard) }, value: histograms.memory[which] })),
  ]
}
