// Access is decided by the topic that results, whatever the client wrote: `$delayed/n/`, a mount point, a namespace, a rewrite rule.
// Each way in is combined with each of them.

/* oxlint-disable no-template-curly-in-string -- placeholders */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AccessRules } from '../../src/access/rules/access-rules.ts'
import { defaultAccessSettings } from '../../src/access/index.ts'
import type { NamespaceSettings } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client, type ConnectOptions } from '../simulator/world.ts'
import { identities, Rulebook, worldWith } from './denied-actions.ts'

/** How a client gets a message into the broker. Each returns whether the broker refused it at once. */
const waysIn: Record<string, (world: World, topic: string, options?: ConnectOptions) => boolean> = {
  'PUBLISH at QoS 0': (world, topic, options) => {
    open(world, options).publish(topic, 'x', { qos: 0 })
    return true
  },
  'PUBLISH at QoS 1': (world, topic, options) =>
    open(world, options).publish(topic, 'x', { qos: 1 }).reasonCode !== reasonCodes.success,
  'retained PUBLISH at QoS 2': (world, topic, options) =>
    open(world, options).publish(topic, 'x', { qos: 2, retain: true }).reasonCode !== reasonCodes.success,
  will: (world, topic, options) => openWithWill(world, { topic, payload: 'x' }, options),
  'retained will with a delay': (world, topic, options) =>
    openWithWill(world, { topic, payload: 'x', retain: true, properties: { willDelayIntervalSeconds: 1 } }, options),
}

function open(world: World, options: ConnectOptions = {}): Client {
  const client = world.client('author', { version: 5, ...options })
  client.connect()
  return client
}

function openWithWill(world: World, will: NonNullable<ConnectOptions['will']>, options: ConnectOptions = {}): boolean {
  const client = open(world, { ...options, will })
  const isRefused = !client.isConnected
  client.drop()
  return isRefused
}

const topicsOf = (client: Client): string[] => client.messages.map(({ topic }) => topic)

describe('a client that must not publish to `secret`', () => {
  for (const [way, publish] of Object.entries(waysIn)) {
    for (const wrapped of ['secret', '$delayed/0/secret', '$delayed/2/secret']) {
      test(`does not reach it by ${way} to ${wrapped}`, () => {
        const { world, rulebook } = worldWith([{ action: 'publish', topic: 'secret' }])
        const reader = world.subscriber('#')
        assert.equal(publish(world, wrapped), true, 'it is refused at once')
        world.passSeconds(10)
        assert.deepEqual(topicsOf(reader), [])
        assert.deepEqual(topicsOf(world.subscriber('secret')), [], 'nothing is retained')
        // The same is allowed with the right, so the test does not pass for another reason.
        rulebook.change(world)
        publish(world, wrapped)
        world.passSeconds(10)
        assert.deepEqual(topicsOf(reader), ['secret'])
      })

      test(`does not reach it by ${way} to ${wrapped} when a service decides`, () => {
        const rulebook = new Rulebook()
        let queried: string[] = []
        rulebook.rules = [{ action: 'publish', is: 'unknown' }]
        const world = new World({
          host: {
            permissions: rulebook,
            mayDo: ({ topic }) => {
              queried.push(topic)
              rulebook.rules = [{ action: 'publish', topic: 'secret' }]
              return 1
            },
          },
        })
        const reader = world.subscriber('#')
        publish(world, wrapped)
        world.passSeconds(10)
        assert.deepEqual([...new Set(queried)], ['secret'])
        assert.deepEqual(topicsOf(reader), [])
        queried = []
      })
    }
  }

  test('does not reach it by a will whose right has ended since CONNECT, nor by a delayed message of a will', () => {
    for (const topic of ['secret', '$delayed/0/secret']) {
      const { world, rulebook } = worldWith([])
      const reader = world.subscriber('#')
      const client = world.connect('author', { will: { topic, payload: 'x' } })
      rulebook.change(world, { action: 'publish', topic: 'secret' }, { action: 'remain', topic: 'secret' })
      client.drop()
      world.passSeconds(5)
      assert.deepEqual(topicsOf(reader), [])
      assert.equal(world.view.counts.dropped['not-allowed'], 1)
    }
    const { world, rulebook } = worldWith([])
    const reader = world.subscriber('#')
    world.connect('author', { will: { topic: '$delayed/5/secret', payload: 'x' } }).drop()
    rulebook.change(world, { action: 'remain', topic: 'secret' })
    world.passSeconds(10)
    assert.deepEqual(topicsOf(reader), [])
  })
})

