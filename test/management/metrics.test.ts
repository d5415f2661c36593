// Metrics of the broker, of its rules and topics, and their text format.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { connectAsync } from 'mqtt'
import { metricEndpoints } from '../../src/api/metrics/endpoints.ts'
import { metrics, compileShape, type TSchema } from '../../src/contract/index.ts'
import type { ActionMetrics, RuleMetrics } from '../../src/api/rules/rule-reports.ts'
import { escapeLabel, type MetricValue, writePrometheus } from '../../src/api/metrics/prometheus-text.ts'
import { toRuleMetrics } from '../../src/api/metrics/to-rule-metrics.ts'
import { eventually } from '../e2e/eventually.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { Authority } from '../transports/certificates.ts'
import { type BrokerWithApi, restartBroker, shareConfigurableBroker } from './api.ts'
import { readExposition, type ReadFamily } from './exposition.ts'

function assertShape(schema: TSchema | 'text', value: unknown): void {
  assert.notEqual(schema, 'text')
  assert.equal(compileShape(schema as TSchema).findFault(value), undefined)
}

/** Values by metric name with labels. */
async function scrape(broker: BrokerWithApi): Promise<Map<string, number>> {
  const { text } = await broker.request('/api/v4/prometheus')
  const values = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(values.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

/** Requests the metrics until the condition holds: counters are written at the end of a turn. */
function scrapeUntil(broker: BrokerWithApi, holds: (values: Map<string, number>) => boolean) {
  return eventually(async () => {
    const values = await scrape(broker)
    assert.ok(holds(values), inspect(values, { maxArrayLength: null }))
    return values
  })
}

const brokerOf = shareConfigurableBroker(['node.name="godwit@plant"', 'sys_topics.interval=0'])
const configuredBroker = (settings: readonly string[] = []): Promise<BrokerWithApi> =>
  brokerOf(['node.shards=2', ...settings])

test('/prometheus starts with the fifteen metrics whose names and order are fixed, each with type, help and value', async () => {
  const broker = await configuredBroker()
  const { status, headers, text } = await broker.request('/api/v4/prometheus')
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/plain/)
  const expected = [
    ['connections_count', 'gauge', ' '],
    ['connections_max', 'gauge', ' '],
    ['sessions_count', 'gauge', ' '],
    ['sessions_max', 'gauge', ' '],
    ['topics_count', 'gauge', ' '],
    ['topics_max', 'gauge', ' '],
    ['subscribers_count', 'gauge', ' '],
    ['subscribers_max', 'gauge', ' '],
    ['messages_received', 'counter', ' '],
    ['messages_sent', 'counter', ' '],
    ['messages_dropped', 'counter', ' '],
    ['memory_usage', 'gauge', ' (b)'],
    ['memory_usage_max', 'gauge', ' (b)'],
    ['cpu_usage', 'gauge', ' (%)'],
    ['cpu_usage_max', 'gauge', ' (%)'],
  ]
  const lines = text.split('\n')
  for (const [place, [name, type, help]] of expected.entries()) {
    assert.equal(lines[3 * place], `# TYPE svc_${name} ${type}`)
    assert.ok(lines[3 * place + 1].startsWith(`# HELP svc_${name}${help}`))
    assert.match(lines[3 * place + 1], /[a-z]{3}.*\.$/, 'the help is a sentence')
    const value = name.startsWith('cpu') ? '\\d+\\.\\d\\d' : '\\d+'
    assert.match(lines[3 * place + 2], new RegExp(`^svc_${name} ${value}$`))
  }
  assert.match(text, /[^\n]\n$/, 'the text ends with exactly one line feed')
})

test('messages of clients to topics without a subscriber count as dropped, with a reason of their own', async (t) => {
  const broker = await restartBroker(await configuredBroker())
  const url = `mqtt://127.0.0.1:${broker.port}`
  const subscriber = await connectAsync(url, { clientId: 'reader' })
  const publisher = await connectAsync(url, { clientId: 'writer' })
  t.after(() => Promise.all([subscriber.endAsync(), publisher.endAsync()]))
  await subscriber.subscribeAsync('read')
  for (const qos of [0, 1, 2] as const) {
    await publisher.publishAsync('read', 'x', { qos })
    await publisher.publishAsync('unread', 'x', { qos, retain: true })
  }
  const values = await scrapeUntil(broker, (found) => found.get('svc_messages_dropped') === 3)
  assert.equal(values.get('svc_messages_dropped_by_reason_total{reason="no_subscribers"}'), 3)
  assert.equal(values.get('svc_messages_dropped_by_reason_total{reason="queue_full"}'), 0)
  await publisher.publishAsync('unread', '', { qos: 1, retain: true })
})

test('metrics count connections, sessions, subscribers, topics and messages of clients', async (t) => {
  const broker = await restartBroker(await configuredBroker(['node.shards=1']))
  const url = `mqtt://127.0.0.1:${broker.port}`
  const subscriber = await connectAsync(url, { clientId: 'reader', clean: false })
  t.after(() => subscriber.end(true))
  await subscriber.subscribeAsync(['plant/#', 'plant/+/heat', '$share/crew/plant/#'], { qos: 1 })
  const publisher = await connectAsync(url, { clientId: 'writer' })
  t.after(() => publisher.end(true))
  await publisher.publishAsync('plant/1/heat', 'x', { qos: 1, retain: true })
  const busy = await scrapeUntil(broker, (values) => values.get('svc_messages_received') === 1)
  assert.equal(busy.get('svc_connections_count'), 2)
  assert.equal(busy.get('svc_sessions_count'), 2)
  assert.equal(busy.get('svc_topics_count'), 2, 'a filter with a plain and a shared subscription is one topic')
  assert.equal(busy.get('svc_subscribers_count'), 1)
  assert.equal(busy.get('svc_subscriptions'), 3)
  assert.equal(busy.get('svc_subscriptions_shared'), 1)
  assert.equal(busy.get('svc_retained_messages'), 1)
  assert.ok((busy.get('svc_commit_seconds_count{shard="0"}') ?? 0) > 0, 'commits are counted')
  assert.ok((busy.get('svc_turn_seconds_bucket{shard="0",le="+Inf"}') ?? 0) > 0, 'turns are counted')
  await subscriber.unsubscribeAsync(['plant/#', 'plant/+/heat', '$share/crew/plant/#'])
  await publisher.publishAsync('plant/1/heat', '', { qos: 1, retain: true })
  await publisher.endAsync()
  await subscriber.endAsync()
  const quiet = await scrapeUntil(broker, (values) => values.get('svc_connections_count') === 0)
  assert.deepEqual(
    ['topics_count', 'subscribers_count', 'subscriptions', 'connections_max', 'topics_max'].map((name) =>
      quiet.get(`svc_${name}`),
    ),
    [0, 0, 0, 2, 2],
  )
  await (await connectAsync(url, { clientId: 'reader' })).endAsync()
})

test('/metrics returns only processor and memory usage, without `code` and `data`', async () => {
  const broker = await configuredBroker()
  const { json } = await broker.request('/api/v4/metrics')
  assertShape(metricEndpoints.get_metrics.reply, json)
  assert.deepEqual(Object.keys(json), ['metrics', 'cpuinfo', 'memory'])
  assert.deepEqual(json.metrics, [])
  assert.match(json.cpuinfo, /^\d+\.\d\d%$/)
  assert.match(json.memory, /^\d+$/)
})

test('stats and metrics of the node are numbers by name, and an unknown node is 404', async () => {
  const broker = await restartBroker(await configuredBroker())
  const stats = await broker.request('/api/v4/stats')
  assertShape(metricEndpoints.get_stats.reply, stats.json)
  assert.equal(stats.json.data[0].node, 'godwit@plant')
  const ofNode = await broker.request('/api/v4/nodes/godwit@plant/stats')
  assertShape(metricEndpoints.get_node_stats.reply, ofNode.json)
  assert.deepEqual(Object.keys(ofNode.json.data), Object.keys(stats.json.data[0].stats))
  for (const name of ['connections', 'sessions', 'topics', 'subscribers', 'subscriptions.shared', 'routes', 'retained'])
    assert.deepEqual([ofNode.json.data[`${name}.count`], ofNode.json.data[`${name}.max`]], [0, 0], name)
  const counts = await broker.request('/api/v4/nodes/godwit%40plant/metrics')
  assertShape(metricEndpoints.get_node_metrics.reply, counts.json)
  for (const name of [
    'bytes.received',
    'packets.sent',
    'messages.received',
    'delivery.dropped.queue_full',
    'client.connected',
  ])
    assert.equal(counts.json.data[name], 0, name)
  for (const what of ['stats', 'metrics']) {
    const unknownNode = await broker.request(`/api/v4/nodes/nowhere/${what}`)
    assert.deepEqual([unknownNode.status, unknownNode.json.code], [404, 108])
  }
})

test('/status shows that the broker is ready, in two lines, without prefix and authentication', async () => {
  const broker = await configuredBroker()
  const { status, text, headers } = await broker.request('/status', { as: null })
  assert.equal(status, 200)
  assert.match(headers.get('content-type') ?? '', /^text\/plain/)
  assert.equal(text, 'Node godwit@plant is started\ngodwit is running\n')
  assert.equal((await broker.request('/api/v4/status')).status, 404)
  assert.equal((await broker.request('/api/v4/prometheus', { as: null })).status, 401, '/prometheus needs an account')
})

test('a broker that uses all features has a value for each metric, in the text format of Prometheus', async (t) => {
  const folder = await temporaryFolder(t)
  const { certificate, key } = new Authority('plant').issue('broker', { until: new Date(Date.now() + 86_400_000) })
  const files = { certfile: join(folder, 'a"b\\c.pem'), keyfile: join(folder, 'key.pem') }
  await writeFile(files.certfile, certificate)
  await writeFile(files.keyfile, key)
  const listener = Object.entries({ bind: '127.0.0.1:0', ...files }).map(
    ([name, value]) => `listeners.ssl.${name}=${JSON.stringify(value)}`,
  )
  const bridge = 'bridges.mqtt.north={server="mqtt-tcp://127.0.0.1:1", enable=true}'
  const service = [
    'connectors.http.away={url="http://127.0.0.1:1/"}',
    'actions.http.away={connector=away}',
    'rule_engine.rules.r1={sql="SELECT * FROM \\"a\\"", actions=["http:away"]}',
  ]
  const gateway = `gateway.coap.listeners.udp.default.bind="127.0.0.1:${await reservePort(t)}"`
  const counted = 'topic_metrics=[{topic="counted"}]'
  const settings = [...listener, bridge, ...service, gateway, counted, 'auth.allow_anonymous=false']
  const broker = await restartBroker(await configuredBroker(settings))
  await assert.rejects(connectAsync(`mqtt://127.0.0.1:${broker.port}`, { username: 'eve', password: 'x' }))
  let families = readExposition((await broker.request('/api/v4/prometheus')).text)
  // Bridges report their state once a second.
  while (metricsWithoutValue(families).length > 0 || !hasAlarm(families, 'bridge:north'))
    families = readExposition((await broker.request('/api/v4/prometheus')).text)
  assert.deepEqual([...families.keys()], Object.keys(metrics))
  assert.ok(hasAlarm(families, 'certificate-ends'))
  const refused = families
    .get('svc_clients_refused_total')
    ?.samples.map(({ labels, value }) => [labels['reason'], value])
  assert.equal(
    refused?.reduce((sum, [, value]) => sum + Number(value), 0),
    1,
    JSON.stringify(refused),
  )
  const [ends] = families.get('svc_certificate_end_timestamp_seconds')?.samples ?? []
  assert.ok(Math.abs((ends?.value ?? 0) - Date.now() / 1_000 - 86_400) < 600)
  assert.equal(ends?.labels['file'], files.certfile.replaceAll('\\', '\\\\').replaceAll('"', '\\"'))
  for (const file of ['grafana/godwit.json', 'prometheus/alerts.yml']) {
    const text = readFileSync(fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url)), 'utf8')
    assert.deepEqual(unknownLabels(text, families), [], file)
  }
})

