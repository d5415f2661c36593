// The start and end of connections and of a shard, and the state after a restart.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultAccessSettings } from '../../src/access/index.ts'
import { defaultCoreSettings } from '../core/default-settings.ts'
import { reasonCodes, type ConnackPacket, type DisconnectPacket } from '../../src/protocol/index.ts'
import { readClock } from '../../src/shard/store/restore-records.ts'
import { encode } from '../simulator/wire.ts'
import { HeldStore } from './held-store.ts'
import { listener, ShardStage, type TestClient } from './stage.ts'

const durable5 = { version: 5, cleanStart: false, properties: { sessionExpiryIntervalSeconds: 1_000 } } as const
const durable4 = { version: 4, cleanStart: false } as const

const endOf = (client: TestClient) => ({ isClosed: client.stream.isClosed, types: client.types })
const reasonOf = (client: TestClient): number | undefined =>
  (client.last as ConnackPacket | DisconnectPacket | undefined)?.reasonCode

const connectOfLevel = (level: number): Buffer => Buffer.from([0x10, 12, 0, 4, 77, 81, 84, 84, level, 2, 0, 0, 0, 0])

test('[MQTT-3.1.2-2] an unknown protocol level gets CONNACK with return code 1', async (context) => {
  const stage = new ShardStage(context)
  const client = stage.unauthenticated(4)
  client.stream.arrive(connectOfLevel(9))
  await stage.turns()
  assert.deepEqual([endOf(client), reasonOf(client)], [{ isClosed: true, types: ['connack'] }, 1])
})

test('[MQTT-3.1.0-1] a connection whose first packet is not CONNECT is closed without a response', async (context) => {
  const stage = new ShardStage(context)
  for (const bytes of [[0xc0, 0], [0x30, 3, 0, 1, 97], [0xff], [0x00]]) {
    const client = stage.unauthenticated(4)
    client.stream.arrive(Buffer.from(bytes))
    // Further packets are neither processed nor acknowledged.
    client.stream.arrive(encode({ type: 'pingreq' }, 4))
    await stage.turns()
    assert.deepEqual(endOf(client), { isClosed: true, types: [] })
  }
  assert.equal(stage.shard.connections, 0)
})

test('an invalid packet ends the connection, and a client of 5.0 gets the reason', async (context) => {
  const malformed = Buffer.from([0x36, 3, 0, 1, 97])
  const endless = Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])
  for (const [bytes, reason] of [
    [malformed, reasonCodes.malformedPacket],
    [endless, reasonCodes.packetTooLarge],
  ] as const) {
    const stage = new ShardStage(context)
    const modern = await stage.client('modern', { version: 5 })
    const old = await stage.client('old', { version: 4 })
    for (const client of [modern, old]) {
      client.stream.arrive(Buffer.concat([encode({ type: 'pingreq' }, 4), bytes]))
      client.stream.arrive(encode({ type: 'pingreq' }, 4))
    }
    await stage.turns()
    assert.deepEqual(endOf(modern), { isClosed: true, types: ['connack', 'pingresp', 'disconnect'] })
    assert.equal(reasonOf(modern), reason)
    assert.deepEqual(endOf(old), { isClosed: true, types: ['connack', 'pingresp'] })
    context.mock.timers.reset()
  }
})

test('anonymous clients are accepted on loopback listeners by default', async (context) => {
  for (const [allowAnonymous, isLoopback, isLetIn] of [
    [undefined, true, true],
    [undefined, false, false],
    [true, false, true],
    [false, true, false],
  ] as const) {
    const stage = new ShardStage(context, { start: { access: { ...defaultAccessSettings, allowAnonymous } } })
    for (const version of [4, 5] as const) {
      const client = stage.unauthenticated(version, { ...listener, isLoopback })
      client.connect('guest')
      await stage.turns()
      assert.equal(client.stream.isClosed, !isLetIn)
      assert.equal(reasonOf(client), isLetIn ? 0 : version === 5 ? reasonCodes.notAuthorized : 5)
    }
    context.mock.timers.reset()
  }
})

test('a connection without CONNECT is closed after the timeout', async (context) => {
  const stage = new ShardStage(context, { core: { idleTimeoutMs: 5_000 } })
  const silent = stage.unauthenticated()
  await stage.passMs(4_900)
  assert.equal(silent.stream.isClosed, false)
  await stage.passMs(200)
  assert.equal(silent.stream.isClosed, true)
})