describe('a will to $delayed/n/topic', () => {
  for (const mountpoint of ['', 'site/', '${username}/']) {
    test(`is published n seconds after the client was lost, with the mount point '${mountpoint}'`, () => {
      const world = new World({ host: identities({ username: 'site' }) })
      const reader = world.subscriber('#')
      world.host.traits.listener = { mountpoint }
      openWithWill(world, { topic: '$delayed/5/lamp', payload: 'off' })
      world.passSeconds(4)
      assert.deepEqual(topicsOf(reader), [])
      world.passSeconds(2)
      assert.deepEqual(topicsOf(reader), [mountpoint === '' ? 'lamp' : 'site/lamp'])
    })
  }

  test('survives a restart before it is due, and before it is published', () => {
    const world = new World({ host: { listener: { mountpoint: 'site/' } } })
    openWithWill(world, { topic: '$delayed/5/a', payload: 'x' })
    open(world, { will: { topic: '$delayed/5/b', payload: 'x' } })
    world.crash()
    world.start()
    world.host.traits.listener = {}
    const reader = world.subscriber('#')
    world.passSeconds(6)
    assert.deepEqual(topicsOf(reader).toSorted(), ['site/a', 'site/b'])
  })

  test('is an ordinary topic below the mount point if delayed messages are disabled, also if they were enabled at CONNECT', () => {
    for (const delaysAtConnect of [true, false]) {
      const world = new World({
        settings: { delaysMessages: delaysAtConnect },
        host: { listener: { mountpoint: 'site/' } },
      })
      const client = open(world, { will: { topic: '$delayed/5/lamp', payload: 'off' } })
      world.host.traits.listener = {}
      const reader = world.subscriber('#')
      world.host.settings = { ...world.host.settings, delaysMessages: false }
      world.host.handle({ kind: 'settings', settings: world.host.settings })
      client.drop()
      assert.deepEqual(topicsOf(reader), ['site/$delayed/5/lamp'])
    }
  })

  test('that has no valid delay or topic is refused', () => {
    for (const topic of ['$delayed/x/a', '$delayed/1/', '$delayed/1/$delayed/1/a', '$delayed/99999999999/a']) {
      const client = open(new World(), { will: { topic, payload: 'x' } })
      assert.equal(client.connack?.reasonCode, reasonCodes.topicNameInvalid, topic)
    }
  })
})

/** Topics that no client may publish to, under each of the wrappings. */
const reserved = [
  '$SYS/brokers',
  '$event/client_connected',
  '$events/client_connected',
  '$bridges/mqtt:in/x',
  '$bridge/joined/x',
  '$godwit/broker',
  '$share/g/x',
  '$queue/x',
  '$exclusive/x',
]