/** Metrics without a value. */
function metricsWithoutValue(families: ReadonlyMap<string, ReadFamily>): string[] {
  return Object.keys(metrics).filter((name) => families.get(name)?.samples.length === 0)
}

function hasAlarm(families: ReadonlyMap<string, ReadFamily>, name: string): boolean {
  return families.get('svc_alarm_active')?.samples.some(({ labels }) => labels['name'] === name) === true
}

/** Labels that a query, a legend or a description uses and no metric has. Prometheus itself adds `instance` and `job`. */
function unknownLabels(text: string, families: ReadonlyMap<string, ReadFamily>): string[] {
  const known = new Set(['instance', 'job'])
  for (const { samples } of families.values())
    for (const { labels } of samples) for (const one of Object.keys(labels)) known.add(one)
  const usedLabels = [
    ...[...text.matchAll(/\bby \(([\w, ]+)\)/g)].flatMap(([, names = '']) => names.split(/, */)),
    ...[...text.matchAll(/\{\{ *(?:\$labels\.)?(\w+) *\}\}/g)].map(([, name = '']) => name),
  ]
  return usedLabels.filter((name) => name !== '$value' && !known.has(name))
}

const counts = {
  matched: 1,
  rate: 0,
  rateMax: 0,
  rateLast5m: 0,
  passed: 1,
  exceptions: 2,
  noResult: 3,
  actionsTotal: 1,
  actionsSuccess: 1,
  actionsFailed: 0,
  actionsDiscarded: 0,
  functions: [],
  lastError: '',
} satisfies RuleMetrics