test('after a pause of the process, received packets are handled before the elapsed time', async (context) => {
  const stage = new ShardStage(context)
  const client = await stage.client('client', { keepAliveSeconds: 10 })
  const silent = await stage.client('silent', { keepAliveSeconds: 10 })
  stage.clock.now += 60_000
  // The event loop runs timers first, then reads.
  context.mock.timers.tick(60_000)
  client.send({ type: 'pingreq' })
  await stage.turns()
  assert.deepEqual(endOf(client), { isClosed: false, types: ['connack', 'pingresp'] })
  assert.equal(silent.stream.isClosed, true)
  await stage.passMs(15_100)
  assert.equal(client.stream.isClosed, true)
})

test('a client whose packet arrives more slowly than its keep alive is served, and one that stops within a packet is not', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('listener', 'a')
  const slow = await stage.client('slow', { keepAliveSeconds: 10 })
  const packet = Buffer.from([0x30, 0x05, 0x00, 0x01, 0x61, 0x68, 0x69])
  for (const byte of packet) {
    await stage.passMs(14_000)
    slow.stream.arrive(Buffer.from([byte]))
  }
  await stage.turns()
  assert.deepEqual(subscriber.payloads, ['hi'])
  slow.stream.arrive(packet.subarray(0, 3))
  await stage.passMs(14_000)
  assert.equal(slow.stream.isClosed, false)
  await stage.passMs(1_100)
  assert.equal(slow.stream.isClosed, true)
})

test('a connection with a client ID in use takes over, and the older connection gets the reason', async (context) => {
  const stage = new ShardStage(context)
  const first = await stage.client('same', { version: 5 })
  const second = await stage.client('same', { version: 5 })
  assert.equal(reasonOf(first), reasonCodes.sessionTakenOver)
  assert.equal(first.stream.isClosed, true)
  assert.deepEqual(endOf(second), { isClosed: false, types: ['connack'] })
  assert.equal(stage.shard.connections, 1)
})

test('a shard that stops disconnects its clients, commits all batches and ends every stream', async (context) => {
  const stage = new ShardStage(context)
  ;(await stage.subscriber('offline', 'kept', durable5)).stream.break()
  const modern = await stage.client('modern', { version: 5 })
  const old = await stage.client('old')
  const silent = stage.unauthenticated()
  stage.store.isHeld = true
  modern.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 1 })
  let isStopped = false
  const stopped = stage.shard.stop(3_000).then(() => (isStopped = true))
  await stage.turns()
  assert.deepEqual(modern.types, ['connack'], 'no packet may precede the deferred acknowledgement')
  assert.equal(isStopped, false)
  stage.store.isHeld = false
  stage.store.release()
  await stage.turns()
  await stopped
  assert.deepEqual(endOf(modern), { isClosed: true, types: ['connack', 'puback', 'disconnect'] })
  assert.equal(reasonOf(modern), reasonCodes.serverShuttingDown)
  assert.deepEqual(endOf(old), { isClosed: true, types: ['connack'] })
  assert.equal(silent.stream.isClosed, true)
  assert.equal(stage.shard.core.view.hasBatch, false)
})

test('a peer that does not close does not prevent the stop of a shard', async (context) => {
  const stage = new ShardStage(context)
  const stalled = await stage.subscriber('stalled', 'a')
  const publisher = await stage.client('publisher')
  stalled.stream.isStalled = true
  publisher.publish({ topic: 'a', payload: 'x' })
  await stage.turns()
  const stopped = stage.shard.stop(3_000)
  await stage.turns()
  assert.equal(stalled.stream.isClosed, false)
  await stage.passMs(3_000)
  await stopped
  assert.equal(stalled.stream.isClosed, true)
  assert.equal(stage.shard.writer.buffers.takenBytes, 0)
})

test('a restarted shard has its sessions, subscriptions, retained messages, queues and wills', async (context) => {
  const store = new HeldStore()
  const before = new ShardStage(context, { store })
  const will = { topic: 'wills/gone' as never, payload: Buffer.from('gone'), qos: 1, retain: false } as const
  const offlineClient = await before.subscriber('offline', 'kept/#', durable4)
  const willClient = await before.client('will-client', {
    ...durable5,
    will: { ...will, properties: { willDelayIntervalSeconds: 60 } },
  })
  const publisher = await before.client('publisher')
  offlineClient.stream.break()
  willClient.stream.break()
  await before.turns()
  publisher.publish(
    { topic: 'kept/1', payload: 'one', qos: 1, packetId: 1 },
    { topic: 'kept/2', payload: 'two', qos: 2, packetId: 2 },
    { topic: 'state', payload: 'retained', qos: 1, retain: true, packetId: 3 },
  )
  await before.turns()
  context.mock.timers.reset()

  const after = await ShardStage.restored(context, { store, nowMs: before.clock.now + 10_000 })
  assert.deepEqual(
    [after.shard.core.view.sessions, after.shard.core.view.retainedMessages, after.counter('sessionsStored')],
    [2, 1, 2],
  )
  const willSubscriber = await after.subscriber('will-subscriber', 'wills/#')
  const reader = await after.subscriber('reader', 'state')
  assert.deepEqual(
    reader.of('publish').map(({ retain }) => retain),
    [true],
  )
  const reconnected = await after.client('offline', durable4)
  assert.equal((reconnected.received[0] as ConnackPacket).sessionPresent, true)
  assert.deepEqual(reconnected.payloads, ['one', 'two'])
  const newPublisher = await after.client('publisher')
  newPublisher.publish({ topic: 'kept/3', payload: 'three' })
  await after.turns()
  assert.deepEqual(reconnected.payloads, ['one', 'two', 'three'], 'its subscription exists without a SUBSCRIBE')
  await after.passMs(61_000)
  assert.deepEqual(willSubscriber.payloads, ['gone'])
})

