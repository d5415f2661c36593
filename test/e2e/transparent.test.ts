// A transparent bridge of a broker with two shards: both shards have clients, one has the bridge.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import {
  bridgeOf,
  client,
  durable,
  Listener,
  oneShard,
  startAgain,
  untilBridge,
  untilConnected,
} from './bridge-stage.ts'
import { temporaryFolder } from './godwit-process.ts'

const twoShards = ['node.shards=2']

/** The subscriptions of a client, as the broker lists them. */
async function subscriptionsOf(broker: BrokerWithApi, clientId: string): Promise<readonly string[]> {
  const { json } = await broker.request(`/api/v4/subscriptions/${clientId}`)
  const rows = (json?.data ?? []) as readonly { topic: string; qos: number }[]
  return rows.map(({ topic, qos }) => `${topic} ${qos}`).toSorted()
}

async function untilSubscribed(broker: BrokerWithApi, expected: readonly string[]): Promise<void> {
  const isEqual = (found: readonly string[]): boolean => found.join() === expected.join()
  while (!isEqual(await subscriptionsOf(broker, 'up'))) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('clients of all shards receive messages of the remote broker once, also after a restart and after changes of the bridge', async (t) => {
  const remote = await startBrokerWithApi(t, { set: oneShard })
  const dataDirectory = await temporaryFolder(t)
  const bridge = `server = "mqtt-tcp://127.0.0.1:${remote.port}", proto_ver = 5, clientid = up, backoff_max = 1s
    subscription = [{ remote_topic = "cmd/#", local_topic = "do/#", qos = 1 }]`
  await writeFile(
    join(dataDirectory, 'godwit.conf'),
    `bridges.mqtt.up {\nenable = true, transparent = true, ${bridge}\n}\n`,
  )
  const own = await startBrokerWithApi(t, { dataDirectory, set: twoShards })
  await untilConnected(own)
  const clients = await Promise.all(
    ['one', 'two', 'three', 'four'].map((clientId) => Listener.at(t, own.port, `plant/${clientId}/+`, { clientId })),
  )
  const stored = await client(t, own.port, durable)
  await stored.subscribeAsync('stored', { qos: 1 })
  await stored.endAsync()
  const rules = ['cmd/# 1', 'plant/four/+ 2', 'plant/one/+ 2', 'plant/three/+ 2', 'plant/two/+ 2', 'stored 1']
  await untilSubscribed(remote, rules)

  const publisher = await client(t, remote.port)
  for (const clientId of ['one', 'two', 'three', 'four'])
    await publisher.publishAsync(`plant/${clientId}/x`, clientId, { qos: 1 })
  await publisher.publishAsync('stored', 'kept for it', { qos: 1 })
  for (const [index, clientId] of ['one', 'two', 'three', 'four'].entries()) await clients[index]?.until([clientId])
  assert.deepEqual(
    clients.map(({ texts }) => texts),
    [['one'], ['two'], ['three'], ['four']],
  )
  const { status } = await bridgeOf(own)
  assert.deepEqual([status.passed_on, status.not_passed_on], [5, 0])
  const { text } = await own.request('/api/v4/prometheus')
  assert.match(text, /^svc_bridge_filters_passed_on\{bridge="up"\} \d/m)

  await untilBridge(own, ({ counters }) => counters.received >= 5)
  await own.process.stop('SIGKILL')
  const again = await startAgain(t, own, twoShards)
  const archive = await Listener.at(t, again.port, 'stored', durable)
  await archive.until(['kept for it'])

  // The bridge becomes not transparent and transparent again, without a new connection.
  await untilBridge(again, ({ state }) => state === 'connected')
  const node = await bridgeOf(again)
  assert.equal(node.transparent, true)
  // This PUT writes defaults into the configuration, which is a change for which the bridge reconnects.
  await again.request('/api/v4/bridges/up', { method: 'PUT', body: { up: node } })
  const { connects } = (await untilConnected(again)).counters
  const off = await again.request('/api/v4/bridges/up', {
    method: 'PUT',
    body: { up: { ...node, transparent: false } },
  })
  assert.equal(off.json.data.up.transparent, false)
  await untilSubscribed(remote, ['cmd/# 1'])
  await again.request('/api/v4/bridges/up', { method: 'PUT', body: { up: { ...node, transparent: true } } })
  await untilSubscribed(remote, ['cmd/# 1', 'stored 2'])
  assert.equal((await bridgeOf(again)).status.counters.connects, connects)
  await publisher.publishAsync('stored', 'after', { qos: 1 })
  await archive.until(['after'])
})