const action = {
  status: 'connected',
  statusReason: '',
  matched: 9,
  success: 5,
  failed: 1,
  droppedQueueFull: 1,
  droppedOther: 0,
  rate: 0,
  rateMax: 0,
  rateLast5m: 0,
  retried: 4,
  queuing: 2,
  inflight: 1,
  deadLetters: 1,
  droppedDeadLetters: 0,
  oldestAgeMs: 2_500,
  lastError: '',
} satisfies ActionMetrics

test('metrics of rules beyond the first thousand are added up, so that the output is limited', () => {
  const rules = new Map(Array.from({ length: 1_500 }, (_, number) => [`r${number}`, counts]))
  const found = toRuleMetrics({ rules, actions: new Map(), connectors: new Map() })
  const matched = found.godwit_rule_matched_total
  assert.ok(Array.isArray(matched))
  assert.equal(matched.length, 1_001)
  assert.deepEqual(matched.at(-1), { labels: { rule: '(others)' }, value: 500 })
  assert.ok(Array.isArray(found.godwit_rule_failed_total))
  assert.deepEqual(found.godwit_rule_failed_total.slice(-2), [
    { labels: { rule: '(others)', reason: 'exception' }, value: 1_000 },
    { labels: { rule: '(others)', reason: 'no_result' }, value: 1_500 },
  ])
})

