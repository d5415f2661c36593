// `godwit bench` against a broker over TCP.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { LatencyHistogram } from '../../lib/probes/latency-histogram.ts'
import { type CommandRun, runHere } from '../cli/run-here.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { Authority } from '../transports/certificates.ts'

test('percentiles are within 3 % of what was measured', () => {
  const histogram = new LatencyHistogram()
  for (let ms = 1; ms <= 1_000; ms += 1) histogram.recordLatency(ms)
  for (const [share, expected] of [
    [0.5, 500],
    [0.95, 950],
    [0.99, 990],
  ] as const) {
    const found = histogram.computePercentileMs(share)
    assert.ok(Math.abs(found - expected) <= expected * 0.03, `${share}: ${found}`)
  }
  assert.equal(histogram.maxMs, 1_000)
  assert.equal(new LatencyHistogram().computePercentileMs(0.99), 0)
})

const configuredBroker = shareConfigurableBroker(['node.shards=1'])

const bench = (words: readonly string[]): Promise<CommandRun> => runHere(['bench', ...words])

test('each scenario measures what a broker acknowledges, delivers and accepts', async () => {
  const broker = await configuredBroker()
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

test('the bench prints a line for each second, and reports a broker that it cannot reach', async () => {
  const broker = await configuredBroker()
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
  assert.match(nobody.errors, /^godwit: mqtt:\/\/127\.0\.0\.1:1: the connection is refused: no server listens there/)
  const wrong = await bench(['publish', '--qos', '3'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.errors, /--qos: use 0, 1 or 2/)
})

test('an unreachable broker is reported with the reason and the remedy', async (t) => {
  const folder = await temporaryFolder(t)
  const { certificate, key } = new Authority('Plant').issue('localhost')
  await writeFile(join(folder, 'cert.pem'), certificate)
  await writeFile(join(folder, 'key.pem'), key)
  const files = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
  const broker = await configuredBroker([
    `listeners.ssl.plant={ bind = "127.0.0.1:0", ${files} }`,
    'auth.allow_anonymous=false',
  ])
  const { listeners } = (await broker.request('/api/v4/listeners')).json.data[0]
  const { listen_on: address } = listeners.find(
    ({ identifier }: { readonly identifier: string }) => identifier === 'mqtt:ssl:plant',
  )
  const [, tlsPort] = address.split(':')
  const unused = await reservePort(t)
  const cases = [
    [`mqtts://localhost:${tlsPort}`, [], /not signed by a trusted authority: name its authority in --ca FILE$/],
    [`mqtts://127.0.0.1:${broker.port}`, [], /does not speak TLS on this port|the connection was reset/],
    [
      `mqtt://127.0.0.1:${broker.port}`,
      ['--username', 'nobody'],
      /(refused the client|refuses the connection): bad user name or password/,
    ],
    [`mqtt://127.0.0.1:${broker.port}`, ['--ca', '/nowhere.pem'], /^godwit: \/nowhere\.pem: there is no such file$/],
    [`mqtt://127.0.0.1:${unused}`, [], /no server listens there/],
  ] as const
  for (const [url, words, expected] of cases)
    for (const command of [
      ['bench', 'publish', '--seconds', '1'],
      ['conformance', '--protocol', '5'],
    ]) {
      const { code, output, errors } = await runHere([...command, '--url', url, ...words])
      assert.notEqual(code, 0)
      assert.doesNotMatch(output + errors, /Node\.js|ECONN|ENOENT|EPROTO/)
      assert.match(errors.trimEnd(), expected, url)
    }
})
