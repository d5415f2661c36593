// Sessions of Debian's mosquitto are imported into a data directory: its clients connect to Godwit and get their queued messages.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { type Broker, runProgram, type Scope, startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { runHere } from '../cli/run-here.ts'
import { startMosquitto } from './mosquitto-server.ts'
import { shardNumbers } from '../test-length.ts'

const password = 'secret'

/** Runs `mosquitto_sub -c` until it has `count` messages, and returns them with QoS and retain flag. */
async function take(t: Scope, broker: Broker, words: readonly string[], count: number): Promise<string[]> {
  const address = ['-h', '127.0.0.1', '-p', `${broker.port}`, '-c', '-F', 'got %t %q %r %p', '-C', `${count}`]
  const child = runProgram(t, 'stdbuf', ['-oL', 'mosquitto_sub', ...address, ...words])
  assert.equal(await child.ended, 0, child.errors)
  return child.output.split('\n').filter((line) => line.startsWith('got '))
}

for (const shards of shardNumbers(1, 2)) {
  test(`imported sessions of mosquitto deliver each message once and in order, with ${shards} shards`, async (t) => {
    const { process: mosquitto, port, folder } = await startMosquitto(t)
    const url = `mqtt://127.0.0.1:${port}`
    for (const [clientId, protocolVersion] of [
      ['old', 4],
      ['recent', 5],
    ] as const) {
      const properties = protocolVersion === 5 ? { properties: { sessionExpiryInterval: 3_600 } } : {}
      const client = await mqtt.connectAsync(url, { clientId, protocolVersion, clean: false, ...properties })
      await client.subscribeAsync(`${clientId}/#`, { qos: 2 })
      await client.endAsync()
    }
    const publisher = await mqtt.connectAsync(url)
    for (let number = 1; number <= 300; number++)
      for (const clientId of ['old', 'recent'])
        await publisher.publishAsync(`${clientId}/${number}`, `${number}`, { qos: number % 2 === 0 ? 2 : 1 })
    await publisher.endAsync()
    assert.equal(await mosquitto.stop('SIGTERM'), 0)

    const data = join(await temporaryFolder(t), 'data')
    const words = ['import', 'mosquitto', '--conf', join(folder, 'mosquitto.conf'), '--data', data, '--output']
    const imported = await runHere([...words, join(folder, 'first')])
    assert.equal(imported.code, 0, imported.errors)
    assert.match(imported.output, /^2 sessions with 2 subscriptions and 600 queued messages are imported to /m)
    const repeated = await runHere([...words, join(folder, 'second')])
    assert.equal(repeated.code, 0, repeated.errors)
    assert.match(repeated.output, /not imported: 2 sessions that exist already \("\w+", "\w+"\): they were not changed/)
    assert.match(repeated.output, /^0 sessions with 0 subscriptions and 0 queued messages are imported to /m)

    const broker = await startBroker(t, { dataDirectory: data, set: [`node.shards=${shards}`] })
    const running = await runHere([...words, join(folder, 'third')])
    assert.notEqual(running.code, 0)
    assert.match(running.errors, /a node is running there already/)
    for (const [clientId, version] of [
      ['old', 'mqttv311'],
      ['recent', 'mqttv5'],
    ] as const) {
      const session = ['-i', clientId, '-V', version, '-q', '2', '-t', `${clientId}/#`]
      const got = await take(t, broker, version === 'mqttv5' ? [...session, '-x', '3600'] : session, 300)
      // mosquitto_sub prints a message of QoS 2 at PUBREL, so only messages of the same QoS are in order.
      const all = Array.from({ length: 300 }, (_, index) => index + 1)
      for (const [qos, rest] of [
        [1, 1],
        [2, 0],
      ] as const)
        assert.deepEqual(
          got.filter((line) => line.split(' ')[2] === `${qos}`),
          all.filter((number) => number % 2 === rest).map((number) => `got ${clientId}/${number} ${qos} 0 ${number}`),
        )
      assert.equal(got.length, 300)
    }
    // The subscription remains, and the queue is empty.
    const at = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
    await at.publishAsync('old/last', 'afterwards', { qos: 1 })
    await at.endAsync()
    assert.deepEqual(await take(t, broker, ['-i', 'old', '-q', '2', '-t', 'old/#'], 1), ['got old/last 1 0 afterwards'])
  })
}

test('an imported session belongs to its user, and access rules apply to its queued messages', async (t) => {
  const folder = await temporaryFolder(t)
  for (const name of ['anna', 'bert']) {
    const create = name === 'anna' ? ['-c'] : []
    const made = runProgram(t, 'mosquitto_passwd', ['-b', ...create, join(folder, 'passwords'), name, password])
    assert.equal(await made.ended, 0, made.errors)
  }
  const { process: mosquitto, port } = await startMosquitto(t, [`password_file ${join(folder, 'passwords')}`], {
    dataFolder: folder,
  })
  const url = `mqtt://127.0.0.1:${port}`
  const anna = await mqtt.connectAsync(url, { clientId: 'c', clean: false, username: 'anna', password })
  await anna.subscribeAsync(['open/#', 'private/#'], { qos: 1 })
  await anna.endAsync()
  const publisher = await mqtt.connectAsync(url, { username: 'bert', password })
  for (const topic of ['private/1', 'open/1', 'private/2', 'open/2'])
    await publisher.publishAsync(topic, 'waits', { qos: 1 })
  await publisher.endAsync()
  await mosquitto.stop('SIGTERM')

  const data = join(folder, 'data')
  const words = ['import', 'mosquitto', '--conf', join(folder, 'mosquitto.conf'), '--output', join(folder, 'out')]
  const imported = await runHere([...words, '--data', data])
  assert.equal(imported.code, 0, imported.errors)
  const rules = join(folder, 'rules.conf')
  await writeFile(rules, '{deny, all, subscribe, ["private/#"]}.\n{allow, all}.\n')
  const broker = await startBroker(t, {
    dataDirectory: data,
    set: [`auth.acl.file=${JSON.stringify(rules)}`, 'auth.password.anna=secret', 'auth.password.bert=secret'],
  })
  const at = `mqtt://127.0.0.1:${broker.port}`
  await assert.rejects(
    mqtt.connectAsync(at, { clientId: 'c', clean: false, username: 'bert', password, reconnectPeriod: 0 }),
    /[Ii]dentifier rejected/,
  )
  const got = await take(t, broker, ['-i', 'c', '-u', 'anna', '-P', password, '-q', '1', '-t', 'open/#'], 2)
  assert.deepEqual(got, ['got open/1 1 0 waits', 'got open/2 1 0 waits'])
})
