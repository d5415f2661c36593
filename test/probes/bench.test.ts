// `godwit bench` against a broker over TCP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatencyHistogram } from '../../src/probes/latency-histogram.ts'
import { type CommandRun, runHere } from '../cli/run-here.ts'
import { shared, startBroker } from '../e2e/godwit-process.ts'

test('percentiles are within 3 % of what was measured', () => {
  const histogram = new LatencyHistogram()
  for (let ms = 1; ms <= 1_000; ms += 1) histogram.note(ms)
  for (const [share, expected] of [
    [0.5, 500],
    [0.95, 950],
    [0.99, 990],
  ] as const) {
    const found = histogram.percentileMs(share)
    assert.ok(Math.abs(found - expected) <= expected * 0.03, `${share}: ${found}`)
  }
  assert.equal(histogram.maxMs, 1_000)
  assert.equal(new LatencyHistogram().percentileMs(0.99), 0)
})

const sharedBroker = shared((scope) => startBroker(scope, { set: ['node.shards=1'] }))

const bench = (words: readonly string[]): Promise<CommandRun> => runHere(['bench', ...words])

test('each scenario measures what a broker acknowledges, delivers and accepts', async () => {
  const broker = await sharedBroker()
  const url = ['--url', `mqtt://127.0.0.1:${broker.port}`, '--seconds', '1', '--clients', '3', '--json']
  for (const words of [
    ['publish', '--qos', '2'],
    ['publish', '--protocol', '4', '--rate', '50'],
    ['subscribe', '--rate', '50'],
    ['connect', '--rate', '50'],
  ]) {
    const { code, output, errors } = await bench([...words, ...url])
    assert.equal(code, 0, errors)
    const { scenario, count, perSecond, latencyMs, failed } = JSON.parse(output)
    assert.equal(scenario, words[0])
    assert.equal(failed, 0)
    assert.ok(count > 0 && perSecond > 0, output)
    assert.ok(latencyMs.p50 > 0 && latencyMs.p50 <= latencyMs.p99 && latencyMs.p99 <= latencyMs.max, output)
    if (words.includes('--rate')) assert.ok(count <= 50 * (scenario === 'subscribe' ? 3 : 1) * 2, output)
  }
})

test('people get a line for each second, and a broker that is not there is told of', async () => {
  const broker = await sharedBroker()
  const { output } = await bench([
    'publish',
    '--url',
    `mqtt://127.0.0.1:${broker.port}`,
    '--seconds',
    '2',
    '--rate',
    '20',
  ])
  assert.match(output, /^ +1 s {2}published \d+\/s {2}p50 [\d.]+ ms {2}p95 [\d.]+ ms {2}p99 [\d.]+ ms$/m)
  assert.match(output, /^10 clients, [\d.]+ s: \d+ published, /m)
  const nobody = await bench(['publish', '--url', 'mqtt://127.0.0.1:1', '--seconds', '1'])
  assert.equal(nobody.code, 1)
  assert.match(nobody.errors, /^godwit: mqtt:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/)
  const wrong = await bench(['publish', '--qos', '3'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.errors, /--qos: give 0, 1 or 2/)
})
