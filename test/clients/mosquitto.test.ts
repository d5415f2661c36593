// Debian's mosquitto clients with the whole program. Run by `npm run test:clients`, not by `npm test`, which needs only npm
// packages.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type Broker, runProgram, shared, startBroker, type WatchedProcess } from '../e2e/godwit-process.ts'

const versions = ['mqttv31', 'mqttv311', 'mqttv5'] as const
const levels = ['0', '1', '2'] as const

/** One broker for all tests. Tests that store something use different topics and client IDs. */
const startShared = shared((scope) => startBroker(scope))

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
      const broker = await startShared()
      const listener = await subscriber(t, broker, ['-V', version, '-q', qos, '-t', 'a/+/c', '-C', '3'])
      const publisher = client(t, 'mosquitto_pub', broker, ['-V', version, '-q', qos, '-t', 'a/b/c', '-l'])
      publisher.child.stdin?.end('one\ntwo\nthree\n')
      assert.equal(await publisher.ended, 0, publisher.errors)
      assert.equal(await listener.ended, 0, listener.errors)
      assert.deepEqual(
        receivedLines(listener),
        ['one', 'two', 'three'].map((text) => `got a/b/c ${qos} 0 ${text}`),
      )
    })
  }

  test(`a retained message and a will are delivered with ${version}`, async (t) => {
    const broker = await startShared()
    const state = `state/${version}`
    const publisher = client(t, 'mosquitto_pub', broker, ['-V', version, '-q', '1', '-r', '-t', state, '-m', 'on'])
    assert.equal(await publisher.ended, 0, publisher.errors)
    const lateSubscriber = await subscriber(t, broker, ['-V', version, '-q', '1', '-t', state, '-C', '1'])
    assert.equal(await lateSubscriber.ended, 0)
    assert.deepEqual(receivedLines(lateSubscriber), [`got ${state} 1 1 on`])

    const willSubscriber = await subscriber(t, broker, ['-V', version, '-t', 'wills', '-C', '1'])
    const will = ['--will-topic', 'wills', '--will-payload', 'gone', '-t', 'anything']
    const mortal = await subscriber(t, broker, ['-V', version, ...will])
    await mortal.stop('SIGKILL')
    assert.equal(await willSubscriber.ended, 0)
    assert.deepEqual(receivedLines(willSubscriber), ['got wills 0 0 gone'])
  })

  test(`a persistent session with ${version} gets messages that were published while it was disconnected`, async (t) => {
    const broker = await startShared()
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
  const broker = await startShared()
  const responder = await subscriber(t, broker, ['-V', 'mqttv5', '-t', 'request', '-F', 'got %t %q %r %R', '-C', '1'])
  const words = ['-V', 'mqttv5', '-t', 'request', '-e', 'responses/me', '-m', 'time?']
  const requester = client(t, 'mosquitto_rr', broker, words)
  assert.equal(await responder.ended, 0)
  assert.deepEqual(receivedLines(responder), ['got request 0 0 responses/me'])
  assert.equal(await client(t, 'mosquitto_pub', broker, ['-V', 'mqttv5', '-t', 'responses/me', '-m', 'noon']).ended, 0)
  assert.equal(await requester.ended, 0, requester.errors)
  assert.match(requester.output, /noon/)
})