describe('reserved topics', () => {
  for (const [way, publish] of Object.entries(waysIn)) {
    test(`are refused for ${way}, also delayed and for superusers`, () => {
      for (const host of [identities(), identities({ isSuperuser: true })]) {
        for (const topic of reserved.flatMap((name) => [name, `$delayed/0/${name}`, `$delayed/1/${name}`])) {
          const isOfSuperuser = host.decision?.({} as never).decision
          const world = new World({ host })
          const everything = world.subscriber(['#', '$SYS/#', '$event/#', '$events/#', '$bridge/#', '$godwit/#'])
          const isRefused = publish(world, topic)
          world.passSeconds(5)
          assert.deepEqual(topicsOf(everything), [], topic)
          // A superuser's will to `$share/...` has no receiver.
          const mayBeAccepted = /\$(?:share|queue|exclusive)\//.test(topic) && isOfSuperuser !== undefined
          assert.ok(isRefused || mayBeAccepted, topic)
        }
      }
    })

    test(`are refused for ${way} if a rewrite rule leads to them`, () => {
      const rules = [
        { action: 'all', source_topic: 'x/#', re: '^x/(.+)$', dest_topic: '$1' },
        { action: 'all', source_topic: 'y/#', re: '^y/(.+)$', dest_topic: '$$1' },
        { action: 'all', source_topic: 'z', re: '.*', dest_topic: '${clientid}' },
      ] as const
      for (const name of [...reserved, '$ns/other/x', '$delayed/0/secret', '$other/x']) {
        for (const topic of [`x/${name}`, `y/${name.slice(1)}`, `$delayed/0/x/${name}`]) {
          const world = new World({ settings: { topicRewrites: rules } })
          const everything = world.subscriber([
            '#',
            '$SYS/#',
            '$event/#',
            '$events/#',
            '$bridge/#',
            '$godwit/#',
            '$ns/#',
            '$other/#',
          ])
          const own = open(world)
          own.subscribe([`x/${name}`])
          assert.equal(publish(world, topic), true, topic)
          world.passSeconds(5)
          assert.deepEqual(topicsOf(everything), [], topic)
        }
      }
    })
  }

  test('are not subscribed to through a rewrite rule', () => {
    const rules = [{ action: 'subscribe', source_topic: 'x/#', re: '^x/(.+)$', dest_topic: '$1' }] as const
    const world = new World({ settings: { topicRewrites: rules } })
    const client = world.connect('c')
    for (const filter of ['$ns/other/#', '$SYS/#', '$share/g/secret', '$queue/secret', '$exclusive/secret', '$event/#'])
      for (const prefix of ['', '$share/g/', '$queue/'])
        assert.deepEqual(client.subscribe(`${prefix}x/${filter}`)?.reasonCodes, [reasonCodes.notAuthorized], filter)
    assert.equal(client.subscribe('x/plain')?.reasonCodes[0], 2)
    assert.deepEqual([...world.view.findSubscriptions('c').keys()], ['plain'])
    assert.deepEqual(client.unsubscribe(['x/$SYS/#', 'x/plain'])?.reasonCodes, [0x11, 0])
  })
})

const namespaces: NamespaceSettings = {
  sources: ['username'],
  usernamePattern: { before: '', after: '/', isOpenBefore: false, isOpenAfter: true },
  certificateField: undefined,
  isRequired: false,
}

describe('the topics of a namespace', () => {
  for (const [way, publish] of Object.entries(waysIn)) {
    test(`are not reached from outside by ${way}, at once, delayed or rewritten`, () => {
      for (const topic of ['$ns/plant/t', '$delayed/0/$ns/plant/t', '$delayed/2/$ns/plant/t', 'x/$ns/plant/t']) {
        for (const username of [undefined, 'shop/author']) {
          const permissions = new AccessRules(
            { ...defaultAccessSettings.rules, hasNamespaces: true },
            { nowMs: () => 0, mayStay: () => true },
          )
          const rewrites = [{ action: 'all', source_topic: 'x/#', re: '^x/(.+)$', dest_topic: '$1' }] as const
          const world = new World({ settings: { topicRewrites: rewrites }, host: { namespaces, permissions } })
          const reader = world.client('reader', { username: 'plant/reader' })
          reader.connect()
          reader.subscribe(['#', 't'])
          publish(world, topic, username === undefined ? {} : { username })
          world.passSeconds(10)
          assert.deepEqual(topicsOf(reader), [], topic)
        }
      }
    })
  }
})

