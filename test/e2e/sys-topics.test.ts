// What the broker says of itself, as a client hears it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { shared, startBroker } from './godwit-process.ts'
import { connected } from './mqtt-client.ts'

/** Resolves when all of the topics were heard, with what they said. */
function heard(client: MqttClient, topics: readonly string[]): Promise<Map<string, string>> {
  const told = new Map<string, string>()
  return new Promise((resolve) => {
    client.on('message', (topic, payload) => {
      told.set(topic, String(payload))
      if (topics.every((name) => told.has(name))) resolve(told)
    })
  })
}

const node = '$SYS/brokers/godwit@plant'
const named = ['node.name="godwit@plant"', 'node.shards=3']

/** It publishes nothing of its own accord. */
const sharedBroker = shared((scope) => startBroker(scope, { set: [...named, 'sys_topics.interval=0'] }))

test('the version, the time and the numbers of the node are below $SYS/brokers, for subscribers on every shard', async (t) => {
  const broker = await startBroker(t, { set: [...named, 'sys_topics.interval=1s'] })
  const topics = ['version', 'uptime', 'datetime', 'sysdescr', 'stats/connections/count', 'metrics/messages/received']
  for (let number = 0; number < 6; number++) {
    const client = await connected(t, broker, { clientId: `curious-${number}` })
    const all = heard(client, ['$SYS/brokers', ...topics.map((topic) => `${node}/${topic}`)])
    await client.subscribeAsync('$SYS/#', { qos: 1 })
    const told = await all
    assert.equal(told.get('$SYS/brokers'), 'godwit@plant')
    assert.match(told.get(`${node}/version`) ?? '', /^\d+\.\d+\.\d+/)
    assert.match(told.get(`${node}/uptime`) ?? '', /\d+ seconds$/)
    assert.match(told.get(`${node}/datetime`) ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(told.get(`${node}/metrics/messages/received`), '0', 'its own messages are not counted')
  }
})

test('clients that come and go are told of, and nothing of it is kept', async (t) => {
  const broker = await sharedBroker()
  const watcher = await connected(t, broker, { clientId: 'watcher' })
  const topics = ['connected', 'disconnected'].map((what) => `${node}/clients/guest/${what}`)
  const both = heard(watcher, topics)
  await watcher.subscribeAsync(`${node}/clients/+/+`)
  const client = await connected(t, broker, { clientId: 'guest', keepalive: 30, username: 'somebody' })
  await client.endAsync()
  const [came, went] = topics.map((topic) => topic)
  const told = await both
  const arrival = JSON.parse(told.get(came) ?? '')
  assert.deepEqual(
    [arrival.clientid, arrival.ipaddress, arrival.proto_ver, arrival.proto_name, arrival.keepalive],
    ['guest', '127.0.0.1', 5, 'MQTT', 30],
  )
  assert.equal(JSON.parse(told.get(went) ?? '').clientid, 'guest')
  const late = await connected(t, broker, { clientId: 'late' })
  const seen: string[] = []
  late.on('message', (topic) => seen.push(topic))
  await late.subscribeAsync('$SYS/#')
  await late.subscribeAsync('marks')
  const mark = new Promise<void>((resolve) => late.on('message', (topic) => topic === 'marks' && resolve()))
  await watcher.publishAsync('marks', 'x', { qos: 1 })
  await mark
  assert.deepEqual(
    seen.filter((topic) => topic.includes('/guest/')),
    [],
  )
})

test('clients whose client identifiers cannot stand in a topic are told of as well', async (t) => {
  const broker = await sharedBroker()
  const watcher = await connected(t, broker, { clientId: 'watcher' })
  const topics = ['a%2Fb', '%2B', '%23', '100%'].map((level) => `${node}/clients/${level}/connected`)
  const all = heard(watcher, topics)
  await watcher.subscribeAsync(`${node}/clients/+/+`)
  for (const clientId of ['a/b', '+', '#', '100%']) await connected(t, broker, { clientId })
  const told = await all
  assert.deepEqual(
    topics.map((topic) => JSON.parse(told.get(topic) ?? '').clientid),
    ['a/b', '+', '#', '100%'],
  )
})
