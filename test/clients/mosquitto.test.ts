// Debian's mosquitto clients, also over TLS with server certificates, client certificates and pre-shared keys, and promtool with the whole
// program. Run by `npm run test:clients`, not by `npm test`, which needs only npm packages.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  type Broker,
  portOf,
  runProgram,
  type Scope,
  shared,
  temporaryFolder,
  type WatchedProcess,
} from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { Authority } from '../transports/certificates.ts'

const versions = ['mqttv31', 'mqttv311', 'mqttv5'] as const
const levels = ['0', '1', '2'] as const

const authority = new Authority('The test authority')
const server = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
const device = authority.issue('device-7')
const unknownAuthority = new Authority('Another authority').issue('device-7')
const key = '00112233445566778899aabbccddeeff'

/** One broker for all tests, with three listeners of TLS: for certificates, for pre-shared keys, for both. Tests that store something use different
 * topics and client IDs. */
const startShared = shared(async (scope) => {
  const folder = await temporaryFolder(scope)
  const path = (file: string): string => join(folder, file)
  const files = {
    'ca.pem': authority.certificate,
    'cert.pem': server.certificate,
    'key.pem': server.key,
    'device.pem': device.certificate,
    'device-key.pem': device.key,
    'stranger.pem': unknownAuthority.certificate,
    'stranger-key.pem': unknownAuthority.key,
    'psk.txt': `plant-7:${key}\n`,
  }
  for (const [file, content] of Object.entries(files)) await writeFile(path(file), content)
  const certificate = [
    `certfile="${path('cert.pem')}"`,
    `keyfile="${path('key.pem')}"`,
    `cacertfile="${path('ca.pem')}"`,
    'verify_peer=true',
    'fail_if_no_peer_cert=true',
  ]
  const preSharedKey = `psk_file="${path('psk.txt')}"`
  const listeners = { certified: certificate, keyed: [preSharedKey], both: [preSharedKey, ...certificate] }
  const set = Object.entries(listeners).flatMap(([name, settings]) =>
    ['bind="127.0.0.1:0"', ...settings].map((line) => `listeners.ssl.${name}.${line}`),
  )
  const broker = await startBrokerWithApi(scope, { set })
  /** Runs mosquitto_pub with these arguments; returns its exit code. */
  const publishes = (t: Scope, listener: keyof typeof listeners, words: readonly string[]): Promise<number | null> => {
    const port = portOf(broker, 'ssl', listener)
    const all = ['-h', '127.0.0.1', '-p', `${port}`, '-q', '1', '-t', 'a', '-m', 'b', ...words]
    return runProgram(t, 'mosquitto_pub', all).ended
  }
  return { broker, publishes, path }
})

function client(t: TestContext, program: string, broker: Broker, words: readonly string[]): WatchedProcess {
  // Into a pipe, the clients write blocks. Line buffering lets the test see each line at once.
  return runProgram(t, 'stdbuf', ['-oL', program, '-h', '127.0.0.1', '-p', `${broker.port}`, ...words])
}

