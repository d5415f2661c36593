// A mount point: clients of a listener use a part of the topic tree as if it were the whole tree.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client, type ConnectOptions, type WorldOptions } from '../simulator/world.ts'
import { Rulebook } from './denied-actions.ts'

/** Returns a client of a listener with this mount point; '' for none. */
function through(world: World, mountpoint: string, id: string, options: ConnectOptions = {}): Client {
  world.host.traits.listener = { mountpoint }
  const client = world.client(id, options)
  client.connect()
  world.host.traits.listener = {}
  return client
}

function inside(mountpoint: string, options: WorldOptions = {}): { world: World; client: Client; all: Client } {
  const world = new World(options)
  const client = through(world, mountpoint, 'inside')
  const all = world.subscriber('#', { qos: 2 })
  return { world, client, all }
}

const topicsOf = (client: Client): string[] => client.messages.map(({ topic }) => topic)

describe('a mount point', () => {
  for (const version of [4, 5] as const) {
    test(`is added to the topics that its clients publish, and others see it (version ${version})`, () => {
      const world = new World()
      const all = world.subscriber('#', { qos: 2, version })
      const client = through(world, 'site/', 'inside', { version })
      for (const qos of [0, 1, 2] as const) client.publish('lamp', `at ${qos}`, { qos })
      assert.deepEqual(topicsOf(all), ['site/lamp', 'site/lamp', 'site/lamp'])
      assert.deepEqual(all.payloads, ['at 0', 'at 1', 'at 2'])
    })

    test(`is removed from topics of messages to its clients (version ${version})`, () => {
      const world = new World()
      const client = through(world, 'site/', 'inside', { version })
      const other = through(world, 'site/', 'other', { version })
      client.subscribe('#', { qos: 2 })
      for (const qos of [0, 1, 2] as const) other.publish('lamp', `at ${qos}`, { qos })
      world.publish('site/door', 'from outside', { version })
      world.publish('elsewhere', 'not for it', { version })
      assert.deepEqual(topicsOf(client), ['lamp', 'lamp', 'lamp', 'door'])
      assert.deepEqual(client.payloads, ['at 0', 'at 1', 'at 2', 'from outside'])
    })
  }

  test('applies to UNSUBSCRIBE, shared subscriptions and topic aliases, too', () => {
    const { world, client } = inside('site/')
    assert.equal(client.subscribe(['a', '$share/group/b'])?.reasonCodes.length, 2)
    assert.deepEqual([...world.view.findSubscriptions('inside').keys()], ['site/a', '$share/group/site/b'])
    world.publish('site/b', 'shared')
    assert.deepEqual(topicsOf(client), ['b'])
    assert.deepEqual(client.unsubscribe(['a', '$share/group/b', 'c'])?.reasonCodes, [0, 0, 0x11])
    const aliased = through(world, 'site/', 'aliased', { topicAliasMaximum: 5 })
    aliased.subscribe('x')
    for (const payload of ['1', '2', '3']) world.publish('site/x', payload)
    assert.deepEqual(topicsOf(aliased), ['x', 'x', 'x'])
  })

  test('is part of the topics of retained messages', () => {
    const { world, client } = inside('site/')
    client.publish('lamp', 'on', { retain: true, qos: 1 })
    const outside = world.subscriber('site/+')
    assert.deepEqual(topicsOf(outside), ['site/lamp'])
    client.subscribe('#')
    assert.deepEqual(topicsOf(client), ['lamp'])
  })

  test('is added to the topics of wills', () => {
    const world = new World()
    const all = world.subscriber('#')
    through(world, 'site/', 'inside', { will: { topic: 'w', payload: 'gone' } }).drop()
    assert.deepEqual(topicsOf(all), ['site/w'])
  })

  test('is not added to response topics, which belong to the clients', () => {
    const { client, all } = inside('site/')
    client.publish('request', '?', { properties: { responseTopic: 'responses/1' } })
    assert.equal(all.messages[0]?.properties?.responseTopic, 'responses/1')
  })

  test('keeps the subscriptions and messages of a persistent session, also after a restart', () => {
    const world = new World()
    const client = through(world, 'site/', 'inside', { cleanStart: false, sessionExpirySeconds: 3_600 })
    client.subscribe('lamp', { qos: 1 })
    client.disconnect()
    world.publish('site/lamp', '1', { qos: 1 })
    world.restart()
    world.publish('site/lamp', '2', { qos: 1 })
    world.host.traits.listener = { mountpoint: 'site/' }
    client.connect()
    assert.deepEqual(topicsOf(client), ['lamp', 'lamp'])
    assert.deepEqual(client.payloads, ['1', '2'])
  })

  test('permissions are checked for topics as the client names them', () => {
    const rulebook = new Rulebook(
      { action: 'publish', clientId: 'inside', topic: 'secret' },
      { action: 'receive', clientId: 'inside', topic: 'hidden' },
      { action: 'subscribe', clientId: 'inside', topic: 'closed' },
    )
    const { world, client, all } = inside('site/', { host: { permissions: rulebook } })
    assert.equal(client.publish('secret', 'x', { qos: 1 }).reasonCode, reasonCodes.notAuthorized)
    assert.equal(client.subscribe(['closed', '#'])?.reasonCodes[0], reasonCodes.notAuthorized)
    world.publish('site/hidden', 'x')
    world.publish('site/open', 'y')
    assert.deepEqual(topicsOf(client), ['open'])
    assert.deepEqual(topicsOf(all), ['site/hidden', 'site/open'])
  })
})

