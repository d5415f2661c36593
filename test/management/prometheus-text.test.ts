import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metrics } from '../../src/contract/index.ts'
import { escapeLabel, type MetricValue, writePrometheus } from '../../src/management/prometheus-text.ts'

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
