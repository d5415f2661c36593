// Acknowledgements, closes and reads that wait for the commit of a batch, and the behavior
// while the disk fails.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { ShardStage, type TestClient } from './stage.ts'

const durable5 = { version: 5, cleanStart: false, properties: { sessionExpiryIntervalSeconds: 1_000 } } as const
const durable4 = { version: 4, cleanStart: false } as const

async function withOfflineClient(stage: ShardStage): Promise<void> {
  const offlineClient = await stage.subscriber('offline', 'kept', durable5)
  offlineClient.stream.break()
  await stage.turns()
}

const acksOf = (client: TestClient) =>
  client.received.flatMap((packet) =>
    packet.type === 'puback' || packet.type === 'pubrec' ? [`${packet.type} ${packet.packetId}`] : [],
  )

test('the acknowledgement of a stored message is sent when its batch is durable', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher')
  stage.store.isHeld = true
  publisher.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 9 })
  await stage.turns()
  assert.deepEqual(acksOf(publisher), [])
  stage.store.release()
  await stage.turns()
  assert.deepEqual(acksOf(publisher), ['puback 9'])
})

test('no acknowledgement of the same connection is sent before a deferred one, and other connections are not delayed', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher')
  const other = await stage.client('other')
  stage.store.isHeld = true
  publisher.publish(
    { topic: 'kept', payload: 'x', qos: 1, packetId: 1 },
    { topic: 'nobody', payload: 'x', qos: 2, packetId: 2 },
    { topic: 'nobody', payload: 'x', qos: 1, packetId: 3 },
  )
  other.publish({ topic: 'nobody', payload: 'x', qos: 1, packetId: 4 })
  await stage.turns()
  assert.deepEqual(acksOf(publisher), [])
  assert.deepEqual(acksOf(other), ['puback 4'])
  stage.store.isHeld = false
  stage.store.release()
  await stage.turns()
  assert.deepEqual(acksOf(publisher), ['puback 1', 'pubrec 2', 'puback 3'])
})

test('the changes of turns during a write are in the next batch', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher')
  stage.store.isHeld = true
  const before = stage.store.attempts.length
  for (let packetId = 1; packetId <= 5; packetId++) {
    publisher.publish({ topic: 'kept', payload: `${packetId}`, qos: 1, packetId })
    await stage.turns()
  }
  assert.equal(stage.store.attempts.length - before, 1)
  stage.store.release()
  await stage.turns()
  assert.deepEqual(acksOf(publisher), ['puback 1'])
  assert.equal(stage.store.attempts.length - before, 2)
  stage.store.release()
  await stage.turns()
  assert.deepEqual(acksOf(publisher), ['puback 1', 'puback 2', 'puback 3', 'puback 4', 'puback 5'])
})

test('a failed batch is written again unchanged, and no acknowledgement that waits for it is sent before', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher', { version: 5 })
  stage.store.isFailing = true
  publisher.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 1 })
  await stage.turns()
  const failed = stage.store.attempts.at(-1)
  const attempts = stage.store.attempts.length
  await stage.passMs(100)
  await stage.passMs(200)
  assert.equal(stage.store.attempts.length, attempts + 2)
  assert.equal(stage.store.attempts.at(-1), failed, 'the same batch')
  assert.deepEqual(acksOf(publisher), [])
  assert.match(stage.alarms[0], /^the disk fails/)

  publisher.publish({ topic: 'kept', payload: 'y', qos: 1, packetId: 2 }, { topic: 'nobody', payload: 'z', qos: 0 })
  await stage.turns()
  assert.deepEqual(acksOf(publisher), [], 'its PUBACK must not precede the one that waits')

  stage.store.isFailing = false
  await stage.passMs(400)
  assert.deepEqual(
    publisher.of('puback').map(({ packetId, reasonCode }) => [packetId, reasonCode]),
    [
      [1, reasonCodes.success],
      [2, reasonCodes.quotaExceeded],
    ],
  )
  assert.equal(stage.alarms.at(-1), 'the disk works again')
  const reconnected = await stage.client('offline', durable5)
  assert.deepEqual(reconnected.payloads, ['x'])
})

test('while the disk fails, messages of a 5.0 client that need storage are refused, and others are delivered', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const trigger = await stage.client('trigger')
  const publisher = await stage.client('publisher', { version: 5 })
  const subscriber = await stage.subscriber('subscriber', 'live')
  stage.store.isFailing = true
  trigger.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 1 })
  await stage.turns()
  publisher.publish(
    { topic: 'kept', payload: 'y', qos: 1, packetId: 1 },
    { topic: 'live', payload: 'z', qos: 1, packetId: 2 },
  )
  await stage.turns()
  assert.deepEqual(
    publisher.of('puback').map(({ packetId, reasonCode }) => [packetId, reasonCode]),
    [
      [1, reasonCodes.quotaExceeded],
      [2, reasonCodes.success],
    ],
  )
  assert.deepEqual(subscriber.payloads, ['z'])
})

