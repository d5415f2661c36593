// Three node processes over a PostgreSQL with a synchronous standby: one is killed, and the others serve its sessions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { eventually } from '../../e2e/eventually.ts'
import { connected } from '../../e2e/mqtt-client.ts'
import { runCtlHere } from '../../cli/ctl/ctl.ts'
import { findClientOf, ThreeNodes } from './three-nodes.ts'

const durable = { clean: false, properties: { sessionExpiryInterval: 3_600 } } as const

test('a killed node loses nothing that was acknowledged: another node serves its sessions', async (t) => {
  const cluster = await ThreeNodes.start(t)
  const homes = await cluster.readHomes()
  const [victim, survivor] = homes
  assert.ok(victim !== undefined && survivor !== undefined && victim.node !== survivor.node)

  const clientId = findClientOf(victim.shard, 'offline')
  // By another node: the client is relayed to the home of its session.
  const subscriber = await connected(t, cluster.getNode(survivor.node), { clientId, ...durable })
  await subscriber.subscribeAsync('orders/#', { qos: 1 })
  await subscriber.endAsync()
  const publisher = await connected(t, cluster.getNode(survivor.node), {
    clientId: findClientOf(survivor.shard, 'publisher'),
  })
  const acknowledged: string[] = []
  const publish = async (text: string): Promise<void> => {
    await publisher.publishAsync('orders/new', text, { qos: 1 })
    acknowledged.push(text)
  }
  for (let i = 0; i < 50; i++) await publish(`before ${i}`)

  // A node knows the rows of its last beat.
  await eventually(async () => {
    const healthy = await cluster.readStatus(survivor.node)
    assert.deepEqual([healthy.lease, healthy.stalls], [true, []])
    assert.deepEqual(
      healthy.nodes.map(({ name, link, lease, shards }) => [name, link, lease, shards]),
      healthy.nodes.map(({ name }) => [name, name === survivor.node ? 'own' : 'open', true, 1]),
    )
    assert.deepEqual(
      healthy.shards.map(({ shard, home, epoch, state }) => [shard, home, epoch, state]),
      homes.map(({ shard, node, epoch }) => [shard, node, epoch, 'running']),
    )
  })
  const refused = await runCtlHere([
    'cluster',
    'accept-loss',
    '0',
    '--data',
    cluster.getNode(survivor.node).dataDirectory,
  ])
  assert.match(refused.errors, /shard 0 is running/)

  const killedMs = performance.now()
  await cluster.getNode(victim.node).process.stop('SIGKILL')
  // They are acknowledged when the session has a home again that has stored them.
  const during = Promise.all(Array.from({ length: 20 }, (_, i) => publish(`during ${i}`)))
  await eventually(async () => {
    const now = (await cluster.readHomes()).find(({ shard }) => shard === victim.shard)
    assert.ok(now !== undefined && now.node !== victim.node, 'the shard has no new home')
    assert.ok(now.epoch > victim.epoch, `epoch ${now.epoch} after ${victim.epoch}`)
  })
  t.diagnostic(`from the kill to the new home: ${Math.round(performance.now() - killedMs)} ms`)
  await during
  t.diagnostic(
    `from the kill to the acknowledgement of what was published meanwhile: ${Math.round(performance.now() - killedMs)} ms`,
  )

  const received: string[] = []
  let isPresent = false
  const url = `mqtt://127.0.0.1:${cluster.getNode(survivor.node).port}`
  const returned = mqtt.connect(url, { clientId, ...durable, protocolVersion: 5, reconnectPeriod: 0 })
  t.after(() => returned.end(true))
  returned.on('connect', ({ sessionPresent }) => (isPresent = sessionPresent))
  returned.on('message', (_, payload) => void received.push(String(payload)))
  await eventually(() => assert.deepEqual(received.toSorted(), acknowledged.toSorted()))
  assert.equal(isPresent, true, 'the session was lost')
  await eventually(async () => {
    const after = await cluster.readStatus(survivor.node)
    assert.deepEqual([after.nodes.length, after.shards.every(({ state }) => state === 'running')], [2, true])
  })
  await publish('after')
  await eventually(() => assert.equal(received.at(-1), 'after'))
})