/** A subscriber whose subscription is active: with -d, the client prints the receipt of SUBACK. */
async function subscriber(t: TestContext, broker: Broker, words: readonly string[]): Promise<WatchedProcess> {
  const child = client(t, 'mosquitto_sub', broker, ['-d', '-F', 'got %t %q %r %p', ...words])
  await child.until(/Subscribed \(mid/)
  return child
}

const receivedLines = (child: WatchedProcess): string[] =>
  child.output.split('\n').filter((line) => line.startsWith('got '))

for (const version of versions) {
  for (const qos of levels) {
    test(`mosquitto_pub reaches mosquitto_sub with ${version} at QoS ${qos}`, async (t) => {
      const { broker } = await startShared()
      const subscribing = await subscriber(t, broker, ['-V', version, '-q', qos, '-t', 'a/+/c', '-C', '3'])
      const publisher = client(t, 'mosquitto_pub', broker, ['-V', version, '-q', qos, '-t', 'a/b/c', '-l'])
      publisher.child.stdin?.end('one\ntwo\nthree\n')
      assert.equal(await publisher.ended, 0, publisher.errors)
      assert.equal(await subscribing.ended, 0, subscribing.errors)
      assert.deepEqual(
        receivedLines(subscribing),
        ['one', 'two', 'three'].map((text) => `got a/b/c ${qos} 0 ${text}`),
      )
    })
  }

  test(`a retained message and a will are delivered with ${version}`, async (t) => {
    const { broker } = await startShared()
    const state = `state/${version}`
    const publisher = client(t, 'mosquitto_pub', broker, ['-V', version, '-q', '1', '-r', '-t', state, '-m', 'on'])
    assert.equal(await publisher.ended, 0, publisher.errors)
    const lateSubscriber = await subscriber(t, broker, ['-V', version, '-q', '1', '-t', state, '-C', '1'])
    assert.equal(await lateSubscriber.ended, 0)
    assert.deepEqual(receivedLines(lateSubscriber), [`got ${state} 1 1 on`])

    const willSubscriber = await subscriber(t, broker, ['-V', version, '-t', 'wills', '-C', '1'])
    const will = ['--will-topic', 'wills', '--will-payload', 'gone', '-t', 'anything']
    const willClient = await subscriber(t, broker, ['-V', version, ...will])
    await willClient.stop('SIGKILL')
    assert.equal(await willSubscriber.ended, 0)
    assert.deepEqual(receivedLines(willSubscriber), ['got wills 0 0 gone'])
  })

  test(`a persistent session with ${version} gets messages that were published while it was disconnected`, async (t) => {
    const { broker } = await startShared()
    const night = `night/${version}`
    const durable = ['-V', version, '-c', '-i', `offline-${version}`, '-q', '2', '-t', `${night}/#`]
    const first = await subscriber(t, broker, durable)
    await first.stop('SIGTERM')
    for (const qos of ['1', '2']) {
      const words = ['-V', version, '-q', qos, '-t', `${night}/${qos}`, '-m', `level ${qos}`]
      assert.equal(await client(t, 'mosquitto_pub', broker, words).ended, 0)
    }
    const second = client(t, 'mosquitto_sub', broker, ['-F', 'got %t %q %r %p', ...durable, '-C', '2'])
    assert.equal(await second.ended, 0, second.errors)
    assert.deepEqual(receivedLines(second), [`got ${night}/1 1 0 level 1`, `got ${night}/2 2 0 level 2`])
  })
}

test('mosquitto_rr gets its response over MQTT 5 request and response', async (t) => {
  const { broker } = await startShared()
  const responder = await subscriber(t, broker, ['-V', 'mqttv5', '-t', 'request', '-F', 'got %t %q %r %R', '-C', '1'])
  const words = ['-V', 'mqttv5', '-t', 'request', '-e', 'responses/me', '-m', 'time?']
  const requester = client(t, 'mosquitto_rr', broker, words)
  assert.equal(await responder.ended, 0)
  assert.deepEqual(receivedLines(responder), ['got request 0 0 responses/me'])
  assert.equal(await client(t, 'mosquitto_pub', broker, ['-V', 'mqttv5', '-t', 'responses/me', '-m', 'noon']).ended, 0)
  assert.equal(await requester.ended, 0, requester.errors)
  assert.match(requester.output, /noon/)
})

for (const version of ['tlsv1.2', 'tlsv1.3']) {
  test(`mosquitto_pub with ${version} needs a client certificate of the configured authority`, async (t) => {
    const { publishes, path } = await startShared()
    const trusting = ['--tls-version', version, '--cafile', path('ca.pem')]
    assert.equal(
      await publishes(t, 'certified', [...trusting, '--cert', path('device.pem'), '--key', path('device-key.pem')]),
      0,
    )
    assert.notEqual(await publishes(t, 'certified', trusting), 0)
    const strange = ['--cert', path('stranger.pem'), '--key', path('stranger-key.pem')]
    assert.notEqual(await publishes(t, 'certified', [...trusting, ...strange]), 0)
  })
}

for (const [listener, certificate] of [
  ['keyed', 'without a certificate'],
  ['both', 'with a certificate'],
] as const) {
  test(`mosquitto_pub publishes with the correct pre-shared key only, on a listener ${certificate}`, async (t) => {
    const { publishes } = await startShared()
    assert.equal(await publishes(t, listener, ['--psk-identity', 'plant-7', '--psk', key]), 0)
    const wrong = key.replace('00', '01')
    assert.notEqual(await publishes(t, listener, ['--psk-identity', 'plant-7', '--psk', wrong]), 0)
    assert.notEqual(await publishes(t, listener, ['--psk-identity', 'plant-8', '--psk', key]), 0)
  })
}

/** Metrics whose names and help texts are fixed; promtool reports some of them. */
const fixedBySpecification =
  /^svc_(connections|sessions|topics|subscribers|messages|memory_usage|cpu_usage)(_(count|max|received|sent|dropped))? /

test('promtool reports no problem with metrics whose names are not fixed', async () => {
  const { broker } = await startShared()
  const { status, text } = await broker.request('/api/v4/prometheus')
  assert.equal(status, 200)
  const { stdout, stderr, error } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
  assert.equal(error, undefined)
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
  assert.ok(lines.length > 0, 'promtool reports some fixed names, so it has read the metrics')
  assert.deepEqual(
    lines.filter((line) => !fixedBySpecification.test(line)),
    [],
  )
})