test('while the disk fails, reading from a 3.x client pauses, and none of its messages is lost or reordered', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const trigger = await stage.client('trigger')
  const publisher = await stage.client('publisher')
  const subscriber = await stage.subscriber('live', '#')
  stage.store.isFailing = true
  trigger.publish({ topic: 'kept', payload: '0', qos: 1, packetId: 1 })
  await stage.turns()
  publisher.publish(
    { topic: 'kept', payload: '1', qos: 1, packetId: 1 },
    { topic: 'other', payload: '2', qos: 0 },
    { topic: 'kept', payload: '3', qos: 1, packetId: 3 },
  )
  await stage.turns()
  assert.equal(publisher.stream.isPaused, true)
  publisher.publish({ topic: 'other', payload: '4', qos: 1, packetId: 4 })
  publisher.publish({ topic: 'kept', payload: '5', qos: 1, packetId: 5 })
  await stage.turns()
  assert.deepEqual(subscriber.payloads, ['0'])
  stage.store.isFailing = false
  await stage.passMs(10_000)
  assert.equal(publisher.stream.isPaused, false)
  assert.equal(publisher.stream.unreadBytes, 0)
  assert.deepEqual(subscriber.payloads, ['0', '1', '2', '3', '4', '5'])
  assert.deepEqual(acksOf(publisher), ['puback 1', 'puback 3', 'puback 4', 'puback 5'])
  const reconnected = await stage.client('offline', durable5)
  assert.deepEqual(reconnected.payloads, ['0', '1', '3', '5'])
})

test('reading from a 3.x client that is ahead of a slow disk pauses until half of its messages are acknowledged', async (context) => {
  const stage = new ShardStage(context, { core: { receiveMaximum: 4 } })
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher')
  stage.store.isHeld = true
  for (let packetId = 1; packetId <= 12; packetId++)
    publisher.publish({ topic: 'kept', payload: `${packetId}`, qos: 1, packetId })
  await stage.turns()
  assert.equal(publisher.stream.isPaused, true)
  for (let round = 0; round < 12; round++) {
    stage.store.release()
    await stage.turns()
  }
  assert.equal(publisher.stream.isPaused, false)
  assert.deepEqual(
    publisher.of('puback').map(({ packetId }) => packetId),
    Array.from({ length: 12 }, (_, index) => index + 1),
  )
})

test('a connection is closed after its deferred acknowledgements are sent', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher', { version: 5 })
  stage.store.isHeld = true
  publisher.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 1 })
  // [MQTT5-3.1.0-2] A second CONNECT.
  publisher.connect('publisher')
  await stage.turns()
  assert.deepEqual([publisher.stream.isEnded, publisher.types], [false, ['connack']])
  stage.store.isHeld = false
  stage.store.release()
  await stage.turns()
  assert.deepEqual([publisher.stream.isClosed, publisher.types], [true, ['connack', 'puback', 'disconnect']])
})

test('a queue is read when earlier batches are durable', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher')
  stage.store.isHeld = true
  publisher.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 1 })
  await stage.turns()
  const reconnected = stage.unauthenticated(5)
  reconnected.connect('offline', durable5)
  await stage.turns()
  assert.deepEqual([stage.store.queueReads.length, reconnected.types], [0, []])
  stage.store.isHeld = false
  stage.store.release()
  await stage.turns()
  assert.ok(stage.store.queueReads.length > 0)
  assert.deepEqual(reconnected.types, ['connack', 'publish'])
  assert.deepEqual(reconnected.payloads, ['x'])
})

test('a 3.1.1 client with a persistent session gets CONNACK and SUBACK when session and subscription are durable', async (context) => {
  const stage = new ShardStage(context)
  stage.store.isHeld = true
  const client = stage.unauthenticated(4)
  client.connect('durable', durable4)
  await stage.turns()
  assert.deepEqual(client.types, [])
  stage.store.release()
  await stage.turns()
  assert.deepEqual(client.types, ['connack'])
  client.subscribe([{ filter: 'a' }])
  await stage.turns()
  assert.deepEqual(client.types, ['connack'])
  stage.store.release()
  await stage.turns()
  assert.deepEqual(client.types, ['connack', 'suback'])
})

test('a disk failure that another shard has reported applies here too, without a commit, until the disk works', async (context) => {
  const stage = new ShardStage(context)
  await withOfflineClient(stage)
  const publisher = await stage.client('publisher', { version: 5 })
  stage.shard.commits.setTrouble('no space left on device')
  const before = stage.store.attempts.length
  publisher.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 1 })
  await stage.turns()
  assert.equal(stage.store.attempts.length, before)
  stage.shard.commits.setTrouble(undefined)
  publisher.publish({ topic: 'kept', payload: 'y', qos: 1, packetId: 2 })
  await stage.turns()
  assert.deepEqual(
    publisher.of('puback').map(({ packetId, reasonCode }) => [packetId, reasonCode]),
    [
      [1, reasonCodes.quotaExceeded],
      [2, reasonCodes.success],
    ],
  )
  assert.equal(stage.alarms.length, 2)
})
