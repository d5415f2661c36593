import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { ruleMetricsOf } from '../../src/management/rule-metrics.ts'
import type { ActionMetrics, RuleMetrics } from '../../src/management/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { shareConfigurableBroker } from './api.ts'

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
  oldestAgeMs: 2_500,
  lastError: '',
} satisfies ActionMetrics

test('metrics of rules beyond the first thousand are added up, so that the output is limited', () => {
  const rules = new Map(Array.from({ length: 1_500 }, (_, number) => [`r${number}`, counts]))
  const found = ruleMetricsOf({ rules, actions: new Map(), connectors: new Map() })
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
  const found = ruleMetricsOf({ rules: new Map(), actions, connectors })
  assert.deepEqual(found.godwit_rule_connector_connected, [
    { labels: { connector: 'http:x' }, value: 1 },
    { labels: { connector: 'http:y' }, value: 0 },
  ])
  assert.deepEqual(found.godwit_rule_action_oldest_seconds, [
    { labels: { action: 'http:a' }, value: 2.5 },
    { labels: { action: 'http:b' }, value: 2.5 },
  ])
})

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

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