test('a connector counts as connected if all of its actions are connected', () => {
  const actions = new Map<string, ActionMetrics>([
    ['http:a', action],
    ['http:b', { ...action, status: 'disconnected' }],
  ])
  const connectors = new Map([
    ['http:x', ['http:a']],
    ['http:y', ['http:a', 'http:b']],
  ])
  const found = toRuleMetrics({ rules: new Map(), actions, connectors })
  assert.deepEqual(found.godwit_rule_connector_connected, [
    { labels: { connector: 'http:x' }, value: 1 },
    { labels: { connector: 'http:y' }, value: 0 },
  ])
  assert.deepEqual(found.godwit_rule_action_oldest_seconds, [
    { labels: { action: 'http:a' }, value: 2.5 },
    { labels: { action: 'http:b' }, value: 2.5 },
  ])
})

test('rules of a broker are counted in its metrics', async (t) => {
  const set = [
    `rule_engine.rules.r1={sql="SELECT 1 AS x FROM \\"a\\"", actions=[{function=console}]}`,
    `rule_engine.rules.r2={sql="SELECT payload.x FROM \\"a\\"", actions=[]}`,
  ]
  const broker = await configuredBroker(set)
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c' })
  t.after(() => client.end(true))
  await client.publishAsync('a', 'no JSON', { qos: 1 })
  await eventually(async () => {
    const { text } = await broker.request('/api/v4/prometheus')
    assert.match(text, /^godwit_rule_matched_total\{rule="r1"\} 1$/m)
    assert.match(text, /^godwit_rule_results_total\{rule="r1",result="success"\} 1$/m)
    assert.match(text, /^godwit_rule_failed_total\{rule="r2",reason="exception"\} 1$/m)
  })
})

