// A session with very many subscriptions ends in slices: other clients are served in between.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { ShardStage, type TestClient } from './stage.ts'

const filters = Array.from({ length: 5_000 }, (_, index) => ({ filter: `many/${index}` }))
const last = `many/${filters.length - 1}`
/** The maximum of one packet. */
const filtersOfPacket = 1_000
/** More than that. */
const turns = 100

async function holder(stage: ShardStage, more: readonly { filter: string }[] = []): Promise<TestClient> {
  const client = await stage.client('holder', { version: 5 })
  const all = [...filters, ...more]
  for (let from = 0; from < all.length; from += filtersOfPacket)
    client.subscribe(all.slice(from, from + filtersOfPacket))
  await stage.turns()
  assert.equal(stage.shard.core.view.held.subscriptions, filters.length + more.length)
  return client
}

test('a session with thousands of subscriptions is removed in slices, and other clients are served in between', async (context) => {
  const stage = new ShardStage(context)
  const { view } = stage.shard.core
  const client = await holder(stage)
  const other = await stage.client('other')
  client.stream.break()
  assert.equal(view.sessions, 1)
  assert.equal(view.held.subscriptions, filters.length)
  other.send({ type: 'pingreq' })
  await stage.turns(2)
  assert.equal(other.of('pingresp').length, 1)
  assert.ok(view.held.subscriptions > filters.length / 2 && view.held.subscriptions < filters.length)
  await stage.turns(turns)
  assert.deepEqual(view.held, { subscriptions: 0, shared: 0, subscribers: 0 })
  assert.equal(view.hasMoreWork, false)
})

test('no messages arrive for them meanwhile, and the client reconnects as if they were removed', async (context) => {
  const stage = new ShardStage(context)
  const client = await holder(stage)
  const author = await stage.client('author')
  client.stream.break()
  author.publish({ topic: last, payload: 'to no session', qos: 1, packetId: 1 })
  await stage.turns(1)
  assert.equal(stage.shard.core.view.counts.publishesLeftWaiting, 0)
  const again = stage.unauthenticated(5)
  again.connect('holder', { cleanStart: false })
  again.subscribe([{ filter: last, qos: 1 }])
  await stage.turns(2)
  assert.ok(stage.shard.core.view.held.subscriptions > filters.length / 2)
  assert.equal(again.of('connack')[0]?.sessionPresent, false)
  author.publish({ topic: last, payload: 'meanwhile', qos: 1, packetId: 2 })
  await stage.turns(turns)
  author.publish({ topic: last, payload: 'afterwards', qos: 1, packetId: 3 })
  await stage.turns()
  assert.deepEqual(again.payloads, ['meanwhile', 'afterwards'])
  assert.equal(author.of('puback').length, 3)
  assert.equal(stage.shard.core.view.held.subscriptions, 1)
})

test('its exclusive subscriptions are free at once', async (context) => {
  const stage = new ShardStage(context, { core: { exclusiveSubscriptionAvailable: true } })
  const client = await holder(stage, [{ filter: '$exclusive/door' }])
  const other = await stage.client('other', { version: 5 })
  client.stream.break()
  other.subscribe([{ filter: '$exclusive/door' }])
  await stage.turns(1)
  assert.deepEqual(other.of('suback')[0]?.reasonCodes, [reasonCodes.grantedQoS0 + 2])
  await stage.turns(turns)
  assert.equal(stage.shard.core.view.held.subscriptions, 1)
})
