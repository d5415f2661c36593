// Several shards share the listeners of a node: whichever accepts a client, its owner shard serves it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonCodes, type ConnackPacket, type DisconnectPacket } from '../../src/protocol/index.ts'
import { encode, encodePublish } from '../simulator/wire.ts'
import { FakeStream } from './fake-stream.ts'
import { LinkedShards } from './linked-shards.ts'
import { listener, TestClient } from './stage.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

const connectionsOf = (shards: LinkedShards): number[] => shards.stages.map(({ shard }) => shard.connections)
const reasonOf = (client: TestClient): number | undefined =>
  (client.last as ConnackPacket | DisconnectPacket | undefined)?.reasonCode

const durable = { version: 5, cleanStart: false, properties: { sessionExpiryIntervalSeconds: 1_000 } } as const

test('the owner shard serves a client, whichever shard has its socket', async (context) => {
  const shards = await LinkedShards.of(context, 3)
  for (const acceptedBy of [0, 1, 2]) {
    for (const home of [0, 1, 2]) {
      const clientId = shards.idOf(home, `from-${acceptedBy}`)
      const client = await shards.subscriber(acceptedBy, clientId, `news/${clientId}`)
      client.publish({ topic: `news/${clientId}`, payload: 'mine', qos: 1, packetId: 1 })
      await shards.turns()
      assert.deepEqual(
        [client.types.toSorted(), client.payloads],
        [['connack', 'puback', 'publish', 'suback'], ['mine']],
      )
    }
  }
  assert.deepEqual(connectionsOf(shards), [3, 3, 3])
  assert.deepEqual(shards.counters('connectionsOpen'), [3, 3, 3])
  assert.deepEqual(shards.counters('connectionsAccepted'), [3, 3, 3])
})

test('the bytes of a client may be split anywhere, before and after its owner is known', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const clientId = shards.idOf(1)
  const whole = shards.stages[0].unauthenticated()
  const bytes = Buffer.concat([connectOf(clientId), subscribeTo('a'), encodePublish({ topic: 'a', payload: 'x' }, 4)])
  for (let at = 1; at < bytes.length; at++) {
    const client = shards.stages[0].unauthenticated()
    client.stream.arrive(bytes.subarray(0, at))
    await shards.turns(6)
    client.stream.arrive(bytes.subarray(at))
    await shards.turns(12)
    assert.deepEqual(client.payloads, ['x'], `split at ${at}`)
  }
  for (const byte of bytes) whole.stream.arrive(Buffer.from([byte]))
  await shards.turns()
  assert.deepEqual(whole.payloads, ['x'])
})

function connectOf(clientId: string): Buffer {
  return encode(plainConnect(4, clientId), 4)
}

function subscribeTo(filter: string): Buffer {
  const options = { qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  return encode(
    { type: 'subscribe', packetId: 1, subscriptions: [{ filter: filter as never, ...options }], properties: undefined },
    4,
  )
}

test('[MQTT-3.1.4-2] [MQTT5-3.1.4-3] a client that connects to another shard takes over its session', async (context) => {
  const shards = await LinkedShards.of(context, 3)
  const clientId = shards.idOf(2)
  const first = await shards.client(0, clientId, { version: 5 })
  const second = await shards.client(1, clientId, { version: 5 })
  assert.deepEqual([reasonOf(first), first.stream.isClosed], [reasonCodes.sessionTakenOver, true])
  assert.deepEqual([second.types, second.stream.isClosed], [['connack'], false])
  assert.deepEqual(connectionsOf(shards), [0, 0, 1])
})

test('a persistent session is resumed through the socket of another shard', async (context) => {
  const shards = await LinkedShards.of(context, 3)
  const clientId = shards.idOf(1)
  const first = await shards.client(0, clientId, durable)
  first.send({ type: 'disconnect', reasonCode: 0, properties: undefined })
  await shards.turns()
  const second = await shards.client(2, clientId, durable)
  assert.equal((second.last as ConnackPacket).sessionPresent, true)
})

test('a client without a client ID stays on the shard that accepted it', async (context) => {
  const shards = await LinkedShards.of(context, 3)
  for (const acceptedBy of [0, 1, 2]) await shards.client(acceptedBy, '')
  assert.deepEqual(connectionsOf(shards), [1, 1, 1])
})

test('a client with a client ID from its certificate is served by the shard of that ID', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const through = { ...listener, peerCertificateAsClientId: 'cn' } as const
  const certificate = {
    commonName: shards.idOf(1),
    subject: '',
    serialNumber: '',
    fingerprint: '',
    der: new Uint8Array(),
  }
  const client = new TestClient(new FakeStream(), 4)
  const stream = Object.assign(client.stream, { credentials: { certificate, pskIdentity: undefined } })
  shards.stages[0].shard.accept(stream, through)
  client.connect(shards.idOf(0))
  await shards.turns()
  assert.deepEqual(connectionsOf(shards), [0, 1])
})

test('a client whose listener is closed before it reaches its owner shard is disconnected', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const client = shards.stages[0].unauthenticated(4, { ...listener, number: listener.number + 1 })
  client.connect(shards.idOf(1))
  await shards.turns()
  assert.deepEqual([client.types, client.stream.isClosed], [[], true])
  assert.deepEqual(connectionsOf(shards), [0, 0])
})

test('a first packet that is not CONNECT is refused by the shard that accepted it', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const unauthenticated = shards.stages[0].unauthenticated()
  unauthenticated.stream.arrive(Buffer.from([0xc0, 0]))
  const unknownLevel = shards.stages[0].unauthenticated()
  unknownLevel.stream.arrive(Buffer.from([0x10, 12, 0, 4, 77, 81, 84, 84, 9, 2, 0, 0, 0, 0]))
  await shards.turns()
  assert.deepEqual([unauthenticated.types, unauthenticated.stream.isClosed], [[], true])
  assert.deepEqual([unknownLevel.types, reasonOf(unknownLevel), unknownLevel.stream.isClosed], [['connack'], 1, true])
  assert.deepEqual(connectionsOf(shards), [0, 0])
})