test('registered topics have metrics by direction and QoS; other topics have none', async (t) => {
  const set = ['topic_metrics=[{topic="a/\\"b\\""},{topic="lonely"}]']
  const broker = await configuredBroker(set)
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c' })
  t.after(() => client.end(true))
  await client.subscribeAsync('a/"b"', { qos: 1 })
  const delivered = new Promise((resolve) => client.once('message', resolve))
  await client.publishAsync('a/"b"', '1', { qos: 1 })
  await delivered
  await client.publishAsync('lonely', '2', { qos: 2 })
  await client.publishAsync('other', '3', { qos: 1 })
  const expected = [
    'godwit_topic_messages_total{topic="a/\\"b\\"",direction="in",qos="1"} 1',
    'godwit_topic_messages_total{topic="a/\\"b\\"",direction="out",qos="1"} 1',
    'godwit_topic_messages_total{topic="a/\\"b\\"",direction="in",qos="0"} 0',
    'godwit_topic_messages_total{topic="lonely",direction="in",qos="2"} 1',
    'godwit_topic_dropped_total{topic="lonely"} 1',
  ]
  let lines: ReadonlySet<string>
  do lines = new Set((await broker.request('/api/v4/prometheus')).text.split('\n'))
  while (!expected.every((line) => lines.has(line)))
  assert.ok(![...lines].some((line) => line.startsWith('godwit_topic_') && line.includes('"other"')))
  await broker.request('/api/v5/mqtt/topic_metrics', { method: 'PUT', body: { action: 'reset' } })
  const { text } = await broker.request('/api/v4/prometheus')
  assert.match(text, /^godwit_topic_dropped_total\{topic="lonely"\} 0$/m)
})

const nothing = Object.fromEntries(Object.keys(metrics).map((name) => [name, 0])) as Record<
  keyof typeof metrics,
  MetricValue
>

test('label values are escaped to one line, whatever they contain', () => {
  assert.equal(escapeLabel('a"b\\c\nd\re'), 'a\\"b\\\\c\\nd\\\\re')
  const text = writePrometheus({ ...nothing, svc_alarm_active: [{ labels: { name: 'x"} 1\nforged 2' }, value: 1 }] })
  assert.ok(text.includes('svc_alarm_active{name="x\\"} 1\\nforged 2"} 1\n'))
  assert.ok(!text.split('\n').includes('forged 2"} 1'))
})

test('a histogram has cumulative buckets, then the sum and the count', () => {
  const value = { counts: [1, 2, ...Array.from({ length: 14 }, () => 0), 4], sumSeconds: 0.5, count: 7 }
  const text = writePrometheus({ ...nothing, svc_turn_seconds: [{ labels: { shard: '0' }, value }] })
  assert.ok(text.includes('svc_turn_seconds_bucket{shard="0",le="0.0001"} 1\n'))
  assert.ok(text.includes('svc_turn_seconds_bucket{shard="0",le="0.00025"} 3\n'))
  assert.ok(text.includes('svc_turn_seconds_sum{shard="0"} 0.5\nsvc_turn_seconds_count{shard="0"} 7\n'))
})
