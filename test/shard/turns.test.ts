// Promises of a shard about its turns: one write for each connection, one write in progress at a time, and no client waits for the flood of
// another.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShardStage } from './stage.ts'

const frames = (count: number, topic = 'a', text = 'm') =>
  Array.from({ length: count }, (_, index) => ({ topic, payload: `${text}${index}` }))

test('what one turn brings for a connection leaves in one write', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publishers = [await stage.client('one'), await stage.client('two')]
  const before = subscriber.stream.handedOver
  for (const publisher of publishers) publisher.publish(...frames(10))
  await stage.turns()
  assert.equal(subscriber.stream.handedOver - before, 1)
  assert.equal(subscriber.payloads.length, 20)
})

test('while a write is on its way further turns append, and leave in one write when it is done', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  subscriber.stream.isStalled = true
  const before = subscriber.stream.handedOver
  for (let turn = 0; turn < 5; turn++) {
    publisher.publish({ topic: 'a', payload: `turn ${turn}` })
    await stage.turns()
  }
  assert.equal(subscriber.stream.handedOver - before, 1, 'one write is on its way, the rest waits')
  subscriber.stream.take()
  await stage.turns()
  assert.equal(subscriber.stream.handedOver - before, 2)
  subscriber.stream.take()
  assert.deepEqual(subscriber.payloads, ['turn 0', 'turn 1', 'turn 2', 'turn 3', 'turn 4'])
  assert.equal(subscriber.stream.maxAtOnce, 1)
})

test('buffers go back to the pool when their write is done', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  publisher.publish(...frames(5_000, 'a', 'x'.repeat(100)))
  await stage.turns()
  assert.equal(subscriber.payloads.length, 5_000)
  assert.equal(stage.shard.buffers.takenBytes, 0)
  assert.equal(stage.counter('unsentBytes'), 0)
})

test('buffers go back to the pool when the stream breaks under them', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  subscriber.stream.isStalled = true
  publisher.publish(...frames(100))
  await stage.turns()
  publisher.publish(...frames(100))
  assert.notEqual(stage.shard.buffers.takenBytes, 0)
  subscriber.stream.break(new Error('reset by peer'))
  await stage.turns()
  assert.equal(stage.shard.buffers.takenBytes, 0)
})

test('the first message of all is told once, and a client that comes or subscribes is none', async (context) => {
  const stage = new ShardStage(context)
  await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  assert.equal(stage.firstMessages, 0)
  publisher.publish(...frames(3))
  await stage.turns()
  publisher.publish(...frames(3))
  await stage.turns()
  assert.equal(stage.firstMessages, 1)
})
