// Debian's mosquitto clients against the real program. `npm run test:clients`; not part of `npm test`, which needs
// nothing but npm packages.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type Broker, runProgram, shared, startBroker, type WatchedProcess } from '../e2e/godwit-process.ts'

const versions = ['mqttv31', 'mqttv311', 'mqttv5'] as const
const levels = ['0', '1', '2'] as const

/** Of all tests: each has topics and client IDs of its own, where something is left of them. */
const startShared = shared((scope) => startBroker(scope))

function client(t: TestContext, program: string, broker: Broker, words: readonly string[]): WatchedProcess {
  // Into a pipe the clients write by the block: line by line they can be watched.
  return runProgram(t, 'stdbuf', ['-oL', program, '-h', '127.0.0.1', '-p', `${broker.port}`, ...words])
}

/** A subscriber that is known to be subscribed: with -d the client says when SUBACK has come. */
async function subscriber(t: TestContext, broker: Broker, words: readonly string[]): Promise<WatchedProcess> {
  const child = client(t, 'mosquitto_sub', broker, ['-d', '-F', 'got %t %q %r %p', ...words])
  await child.until(/Subscribed \(mid/)
  return child
}

const got = (child: WatchedProcess): string[] => child.output.split('\n').filter((line) => line.startsWith('got '))

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
        got(listener),
        ['one', 'two', 'three'].map((text) => `got a/b/c ${qos} 0 ${text}`),
      )
    })
  }

  test(`a retained message and a will with ${version}`, async (t) => {
    const broker = await startShared()
    const state = `state/${version}`
    const publisher = client(t, 'mosquitto_pub', broker, ['-V', version, '-q', '1', '-r', '-t', state, '-m', 'on'])
    assert.equal(await publisher.ended, 0, publisher.errors)
    const late = await subscriber(t, broker, ['-V', version, '-q', '1', '-t', state, '-C', '1'])
    assert.equal(await late.ended, 0)
    assert.deepEqual(got(late), [`got ${state} 1 1 on`])

    const mourner = await subscriber(t, broker, ['-V', version, '-t', 'wills', '-C', '1'])
    const will = ['--will-topic', 'wills', '--will-payload', 'gone', '-t', 'anything']
    const mortal = await subscriber(t, broker, ['-V', version, ...will])
    await mortal.stop('SIGKILL')
    assert.equal(await mourner.ended, 0)
    assert.deepEqual(got(mourner), ['got wills 0 0 gone'])
  })

  test(`a durable session with ${version} gets what came while it slept`, async (t) => {
    const broker = await startShared()
    const night = `night/${version}`
    const durable = ['-V', version, '-c', '-i', `sleeper-${version}`, '-q', '2', '-t', `${night}/#`]
    const first = await subscriber(t, broker, durable)
    await first.stop('SIGTERM')
    for (const qos of ['1', '2']) {
      const words = ['-V', version, '-q', qos, '-t', `${night}/${qos}`, '-m', `level ${qos}`]
      assert.equal(await client(t, 'mosquitto_pub', broker, words).ended, 0)
    }
    const second = client(t, 'mosquitto_sub', broker, ['-F', 'got %t %q %r %p', ...durable, '-C', '2'])
    assert.equal(await second.ended, 0, second.errors)
    assert.deepEqual(got(second), [`got ${night}/1 1 0 level 1`, `got ${night}/2 2 0 level 2`])
  })
}

test('mosquitto_rr gets its response over MQTT 5 request and response', async (t) => {
  const broker = await startShared()
  const responder = await subscriber(t, broker, ['-V', 'mqttv5', '-t', 'request', '-F', 'got %t %q %r %R', '-C', '1'])
  const words = ['-V', 'mqttv5', '-t', 'request', '-e', 'responses/me', '-m', 'time?']
  const requester = client(t, 'mosquitto_rr', broker, words)
  assert.equal(await responder.ended, 0)
  assert.deepEqual(got(responder), ['got request 0 0 responses/me'])
  assert.equal(await client(t, 'mosquitto_pub', broker, ['-V', 'mqttv5', '-t', 'responses/me', '-m', 'noon']).ended, 0)
  assert.equal(await requester.ended, 0, requester.errors)
  assert.match(requester.output, /noon/)
})
