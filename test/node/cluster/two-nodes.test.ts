// Two nodes of a cluster whose links are cut: clients of either node exchange messages as on one node.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { eventually } from '../../e2e/eventually.ts'
import { eventOf } from '../../e2e/transport-guarantees.ts'
import { findClientId, TwoNodes } from './two-nodes.ts'

/** The tests of this file share the nodes, which end with the file. */
const ends: (() => unknown)[] = []
after(async () => {
  for (const end of ends.toReversed()) await end()
})
let shared: Promise<TwoNodes> | undefined
function startShared(): Promise<TwoNodes> {
  return (shared ??= TwoNodes.start({ after: (end) => void ends.push(end) }))
}

function collect(client: MqttClient): string[] {
  const received: string[] = []
  client.on('message', (topic, payload) => void received.push(`${topic} ${String(payload)}`))
  return received
}

/** A subscriber whose session is at node 1, and which is connected to `index`. */
async function subscribe(filter: string, index = 1): Promise<{ received: string[]; client: MqttClient }> {
  const cluster = await startShared()
  const clientId = findClientId(`${filter.split('/')[0]}-${index}`, 1)
  const client = await cluster.connect(index, { clientId })
  const received = collect(client)
  await client.subscribeAsync(filter, { qos: 2 })
  return { received, client }
}

test('a message reaches subscribers of the other node with each QoS', async () => {
  const cluster = await startShared()
  const { received } = await subscribe('plain/#')
  const publisher = await cluster.connect(0, { clientId: findClientId('publisher', 0) })
  for (const qos of [0, 1, 2] as const) await publisher.publishAsync(`plain/${qos}`, 'hello', { qos })
  await eventually(() => assert.deepEqual(received, ['plain/0 hello', 'plain/1 hello', 'plain/2 hello']))
})

test('a client is served by the node of its session, whichever node it connects to', async () => {
  const cluster = await startShared()
  const { received } = await subscribe('relayed/#', 0)
  const publisher = await cluster.connect(1, { clientId: findClientId('relayed-publisher', 0) })
  for (let i = 0; i < 100; i++) void publisher.publishAsync('relayed/a', String(i), { qos: 1 })
  await eventually(() => assert.equal(received.length, 100))
  assert.deepEqual(
    received,
    Array.from({ length: 100 }, (_, i) => `relayed/a ${i}`),
  )
})

test('a client that connects to the other node takes over', async () => {
  const cluster = await startShared()
  const clientId = findClientId('the-only-one', 1)
  const first = await cluster.connect(1, { clientId })
  const disconnected = eventOf(first, 'disconnect')
  await cluster.connect(0, { clientId })
  const [packet] = (await disconnected) as [{ readonly reasonCode: number }]
  assert.equal(packet.reasonCode, 0x8e)
})

test('a retained message and a will reach subscribers of the other node', async () => {
  const cluster = await startShared()
  const publisher = await cluster.connect(0, {
    clientId: findClientId('publisher-with-will', 0),
    will: { topic: 'state/will', payload: Buffer.from('gone'), qos: 1, retain: true },
  })
  for (let i = 0; i < 8; i++) await publisher.publishAsync(`state/${i}`, 'kept', { qos: 1, retain: true })
  const { received } = await subscribe('state/#')
  await eventually(() => assert.equal(received.length, 8))
  publisher.stream.destroy()
  await eventually(() => assert.equal(received.at(-1), 'state/will gone'))
  const late = await subscribe('state/#', 0)
  await eventually(() => assert.equal(late.received.length, 9))
})

