// Commands of an administrator pass the same checks as packets of clients.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes, type TopicFilter } from '../../src/protocol/index.ts'
import type { Command } from '../../src/core/index.ts'
import { World } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const filter = 'a/+' as TopicFilter

function publication(parts: Partial<Extract<Command, { name: 'publish' }>> = {}): Command {
  return {
    name: 'publish',
    topic: 'a/b',
    payload: Buffer.from('x'),
    qos: 1,
    retain: false,
    properties: undefined,
    clientId: 'operator',
    ...parts,
  }
}

function drain(maxClients: number, isDraining = true): Command {
  return { name: 'drain', isDraining, maxClients }
}

describe('drain', () => {
  test('[MQTT5-3.14.2.1: 0x9C] disconnects clients in portions, refuses new ones, and keeps their sessions', () => {
    const world = new World({ shards: 1 })
    const clients = ['a', 'b', 'c'].map((id) => world.connect(id, { ...durable }))
    for (const client of clients) client.subscribe(filter)
    assert.deepEqual(world.command(drain(2)), { done: true, matched: 1 })
    assert.equal(clients.filter(({ isConnected }) => isConnected).length, 1)
    const refused = world.client('d', { ...durable })
    refused.connect()
    assert.equal(refused.connack?.reasonCode, reasonCodes.useAnotherServer)
    assert.deepEqual(world.command(drain(2)), { done: true, matched: 0 })
    assert.deepEqual(world.command(publication()), { done: true, matched: 3 })
    assert.deepEqual(world.command(drain(0, false)), { done: true, matched: 0 })
    const [first] = clients
    first?.connect()
    assert.deepEqual(
      first?.messages.map(({ payload }) => payload),
      ['x'],
    )
  })

  test('a restart ends it', () => {
    const world = new World({ shards: 1 })
    world.command(drain(1))
    world.restart()
    assert.equal(world.connect('a').isConnected, true)
  })
})

describe('publish', () => {
  test('reaches subscribers, connected or not, with its properties, and returns their number', () => {
    const world = new World()
    const live = world.subscriber(filter)
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe(filter)
    offlineClient.disconnect()
    const properties = { contentType: 'text/plain', messageExpiryIntervalSeconds: 60 }
    assert.deepEqual(world.command(publication({ properties })), { done: true, matched: 2 })
    world.passSeconds(10)
    offlineClient.connect()
    assert.equal(live.messages[0]?.properties?.contentType, 'text/plain')
    assert.equal(offlineClient.messages[0]?.properties?.messageExpiryIntervalSeconds, 50)
  })

  test('below $SYS retains the message in memory only, until the broker stops', () => {
    const world = new World()
    const own = publication({ topic: '$SYS/brokers', qos: 0, retain: true, isOfBroker: true })
    assert.deepEqual(world.command(own), { done: true, matched: 0 })
    assert.deepEqual(world.subscriber('$SYS/#').payloads, ['x'])
    assert.deepEqual(
      world.records().filter(({ kind }) => kind === 'retained'),
      [],
    )
    world.restart()
    assert.deepEqual(world.subscriber('$SYS/#').payloads, [])
  })

  test('stores a retained message with the retain flag, and deletes it with an empty payload', () => {
    const world = new World()
    world.command(publication({ retain: true }))
    assert.deepEqual(world.subscriber(filter).payloads, ['x'])
    world.command(publication({ retain: true, payload: Buffer.alloc(0) }))
    assert.deepEqual(world.subscriber(filter).payloads, [])
  })

  test('to topics of the broker is refused, also delayed and in a namespace, unless the broker publishes', () => {
    const world = new World()
    const roots = [
      '$SYS',
      '$SYS/x',
      '$event/x',
      '$events/x',
      '$bridge/x',
      '$bridges/mqtt:a/x',
      '$share/g/x',
      '$queue/x',
    ]
    const topics = roots.flatMap((name) => [
      name,
      `$delayed/1/${name}`,
      `$ns/plant/${name}`,
      `$delayed/1/$ns/plant/${name}`,
    ])
    for (const topic of topics) {
      const refused = { done: false, why: 'invalid-topic' }
      assert.deepEqual(world.command(publication({ topic })), refused, topic)
      assert.deepEqual(world.command(publication({ topic: 'a', furtherTopics: [topic] })), refused, topic)
    }
    world.passSeconds(5)
    assert.equal(world.view.retainedMessages, 0)
  })

  test('to an invalid topic name is refused', () => {
    const world = new World()
    for (const topic of ['', 'a/#', 'a\0b'])
      assert.deepEqual(world.command(publication({ topic })), { done: false, why: 'invalid-topic' })
  })
})

describe('kick', () => {
  test('closes the connection with 0x98 and publishes the will; a persistent session stays', () => {
    const world = new World()
    const willSubscriber = world.subscriber('wills')
    const client = world.connect('me', { ...durable, will: { topic: 'wills', payload: 'gone' } })
    assert.deepEqual(world.command({ name: 'kick', clientId: 'me' }), { done: true, matched: 1 })
    assert.equal(client.disconnected?.reasonCode, reasonCodes.administrativeAction)
    assert.equal(client.hasOpenConnection, false)
    assert.deepEqual(willSubscriber.payloads, ['gone'])
    assert.equal(client.connect()?.sessionPresent, true)
  })

  test('of an unknown client returns that reason', () => {
    const world = new World()
    world.connect('offline', { ...durable }).disconnect()
    for (const clientId of ['nobody', 'offline'])
      assert.deepEqual(world.command({ name: 'kick', clientId }), { done: false, why: 'no-such-client' })
  })
})

describe('subscribe and unsubscribe', () => {
  test('apply to a connected client, with retained messages', () => {
    const world = new World()
    world.publish('a/b', 'kept', { retain: true })
    const client = world.connect('me')
    assert.deepEqual(world.command({ name: 'subscribe', clientId: 'me', filter, qos: 1 }), { done: true, matched: 1 })
    world.publish('a/c', 'live', { qos: 2 })
    assert.deepEqual(
      client.messages.map(({ payload, qos }) => [payload, qos]),
      [
        ['kept', 0],
        ['live', 1],
      ],
    )
    assert.deepEqual(world.command({ name: 'unsubscribe', clientId: 'me', filter }), { done: true, matched: 1 })
    world.publish('a/c', 'more')
    assert.equal(client.messages.length, 2)
    assert.deepEqual(world.command({ name: 'unsubscribe', clientId: 'me', filter }), { done: true, matched: 0 })
  })

  test('apply to a disconnected client, also after a restart', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.disconnect()
    world.command({ name: 'subscribe', clientId: 'offline', filter, qos: 1 })
    world.restart('power-loss')
    world.publish('a/c', 'x', { qos: 1 })
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['x'])
  })

  test('for unknown clients return that reason', () => {
    const world = new World()
    const clientId = 'nobody'
    assert.deepEqual(world.command({ name: 'subscribe', clientId, filter, qos: 1 }), {
      done: false,
      why: 'no-such-client',
    })
    assert.deepEqual(world.command({ name: 'unsubscribe', clientId, filter }), { done: false, why: 'no-such-client' })
  })
})
