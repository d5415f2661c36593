// Guarantees of a shard for its turns: one write for each connection, one write in progress at a time, and no client waits for a
// flood of another.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShardStage } from './stage.ts'

const frames = (count: number, topic = 'a', text = 'm') =>
  Array.from({ length: count }, (_, index) => ({ topic, payload: `${text}${index}` }))

test('all packets of one turn for a connection are sent with one write', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publishers = [await stage.client('one'), await stage.client('two')]
  const before = subscriber.stream.writeCount
  for (const publisher of publishers) publisher.publish(...frames(10))
  await stage.turns()
  assert.equal(subscriber.stream.writeCount - before, 1)
  assert.equal(subscriber.payloads.length, 20)
})

test('during a write, further turns append, and their packets are sent with one write after it', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  subscriber.stream.isStalled = true
  const before = subscriber.stream.writeCount
  for (let turn = 0; turn < 5; turn++) {
    publisher.publish({ topic: 'a', payload: `turn ${turn}` })
    await stage.turns()
  }
  assert.equal(subscriber.stream.writeCount - before, 1, 'one write is in progress, the rest waits')
  subscriber.stream.take()
  await stage.turns()
  assert.equal(subscriber.stream.writeCount - before, 2)
  subscriber.stream.take()
  assert.deepEqual(subscriber.payloads, ['turn 0', 'turn 1', 'turn 2', 'turn 3', 'turn 4'])
  assert.equal(subscriber.stream.maxConcurrentWrites, 1)
})

test('buffers return to the pool when their write is done', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  publisher.publish(...frames(5_000, 'a', 'x'.repeat(100)))
  await stage.turns()
  assert.equal(subscriber.payloads.length, 5_000)
  assert.equal(stage.shard.writer.buffers.takenBytes, 0)
  assert.equal(stage.counter('unsentBytes'), 0)
})

test('buffers return to the pool when the stream fails', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  subscriber.stream.isStalled = true
  publisher.publish(...frames(100))
  await stage.turns()
  publisher.publish(...frames(100))
  assert.notEqual(stage.shard.writer.buffers.takenBytes, 0)
  subscriber.stream.break(new Error('reset by peer'))
  await stage.turns()
  assert.equal(stage.shard.writer.buffers.takenBytes, 0)
})

test('the first message is reported once; CONNECT and SUBSCRIBE do not count as messages', async (context) => {
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