test('the accepting shard disconnects a client without CONNECT after the timeout', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const unauthenticated = shards.stages[0].unauthenticated()
  unauthenticated.stream.arrive(connectOf(shards.idOf(1)).subarray(0, 5))
  await shards.stages[0].passMs(15_001)
  assert.equal(unauthenticated.stream.isClosed, true)
})

test('while the owner shard of a client is unavailable, CONNACK tells that it may retry', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  await shards.kill(1)
  const late5 = await shards.client(0, shards.idOf(1), { version: 5 })
  const late4 = await shards.client(0, shards.idOf(1), { version: 4 })
  assert.deepEqual([late5.types, reasonOf(late5), late5.stream.isClosed], [['connack'], 0x88, true])
  assert.deepEqual([late4.types, reasonOf(late4), late4.stream.isClosed], [['connack'], 3, true])
  const own = await shards.client(0, shards.idOf(0))
  assert.deepEqual([own.types, own.stream.isClosed], [['connack'], false])
  assert.deepEqual(connectionsOf(shards), [1, 0])
})

test('if a shard fails, its clients are disconnected at every listener, and the others stay', async (context) => {
  const shards = await LinkedShards.of(context, 3)
  const lost = await shards.client(0, shards.idOf(1))
  const cut = await shards.client(1, shards.idOf(2))
  const kept = await shards.client(0, shards.idOf(2))
  await shards.kill(1)
  assert.deepEqual([lost.stream.isClosed, kept.stream.isClosed], [true, false])
  assert.equal(shards.stages[2].shard.connections, 1)
  assert.equal(cut.types.length, 1)
  await shards.restart(1)
  const back = await shards.client(0, shards.idOf(1))
  assert.deepEqual([back.types, back.stream.isClosed], [['connack'], false])
})

test('a shard that is linked again before its failure was reported leaves first and joins then', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const old = await shards.client(0, shards.idOf(1))
  shards.connect(0, 1)
  await shards.turns()
  assert.equal(old.stream.isClosed, true)
  const next = await shards.client(0, shards.idOf(1))
  assert.deepEqual([next.types, next.stream.isClosed], [['connack'], false])
})

test('clients that connect before their shard accepts clients are accepted when it does', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  await shards.kill(1)
  await shards.restart(1, { acceptsClients: false })
  const client = await shards.client(0, shards.idOf(1))
  client.subscribe([{ filter: 'a', qos: 0 }])
  await shards.turns()
  assert.deepEqual([client.types, client.stream.isClosed], [[], false])
  shards.stages[1].shard.acceptClients()
  await shards.turns()
  assert.deepEqual(client.types, ['connack', 'suback'])
})

test('a relayed client that does not read has the limits of a local one on its owner shard, and delays no other client', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const slow = await shards.subscriber(0, shards.idOf(1, 'slow'), 'a')
  const quick = await shards.subscriber(0, shards.idOf(1, 'quick'), 'a')
  const publisher = await shards.client(1, shards.idOf(1, 'publisher'))
  slow.stream.isStalled = true
  for (let round = 0; round < 50; round++) {
    publisher.publish(...Array.from({ length: 50 }, () => ({ topic: 'a', payload: Buffer.alloc(1_000) })))
    await shards.turns(8)
  }
  assert.equal(quick.payloads.length, 2_500)
  assert.ok(slow.stream.waitingBytes < 2 << 20)
  assert.ok(shards.stages[1].counter('unsentBytes') < 3 << 20)
  assert.ok(shards.stages[1].counter('messagesDropped') > 0)
})

test('a relayed publisher is read no faster than its shard processes it', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const publisher = await shards.client(0, shards.idOf(1), { version: 5, properties: { receiveMaximum: 10 } })
  for (let round = 0; round < 200; round++) {
    publisher.publish(...Array.from({ length: 100 }, () => ({ topic: 'a', payload: Buffer.alloc(1_000) })))
  }
  await shards.turns(400)
  assert.equal(shards.stages[1].counter('messagesReceived'), 20_000)
  assert.equal(publisher.stream.isPaused, false)
})

test('[MQTT5-3.14: 0x8B] when the node stops, relayed clients get DISCONNECT like others', async (context) => {
  const shards = await LinkedShards.of(context, 3)
  const clients = []
  for (const acceptedBy of [0, 1, 2]) {
    for (const home of [0, 1, 2])
      clients.push(await shards.client(acceptedBy, shards.idOf(home, `from-${acceptedBy}`), { version: 5 }))
  }
  let stopped = 0
  for (const { shard } of shards.stages) void shard.stop(3_000).then(() => stopped++)
  await shards.turns(100)
  assert.deepEqual(
    clients.map((client) => [reasonOf(client), client.stream.isClosed]),
    clients.map(() => [reasonCodes.serverShuttingDown, true]),
  )
  assert.equal(stopped, 3)
})

test('a shard stops only after the sockets that it has for other shards are closed', async (context) => {
  const shards = await LinkedShards.of(context, 2)
  const client = await shards.client(0, shards.idOf(1), { version: 5 })
  let isStopped = false
  const stopped = shards.stages[0].shard.stop(3_000).then(() => (isStopped = true))
  await shards.turns()
  assert.deepEqual([isStopped, client.stream.isClosed], [false, false])
  void shards.stages[1].shard.stop(3_000)
  await shards.turns()
  await stopped
  assert.equal(reasonOf(client), reasonCodes.serverShuttingDown)
})