test('acknowledged messages survive a crash, and others are not acknowledged', async (context) => {
  const store = new HeldStore()
  const before = new ShardStage(context, { store })
  ;(await before.subscriber('offline', 'kept', durable4)).stream.break()
  const publisher = await before.client('publisher')
  publisher.publish({ topic: 'kept', payload: 'one', qos: 1, packetId: 1 })
  await before.turns()
  store.isHeld = true
  publisher.publish({ topic: 'kept', payload: 'two', qos: 1, packetId: 2 })
  await before.turns()
  assert.deepEqual(
    publisher.of('puback').map(({ packetId }) => packetId),
    [1],
  )
  // The process is killed: the second batch never reaches the disk.
  store.isHeld = false
  context.mock.timers.reset()
  const after = await ShardStage.restored(context, { store })
  const reconnected = await after.client('offline', durable4)
  assert.deepEqual(reconnected.payloads, ['one'])
})

test('the last known time is stored, in case the clock of the machine is set back', async (context) => {
  const stage = new ShardStage(context)
  assert.equal(await readClock(stage.store), 0)
  await stage.client('durable', durable4)
  const stopped = stage.shard.stop(1_000)
  await stage.turns()
  await stopped
  assert.equal(await readClock(stage.store), stage.clock.now)
})

test('a failed queue read is repeated, and no other client notices', async (context) => {
  const stage = new ShardStage(context)
  ;(await stage.subscriber('offline', 'kept', durable5)).stream.break()
  const publisher = await stage.client('publisher')
  publisher.publish({ topic: 'kept', payload: 'x', qos: 1, packetId: 1 })
  await stage.turns()
  stage.store.readsFail = true
  const reconnected = await stage.client('offline', durable5)
  await stage.passMs(100)
  await stage.passMs(200)
  assert.equal(stage.store.queueReads.length, 3)
  assert.deepEqual(reconnected.payloads, [])
  assert.match(stage.alarms[0], /could not be read: input\/output error/)
  publisher.publish({ topic: 'nobody', payload: 'x', qos: 1, packetId: 2 })
  await stage.turns()
  assert.equal(publisher.of('puback').length, 2)
  stage.store.readsFail = false
  await stage.passMs(400)
  assert.deepEqual(reconnected.payloads, ['x'])
})

test('counters have the received and sent packets and the open connections', async (context) => {
  const stage = new ShardStage(context)
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  const bytesBefore = stage.counter('bytesReceived')
  publisher.publish({ topic: 'a', payload: '12345' }, { topic: 'nobody', payload: '' })
  await stage.turns()
  assert.equal(stage.counter('connectionsAccepted'), 2)
  assert.equal(stage.counter('connectionsOpen'), 2)
  assert.equal(stage.counter('messagesReceived'), 2)
  assert.equal(stage.counter('messagesSent'), 1)
  assert.equal(stage.counter('packetsReceived'), 2 + 1 + 2)
  assert.equal(stage.counter('packetsSent'), 2 + 1 + 1)
  assert.equal(stage.counter('bytesReceived') - bytesBefore, 10 + 10)
  assert.equal(
    stage.counter('bytesSent'),
    [...subscriber.stream.taken, ...publisher.stream.taken].reduce((sum, { length }) => sum + length, 0),
  )
  subscriber.stream.break()
  await stage.turns()
  assert.equal(stage.counter('connectionsOpen'), 1)
})

test('new limits apply to new connections', async (context) => {
  const stage = new ShardStage(context)
  const core = { ...defaultCoreSettings, maxPacketBytes: 100 }
  const unchanged = {
    access: defaultAccessSettings,
    maxPropertyBytes: 1_024,
    logLevel: 'warn',
    maxConnections: 10,
  } as const
  stage.shard.changeSettings({ core, ...unchanged })
  const client = await stage.client('client', { version: 5 })
  client.publish({ topic: 'a', payload: 'x'.repeat(200) })
  await stage.turns()
  assert.equal(reasonOf(client), reasonCodes.packetTooLarge)
})
