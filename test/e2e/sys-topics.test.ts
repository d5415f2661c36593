// $SYS topics, as clients receive them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MqttClient } from 'mqtt'
import { shareConfigurableBroker } from '../management/api.ts'
import { connected } from './mqtt-client.ts'

/** Resolves with the payloads by topic when all topics have been received. */
function collect(client: MqttClient, topics: readonly string[]): Promise<Map<string, string>> {
  const payloads = new Map<string, string>()
  return new Promise((resolve) => {
    client.on('message', (topic, payload) => {
      payloads.set(topic, String(payload))
      if (topics.every((name) => payloads.has(name))) resolve(payloads)
    })
  })
}

const node = '$SYS/brokers/godwit@plant'
const configuredBroker = shareConfigurableBroker(['node.name="godwit@plant"', 'node.shards=3'])
/** Without periodic $SYS messages. */
const notPeriodic = ['sys_topics.interval=0']

test('version, time and statistics of the node are published below $SYS/brokers to subscribers on all shards', async (t) => {
  const broker = await configuredBroker(['sys_topics.interval=1s'])
  const topics = ['version', 'uptime', 'datetime', 'sysdescr', 'stats/connections/count', 'metrics/messages/received']
  for (let number = 0; number < 6; number++) {
    const client = await connected(t, broker, { clientId: `curious-${number}` })
    const all = collect(client, ['$SYS/brokers', ...topics.map((topic) => `${node}/${topic}`)])
    await client.subscribeAsync('$SYS/#', { qos: 1 })
    const payloads = await all
    assert.equal(payloads.get('$SYS/brokers'), 'godwit@plant')
    assert.match(payloads.get(`${node}/version`) ?? '', /^\d+\.\d+\.\d+/)
    assert.match(payloads.get(`${node}/uptime`) ?? '', /\d+ seconds$/)
    assert.match(payloads.get(`${node}/datetime`) ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(payloads.get(`${node}/metrics/messages/received`), '0', '$SYS messages are not counted')
  }
})

test('connections and disconnections of clients are published, and not retained', async (t) => {
  const broker = await configuredBroker(notPeriodic)
  const watcher = await connected(t, broker, { clientId: 'watcher' })
  const topics = ['connected', 'disconnected'].map((what) => `${node}/clients/guest/${what}`)
  const both = collect(watcher, topics)
  await watcher.subscribeAsync(`${node}/clients/+/+`)
  const client = await connected(t, broker, { clientId: 'guest', keepalive: 30, username: 'somebody' })
  await client.endAsync()
  const [connectedTopic, disconnectedTopic] = topics.map((topic) => topic)
  const payloads = await both
  const arrival = JSON.parse(payloads.get(connectedTopic) ?? '')
  assert.deepEqual(
    [arrival.clientid, arrival.ipaddress, arrival.proto_ver, arrival.proto_name, arrival.keepalive],
    ['guest', '127.0.0.1', 5, 'MQTT', 30],
  )
  assert.equal(JSON.parse(payloads.get(disconnectedTopic) ?? '').clientid, 'guest')
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

test('client IDs with characters that are invalid in topics are percent-encoded', async (t) => {
  const broker = await configuredBroker(notPeriodic)
  const watcher = await connected(t, broker, { clientId: 'watcher' })
  const topics = ['a%2Fb', '%2B', '%23', '100%'].map((level) => `${node}/clients/${level}/connected`)
  const all = collect(watcher, topics)
  await watcher.subscribeAsync(`${node}/clients/+/+`)
  for (const clientId of ['a/b', '+', '#', '100%']) await connected(t, broker, { clientId })
  const payloads = await all
  assert.deepEqual(
    topics.map((topic) => JSON.parse(payloads.get(topic) ?? '').clientid),
    ['a/b', '+', '#', '100%'],
  )
})
