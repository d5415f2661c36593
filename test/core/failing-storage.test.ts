// While the disk fails, acknowledgements that need it are delayed, and everything else continues.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { acksOf, persistentWire } from '../conformance/raw.ts'
import { World, type Client } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

/** Returns a world whose broker knows that its disk fails, with an offline session that subscribes to `a`. */
function failing(): { world: World; offlineClient: Client } {
  const world = new World({ shards: 1 })
  const offlineClient = world.connect('offline', { ...durable })
  offlineClient.subscribe('a')
  offlineClient.disconnect()
  const trigger = world.connect('trigger')
  world.disk.fail()
  trigger.publish('trigger', 'x', { qos: 1, retain: true })
  world.passSeconds(1)
  return { world, offlineClient }
}

test('a 5.0 client that publishes for a persistent session gets 0x97', () => {
  const { world, offlineClient } = failing()
  const author = world.connect('author')
  for (const qos of [1, 2] as const)
    assert.equal(author.publish('a', 'x', { qos }).reasonCode, reasonCodes.quotaExceeded)
  assert.equal(author.publish('b', 'x', { qos: 1, retain: true }).reasonCode, reasonCodes.quotaExceeded)
  world.disk.mend()
  world.passSeconds(2)
  assert.equal(author.publish('a', 'y', { qos: 1 }).reasonCode, 0)
  offlineClient.connect()
  assert.deepEqual(offlineClient.payloads, ['y'])
})

test('reading from a 3.1.1 client pauses until the disk works, and continues in order', () => {
  const { world, offlineClient } = failing()
  const live = world.subscriber('b')
  const author = world.connect('author', { version: 4 })
  const publications = ['1', '2', '3'].map((payload) => author.publish('a', payload, { qos: 1 }))
  const after = author.publish('b', 'after', { qos: 1 })
  world.passSeconds(10)
  assert.ok([...publications, after].every(({ isAcknowledged }) => !isAcknowledged))
  assert.deepEqual(live.payloads, [])
  world.disk.mend()
  world.passSeconds(2)
  assert.ok([...publications, after].every(({ isAcknowledged }) => isAcknowledged))
  assert.deepEqual(live.payloads, ['after'])
  offlineClient.connect()
  assert.deepEqual(offlineClient.payloads, ['1', '2', '3'])
})

test('[MQTT5-4.3.3-10] an accepted QoS 2 message that is sent again is not refused: its exchange is completed', () => {
  const world = new World()
  const wire = persistentWire(world, 5)
  const publication = { topic: 'a', payload: 'x', qos: 2, packetId: 7 } as const
  wire.sendPublish(publication)
  world.settle()
  world.disk.fail()
  world.connect('trigger').publish('trigger', 'x', { qos: 1, retain: true })
  world.passSeconds(1)
  wire.sendPublish({ ...publication, dup: true })
  world.settle()
  world.disk.mend()
  world.passSeconds(2)
  assert.deepEqual(
    acksOf(wire, 'pubrec').map(({ reasonCode }) => reasonCode),
    [reasonCodes.noMatchingSubscribers, reasonCodes.success],
  )
})

test('a paused client is not considered silent', () => {
  const { world } = failing()
  const author = world.connect('author', { version: 4, keepAliveSeconds: 10, pings: true })
  author.publish('a', 'x', { qos: 1 })
  world.passSeconds(100)
  assert.equal(author.hasOpenConnection, true)
})

test('clients without stored data are served as before', () => {
  const { world } = failing()
  const live = world.subscriber('c')
  const author = world.connect('author', { version: 4 })
  for (const qos of [0, 1, 2] as const) assert.equal(author.publish('c', `${qos}`, { qos }).isComplete, true)
  assert.deepEqual(live.payloads, ['0', '1', '2'])
})

test('a persistent session is refused with "server unavailable", a clean session is accepted', () => {
  const { world } = failing()
  assert.equal(world.client('new', { ...durable }).connect()?.reasonCode, reasonCodes.serverUnavailable)
  assert.equal(world.client('old', { version: 4, cleanStart: false }).connect()?.reasonCode, 3)
  assert.equal(world.client('clean', { version: 4 }).connect()?.reasonCode, 0)
})

test('a message that was accepted before the failure is acknowledged once it is durable, and not before', () => {
  const world = new World()
  const offlineClient = world.connect('offline', { ...durable })
  offlineClient.subscribe('a')
  offlineClient.disconnect()
  const author = world.connect('author')
  world.disk.fail()
  const early = author.publish('a', 'early', { qos: 1 })
  world.passSeconds(5)
  assert.equal(early.isAcknowledged, false)
  world.disk.mend()
  world.passSeconds(2)
  assert.equal(early.isAcknowledged, true)
  world.crash('power-loss')
  world.start()
  offlineClient.connect()
  assert.deepEqual(offlineClient.payloads, ['early'])
})

test('an administrator gets the reason, too', () => {
  const { world } = failing()
  const result = world.command({
    name: 'publish',
    topic: 'a',
    payload: Buffer.from('x'),
    qos: 1,
    retain: false,
    properties: undefined,
    clientId: 'operator',
  })
  assert.deepEqual(result, { done: false, why: 'storage-failing' })
})