test('a message for a shared subscription reaches one member on either node', async () => {
  const cluster = await startShared()
  const members = await Promise.all(
    [0, 1].map(async (index) => {
      const client = await cluster.connect(index, { clientId: findClientId('member', index) })
      const received = collect(client)
      await client.subscribeAsync('$share/group/shared/#', { qos: 1 })
      return received
    }),
  )
  const publisher = await cluster.connect(0, { clientId: findClientId('shared-publisher', 0) })
  for (let i = 0; i < 100; i++) await publisher.publishAsync('shared/a', String(i), { qos: 1 })
  await eventually(() => assert.equal(members[0].length + members[1].length, 100))
  assert.ok(members[0].length > 0 && members[1].length > 0, `${members[0].length} and ${members[1].length}`)
  const numbers = members.flat().map((text) => Number(text.split(' ')[1]))
  assert.deepEqual(
    numbers.toSorted((a, b) => a - b),
    Array.from({ length: 100 }, (_, i) => i),
  )
})

test('nothing is lost or repeated and the order is kept when the connection of the nodes is cut', async () => {
  const cluster = await startShared()
  const { received, client } = await subscribe('cut/#')
  const relayed = await subscribe('cut/#', 0)
  const publishers = await Promise.all(
    [0, 1, 2].map((qos) => cluster.connect(0, { clientId: findClientId(`cut-publisher-${qos}`, 0) })),
  )
  const count = 300
  const published: Promise<unknown>[] = []
  let acknowledged = 0
  const publishAll = (from: number, to: number): void => {
    for (let i = from; i < to; i++) {
      for (const qos of [0, 1, 2] as const) {
        published.push(publishers[qos].publishAsync(`cut/${qos}`, String(i), { qos }).then(() => acknowledged++))
      }
    }
  }
  const local = await cluster.connect(0, { clientId: findClientId('cut-local', 0) })
  await local.subscribeAsync('local', { qos: 1 })
  for (const fault of ['cut', 'to-target', 'from-target'] as const) {
    const base = published.length / 3
    publishAll(base, base + count / 2)
    if (fault === 'cut') cluster.relay.cut()
    else cluster.relay.block(fault)
    publishAll(base + count / 2, base + count)
    // The nodes themselves go on.
    const arrived = eventOf(local, 'message')
    await local.publishAsync('local', fault, { qos: 1 })
    await arrived
    assert.ok(acknowledged < published.length, `all messages were acknowledged in spite of the fault ${fault}`)
    cluster.relay.heal()
    await Promise.all(published)
  }
  const expected = Array.from({ length: count * 3 }, (_, i) => String(i))
  for (const list of [received, relayed.received]) {
    await eventually(() => assert.equal(list.length, count * 9))
    for (const qos of [0, 1, 2]) {
      const payloads = list.filter((text) => text.startsWith(`cut/${qos} `)).map((text) => text.split(' ')[1])
      assert.deepEqual(payloads, expected, `QoS ${qos}`)
    }
  }
  assert.ok(client.connected && relayed.client.connected, 'a client was disconnected')
})

test('a node that ends and returns with another life has its sessions, and gets what was published meanwhile', async () => {
  const cluster = await startShared()
  const clientId = findClientId('persistent', 1)
  const durable = { clientId, clean: false, properties: { sessionExpiryInterval: 3_600 } }
  const before = await cluster.connect(1, durable)
  await before.subscribeAsync('meanwhile/#', { qos: 1 })
  await before.endAsync()
  const publisher = await cluster.connect(0, { clientId: findClientId('meanwhile-publisher', 0) })
  await publisher.publishAsync('meanwhile/before', 'stored', { qos: 1 })
  await cluster.stopNode()
  let isAcknowledged = false
  const published = publisher.publishAsync('meanwhile/during', 'kept', { qos: 1 }).then(() => (isAcknowledged = true))
  await publisher.publishAsync('elsewhere', 'local', { qos: 0 })
  assert.equal(isAcknowledged, false, 'acknowledged, although the node that stores it is away')
  await cluster.startNode()
  await published
  // Messages may arrive together with CONNACK.
  const port = cluster.nodes[0].listeners[0].port
  const returned = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...durable, protocolVersion: 5, reconnectPeriod: 0 })
  ends.push(() => returned.end(true))
  const received = collect(returned)
  await eventually(() => assert.deepEqual(received, ['meanwhile/before stored', 'meanwhile/during kept']))
})
