// A node with several shards behaves to clients like a node with one.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { shareConfigurableBroker } from '../management/api.ts'
import { testLength, longTest } from '../test-length.ts'
import { eventually } from './eventually.ts'
import { type Broker, startBroker } from './godwit-process.ts'
import { connected } from './mqtt-client.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=3'])

const durable = { clean: false, properties: { sessionExpiryInterval: 3_600 } } as const
const clientIds = Array.from({ length: 12 }, (_, number) => `offline-${number}`)

/** Resolves with all received payloads as soon as there are `count`. */
function payloads(client: MqttClient, count: number): Promise<string[]> {
  const seen: string[] = []
  return new Promise((resolve) => {
    client.on('message', (_, payload) => {
      seen.push(String(payload))
      if (seen.length === count) resolve(seen)
    })
  })
}

async function restart(t: TestContext, broker: Broker, shards: number, signal: NodeJS.Signals): Promise<Broker> {
  await broker.process.stop(signal)
  return startBroker(t, { dataDirectory: broker.dataDirectory, set: [`node.shards=${shards}`] })
}

test('sessions, their queues and retained messages are restored after a restart with another number of shards', async (t) => {
  let broker = await startBroker(t, { set: ['node.shards=1'] })
  for (const clientId of clientIds) {
    const firstConnection = await connected(t, broker, { clientId, ...durable })
    await firstConnection.subscribeAsync(['all/#', `own/${clientId}`], { qos: 1 })
    await firstConnection.endAsync()
  }
  const restarts = [
    { shards: 3, signal: 'SIGTERM' },
    { shards: 2, signal: 'SIGKILL' },
    { shards: 1, signal: 'SIGTERM' },
    { shards: 3, signal: 'SIGKILL' },
  ] as const
  const rounds = testLength({ daily: 2, long: restarts.length })
  const waiting: string[] = []
  for (const [round, { shards, signal }] of restarts.slice(0, rounds).entries()) {
    const publisher = await connected(t, broker, { clientId: `publisher-${round}` })
    await publisher.publishAsync('all/1', `to all ${round}`, { qos: 1, retain: true })
    for (const id of clientIds) await publisher.publishAsync(`own/${id}`, `to one ${round}`, { qos: 1 })
    waiting.push(`to all ${round}`, `to one ${round}`)
    publisher.stream.destroy()
    broker = await restart(t, broker, shards, signal)
    // After each restart, one of the clients reconnects; the others stay disconnected.
    await receivesQueued(t, broker, clientIds[round], waiting)
    const late = await connected(t, broker, { clientId: `late-${round}` })
    const retained = payloads(late, 1)
    await late.subscribeAsync('all/+', { qos: 1 })
    assert.deepEqual(await retained, [`to all ${round}`])
    await late.endAsync()
  }
  for (const id of clientIds.slice(rounds)) await receivesQueued(t, broker, id, waiting)
})

async function receivesQueued(t: TestContext, { port }: Broker, clientId: string, expected: string[]): Promise<void> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: 5,
    reconnectPeriod: 0,
    clientId,
    ...durable,
  })
  t.after(() => client.end(true))
  assert.deepEqual(await payloads(client, expected.length), expected, clientId)
  await client.endAsync()
}

test('clients on all shards receive messages of each other at each QoS, in order and once', async (t) => {
  const broker = await configuredBroker()
  const clients = await Promise.all(
    Array.from({ length: 9 }, (_, number) => connected(t, broker, { clientId: `client-${number}` })),
  )
  const perClient = 30
  const steadyPayloads = clients.map((client) => payloads(client, clients.length * perClient))
  for (const client of clients) await client.subscribeAsync('talk/#', { qos: 2 })
  for (let number = 0; number < perClient; number++) {
    const qos = (number % 3) as 0 | 1 | 2
    await Promise.all(clients.map((client, own) => client.publishAsync(`talk/${own}`, `${own} ${number}`, { qos })))
  }
  for (const seen of await Promise.all(steadyPayloads)) {
    assert.equal(new Set(seen).size, clients.length * perClient)
    // MQTT.js reports a QoS 2 message at PUBREL, so messages of other QoS levels may be reported earlier.
    for (const own of clients.keys()) {
      for (const qos of [0, 1, 2]) {
        const receivedPayloads = seen
          .map((payload) => payload.split(' ').map(Number))
          .filter(([from, number]) => from === own && number % 3 === qos)
        assert.deepEqual(
          receivedPayloads,
          Array.from({ length: perClient / 3 }, (_, index) => [own, index * 3 + qos]),
        )
      }
    }
  }
})

for (const setting of ['limits.max_connections=6', 'listeners.tcp.max_connections=6']) {
  test(`${setting} applies to the node, whatever shards accept the connections`, async (t) => {
    const broker = await configuredBroker([setting])
    // Clients of another test count until the broker has noticed that they disconnected.
    await eventually(async () => {
      const [{ connections }] = (await broker.request('/api/v4/nodes')).json.data
      const [{ listeners }] = (await broker.request('/api/v4/listeners')).json.data
      const open = listeners.map(({ current_conns }: { current_conns: number }) => current_conns)
      assert.deepEqual([connections, ...new Set(open)], [0, 0])
    })
    const connectedClients = await Promise.all(
      Array.from({ length: 6 }, (_, number) => connected(t, broker, { clientId: `guest-${number}` })),
    )
    const surplus = Array.from({ length: 6 }, (_, number) => {
      const client = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, {
        clientId: `surplus-${number}`,
        reconnectPeriod: 0,
      })
      client.on('error', () => {})
      t.after(() => client.end(true))
      return new Promise<string>((resolve) => {
        client.once('connect', () => resolve('let in'))
        client.once('close', () => resolve('refused'))
      })
    })
    assert.deepEqual(
      await Promise.all(surplus),
      Array.from({ length: 6 }, () => 'refused'),
    )
    assert.ok(connectedClients.every((connected) => connected.connected))
  })
}

// Daily: test/core/shared with one shard and three.
longTest(
  'shared messages in the queues of sessions that end are delivered to the remaining member, each once',
  async (t) => {
    const before = await startBroker(t, { set: ['node.shards=3'] })
    const brief = ['brief-1', 'brief-2', 'brief-3', 'brief-4']
    for (const clientId of [...brief, 'steady']) {
      const member = await connected(t, before, { clientId, ...durable })
      await member.subscribeAsync('$share/press/job/#', { qos: 2 })
      await member.endAsync()
    }
    const publisher = await connected(t, before, { clientId: 'publisher' })
    const jobs = Array.from({ length: 300 }, (_, number) => `job ${number}`)
    for (const [number, job] of jobs.entries())
      await publisher.publishAsync(`job/${number}`, job, { qos: number % 2 === 0 ? 1 : 2 })
    publisher.stream.destroy()
    const broker = await restart(t, before, 2, 'SIGKILL')
    const steady = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, {
      clientId: 'steady',
      protocolVersion: 5,
      reconnectPeriod: 0,
      ...durable,
    })
    t.after(() => steady.end(true))
    const steadyPayloads = payloads(steady, jobs.length)
    for (const clientId of brief) await (await connected(t, broker, { clientId, clean: true })).endAsync()
    assert.deepEqual((await steadyPayloads).toSorted(), jobs.toSorted())
  },
)