function worldInside({ mountpoint = '' }: { mountpoint?: string }): World {
  const permissions = new AccessRules(
    { ...defaultAccessSettings.rules, hasNamespaces: true },
    { nowMs: () => 0, mayStay: () => true },
  )
  return new World({ shards: 1, host: { namespaces, permissions, listener: { mountpoint } } })
}

describe('inside a namespace or a mount point', () => {
  /** The listener and user name of clients inside, and the topics inside as the broker stores them. */
  const insides: Record<string, { mountpoint?: string; username?: string; prefix: string }> = {
    namespace: { username: 'plant/x', prefix: '$ns/plant/' },
    'mount point': { mountpoint: 'site/', prefix: 'site/' },
    'mount point in a namespace': { mountpoint: 'site/', username: 'plant/x', prefix: '$ns/plant/site/' },
  }

  for (const [name, inside] of Object.entries(insides)) {
    const credentials = inside.username === undefined ? {} : { username: inside.username }
    for (const [way, publish] of Object.entries(waysIn)) {
      test(`the topics of the broker are reserved for ${way}: ${name}`, () => {
        for (const topic of [...reserved, '$ns/plant/x', '$SYS'].flatMap((text) => [text, `$delayed/1/${text}`])) {
          const world = worldInside(inside)
          const reader = world.client('reader', { version: 5, ...credentials })
          reader.connect()
          reader.subscribe(['#', '+/#', '$event/#', '$events/#', '$bridge/#', '$godwit/#', '$bridges/#'])
          assert.equal(publish(world, topic, credentials), true, topic)
          world.passSeconds(5)
          assert.deepEqual(topicsOf(reader), [], topic)
          const later = world.client('later', { version: 5, ...credentials })
          later.connect()
          later.subscribe(['#', '$event/#', '$events/#', '$bridge/#', '$godwit/#', '$bridges/#'])
          assert.deepEqual(topicsOf(later), [], `${topic} is not retained`)
        }
      })
    }

    test(`[MQTT-4.7.2-1] a wildcard in the first level does not match a topic that begins with $: ${name}`, () => {
      const world = worldInside(inside)
      const readers = [['#'], ['+/#'], ['+/a'], ['#', '$own/a'], ['$own/+']].map((filters, index) => {
        const reader = world.client(`reader-${index}`, { version: 5, ...credentials })
        reader.connect()
        reader.subscribe(filters)
        return reader
      })
      const author = open(world, credentials)
      author.publish('$own/a', 'x', { qos: 1, retain: true })
      author.publish('own/a', 'x', { qos: 1 })
      assert.deepEqual(readers.map(topicsOf), [['own/a'], ['own/a'], ['own/a'], ['$own/a', 'own/a'], ['$own/a']])
      const later = world.client('later', { version: 5, ...credentials })
      later.connect()
      later.subscribe(['#', '+/#'])
      assert.deepEqual(topicsOf(later), [])
      later.subscribe('$own/#')
      assert.deepEqual(topicsOf(later), ['$own/a'])
    })
  }

  test('a shared subscription of a namespace to # gets no topic that begins with $', () => {
    const world = worldInside({})
    const reader = world.client('reader', { username: 'plant/x' })
    reader.connect()
    reader.subscribe('$share/g/#')
    const author = open(world, { username: 'plant/x' })
    author.publish('$own/a', 'x')
    author.publish('own/a', 'x')
    assert.deepEqual(topicsOf(reader), ['own/a'])
  })

  test('nothing from outside reaches the reserved topics of a namespace: the API, and a superuser', () => {
    const world = new World({ host: { ...identities({ isSuperuser: true }), namespaces } })
    const superuser = open(world)
    const reader = world.client('all', { version: 5 })
    reader.connect()
    reader.subscribe(['$ns/plant/$event/#', '$ns/plant/$SYS/#'])
    for (const topic of ['$ns/plant/$event/client_connected', '$ns/plant/$SYS/brokers'])
      assert.equal(superuser.publish(topic, 'x', { qos: 1 }).reasonCode, reasonCodes.notAuthorized)
    assert.deepEqual(topicsOf(reader), [])
  })
})