describe('whether a message may still be delivered is checked for the topic that its publisher used', () => {
  const secret = { action: 'remain', clientId: 'inside', topic: 'secret' } as const

  for (const restarts of [false, true]) {
    test(`of retained messages, for any subscriber (${restarts ? 'after a restart' : 'at once'})`, () => {
      const rulebook = new Rulebook()
      const world = new World({ host: { permissions: rulebook } })
      const client = through(world, 'site/', 'inside')
      for (const topic of ['secret', 'open']) client.publish(topic, topic, { retain: true, qos: 1 })
      world.connect('outside').publish('secret', 'of another', { retain: true, qos: 1 })
      if (restarts) world.restart()
      rulebook.change(world, secret, { action: 'remain', clientId: 'outside', topic: 'site/secret' })
      assert.deepEqual(world.subscriber('#').payloads.toSorted(), ['of another', 'open'])
      for (const mountpoint of ['site/', 'si']) {
        const reader = through(world, mountpoint, `reader-${mountpoint}`)
        reader.subscribe(mountpoint === 'si' ? 'te/#' : '#')
        assert.ok(reader.payloads.includes('open') && !reader.payloads.includes('secret'), mountpoint)
      }
    })
  }

  test('of the will of a client that a crash has disconnected', () => {
    const rulebook = new Rulebook(secret)
    const world = new World({ host: { permissions: rulebook } })
    through(world, 'site/', 'inside', { will: { topic: 'secret', payload: 'w', retain: true } })
    world.restart()
    const willSubscriber = world.subscriber('#')
    world.passSeconds(120)
    assert.deepEqual(willSubscriber.payloads, [])
    assert.equal(world.view.counts.dropped['not-allowed'], 1)
  })
})

test('after a reconnect with another mount point, permissions are checked for the new names of topics', () => {
  const world = new World({ host: { permissions: new Rulebook({ action: 'receive', topic: 'site/lamp' }) } })
  const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
  const client = through(world, 'site/', 'inside', durable)
  client.subscribe('lamp', { qos: 1 })
  world.publish('site/lamp', '1', { qos: 1 })
  client.disconnect()
  client.connect()
  world.publish('site/lamp', '2', { qos: 1 })
  assert.deepEqual(client.payloads, ['1'])
})

describe('a mount point with placeholders', () => {
  test('may have the client ID and the user name', () => {
    const world = new World()
    const all = world.subscriber('#')
    through(world, '${username}/${clientid}/', 'device-7', { username: 'plant' }).publish('t', 'x')
    assert.deepEqual(topicsOf(all), ['plant/device-7/t'])
  })

  for (const id of ['a/b', 'a+', '#', '+']) {
    test(`refuses the client ID ${id}, which would leave it`, () => {
      for (const [version, code] of [
        [5, reasonCodes.clientIdentifierNotValid],
        [4, 2],
      ] as const) {
        const client = through(new World(), 'clients/${clientid}/', id, { version })
        assert.equal(client.connack?.reasonCode, code)
        assert.equal(client.isConnected, false)
      }
    })
  }

  test('refuses a client without the user name that it needs', () => {
    const client = through(new World(), '${username}/', 'nameless')
    assert.equal(client.connack?.reasonCode, reasonCodes.badUserNameOrPassword)
  })

  test('refuses a client whose will topic is too long with it', () => {
    for (const [version, code] of [
      [5, reasonCodes.topicNameInvalid],
      [4, 3],
    ] as const) {
      const will = { topic: 't'.repeat(65_000), payload: 'gone' }
      const client = through(new World(), 'm'.repeat(1_000), 'will-client', { version, will })
      assert.equal(client.connack?.reasonCode, code)
      assert.equal(client.isConnected, false)
    }
  })

  test('refuses a topic or filter that is too long with it, without cutting it', () => {
    const { client } = inside('m'.repeat(1_000))
    const long = 't'.repeat(65_000)
    assert.equal(client.subscribe(long)?.reasonCodes[0], reasonCodes.topicFilterInvalid)
    client.publish(long, 'x')
    assert.equal(client.disconnected?.reasonCode, reasonCodes.topicNameInvalid)
  })
})
