// Denied actions are not executed: at PUBLISH, at SUBSCRIBE, for wills, and at each delivery of a message.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Identity } from '../../src/core/index.ts'
import { reasonCodes, type ProtocolVersion } from '../../src/protocol/index.ts'
import { acksOf, connectedWire } from '../conformance/raw.ts'
import { World, type Client } from '../simulator/world.ts'
import { identities, Rulebook, worldWith } from './denied-actions.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

const reasonOf = (client: Client, topic: string, qos: 1 | 2): number | undefined =>
  client.publish(topic, 'x', { qos }).reasonCode

/** The authorization response allows it. */
function forgetRules(rulebook: Rulebook): number {
  rulebook.rules = []
  return 0
}

describe('PUBLISH without permission', () => {
  test('5.0: gets reason code 0x87, and reaches no subscriber', () => {
    const { world } = worldWith([{ action: 'publish', topic: 'secret/#' }])
    const subscriber = world.subscriber('#')
    const client = world.connect('author')
    assert.equal(reasonOf(client, 'secret/a', 1), reasonCodes.notAuthorized)
    assert.equal(reasonOf(client, 'secret/a', 2), reasonCodes.notAuthorized)
    assert.equal(reasonOf(client, 'open', 1), 0)
    assert.deepEqual(subscriber.payloads, ['x'])
    assert.equal(client.isConnected, true)
  })

  for (const version of [3, 4] as const) {
    test(`3.x (${version}): is acknowledged as if it had been accepted, and reaches no subscriber`, () => {
      const { world } = worldWith([{ action: 'publish', topic: 'secret/#' }])
      const subscriber = world.subscriber('#')
      const client = world.connect('author', { version })
      for (const qos of [1, 2] as const) assert.equal(client.publish('secret/a', 'x', { qos }).isComplete, true)
      assert.equal(client.publish('open', 'y', { qos: 2 }).isComplete, true)
      assert.deepEqual(subscriber.payloads, ['y'])
    })
  }

  test('QoS 0: is dropped and counted', () => {
    const { world } = worldWith([{ action: 'publish', topic: 'secret/#' }])
    const subscriber = world.subscriber('#')
    world.connect('author').publish('secret/a', 'x')
    assert.deepEqual(subscriber.payloads, [])
    assert.equal(world.view.counts.dropped['not-allowed'], 1)
  })

  test('a retained one does not change the retained message of its topic', () => {
    const { world } = worldWith([{ action: 'publish', clientId: 'stranger' }])
    world.connect('author').publish('a', 'kept', { retain: true, qos: 1 })
    world.connect('stranger').publish('a', 'other', { retain: true, qos: 1 })
    world.connect('stranger-4', { version: 4 }).publish('a', '', { retain: true, qos: 0 })
    world.connect('stranger').publish('a', '', { retain: true, qos: 2 })
    assert.deepEqual(world.subscriber('a').payloads, [])
    world.connect('author').publish('b', 'kept', { retain: true, qos: 1 })
    world.connect('stranger').publish('b', '', { retain: true, qos: 2 })
    assert.deepEqual(world.subscriber('b').payloads, ['kept'])
  })

  for (const is of ['deny', 'unknown', 'disconnect'] as const) {
    test(`[MQTT-4.3.3-2] [MQTT5-4.3.3-10] an accepted QoS 2 message that is sent again gets PUBREC, though the rules now say ${is}`, () => {
      const { world, rulebook } = worldWith([])
      const subscriber = world.subscriber('#')
      const wire = connectedWire(world, 5)
      const publication = { topic: 'a', payload: 'x', qos: 2, packetId: 7 } as const
      wire.sendPublish(publication)
      world.settle()
      rulebook.change(world, { action: 'publish', topic: 'a', is })
      wire.sendPublish({ ...publication, dup: true })
      world.settle()
      assert.deepEqual(
        acksOf(wire, 'pubrec').map(({ reasonCode }) => reasonCode),
        [reasonCodes.success, reasonCodes.success],
      )
      assert.deepEqual([wire.isOpen, subscriber.payloads], [true, ['x']])
    })
  }

  for (const version of [3, 4, 5] as const) {
    test(`auth.deny_action = disconnect (version ${version}): the connection ends, for 5.0 with 0x87`, () => {
      const { world } = worldWith([{ action: 'publish', topic: 'secret', is: 'disconnect' }])
      const client = world.connect('author', { version })
      client.publish('secret', 'x', { qos: 0 })
      assert.equal(client.hasOpenConnection, false)
      assert.equal(client.disconnected?.reasonCode, version === 5 ? reasonCodes.notAuthorized : undefined)
    })
  }

  test('a decision is requested once for each topic, until permissions change', () => {
    const { world, rulebook } = worldWith([])
    const client = world.connect('author')
    for (let count = 0; count < 10; count++) client.publish('a', 'x', { qos: 1 })
    for (let count = 0; count < 10; count++) client.publish(count % 2 === 0 ? 'a' : 'b', 'x', { qos: 1 })
    assert.equal(rulebook.requests.publish, 2)
    rulebook.change(world, { action: 'publish', topic: 'a' })
    assert.equal(reasonOf(client, 'a', 1), reasonCodes.notAuthorized)
    assert.equal(reasonOf(client, 'b', 1), reasonCodes.noMatchingSubscribers)
  })

  test('decisions that expire by themselves are not cached', () => {
    const { world, rulebook } = worldWith([])
    rulebook.isUncacheable = true
    const client = world.connect('author')
    for (let count = 0; count < 5; count++) client.publish('a', 'x', { qos: 1 })
    assert.equal(rulebook.requests.publish, 5)
  })

  test('a publication with the retain flag is authorized separately from one without', () => {
    const { world, rulebook } = worldWith([])
    const client = world.connect('author')
    client.publish('a', 'x', { qos: 1 })
    client.publish('a', 'x', { qos: 1, retain: true })
    client.publish('a', 'x', { qos: 2 })
    assert.equal(rulebook.requests.publish, 3)
  })

  test('a repeated QoS 2 PUBLISH that was accepted before is acknowledged as before', () => {
    const { world, rulebook } = worldWith([])
    const wire = connectedWire(world, 5)
    wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 7 })
    world.settle()
    rulebook.change(world, { action: 'publish', topic: 'a' })
    wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 7, dup: true })
    world.settle()
    const pubrecs = wire.received.filter((packet) => packet.type === 'pubrec')
    assert.deepEqual(
      pubrecs.map((packet) => 'reasonCode' in packet && packet.reasonCode),
      [reasonCodes.noMatchingSubscribers, reasonCodes.success],
    )
  })

  for (const [is, expected] of [
    ['deny', []],
    ['unknown', ['x']],
    ['allow', ['x']],
  ] as const) {
    test(`after a crash, QoS 2 is authorized again (${is}) before it is forwarded to other shards again`, () => {
      const { world, rulebook } = worldWith([], { shards: 3, host: { mayDo: () => forgetRules(rulebook) } })
      const readers = ['reader-1', 'reader-2', 'reader-3', 'reader-4'].map((id) => world.connect(id, durable))
      for (const reader of readers) reader.subscribe('a')
      for (const dup of [false, true]) {
        rulebook.rules = [{ action: 'publish', clientId: 'author', is }]
        const wire = connectedWire(world, 4, { clientId: 'author', cleanStart: false })
        wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 7, dup })
        world.settle()
        assert.equal(acksOf(wire, 'pubrec').length, 1)
        world.restart('kill')
        for (const reader of readers) reader.connect()
      }
      for (const reader of readers) assert.deepEqual(reader.payloads, expected)
    })
  }

  test('all actions of a superuser are allowed', () => {
    const { world } = worldWith([{ action: 'publish' }, { action: 'subscribe' }, { action: 'receive' }], {
      host: identities({ isSuperuser: true }),
    })
    const client = world.connect('admin')
    assert.equal(client.subscribe('a', { qos: 1 })?.reasonCodes[0], 1)
    assert.equal(reasonOf(client, 'a', 1), 0)
    assert.deepEqual(client.payloads, ['x'])
  })
})

describe('SUBSCRIBE without permission', () => {
  const cases: [ProtocolVersion, number][] = [
    [3, 1],
    [4, 0x80],
    [5, 0x87],
  ]
  for (const [version, code] of cases) {
    test(`gets ${code} in SUBACK (version ${version}), and no messages`, () => {
      const { world } = worldWith([{ action: 'subscribe', topic: 'secret' }])
      const client = world.connect('curious', { version })
      assert.deepEqual(client.subscribe(['open', 'secret'], { qos: 1 })?.reasonCodes, [1, code])
      world.publish('secret', 'x', { qos: 1 })
      world.publish('open', 'y', { qos: 1 })
      assert.deepEqual(client.payloads, ['y'])
    })
  }

  test('authorizes a shared subscription by its filter', () => {
    const { world } = worldWith([{ action: 'subscribe', topic: 'secret' }])
    assert.equal(world.connect('curious').subscribe('$share/group/secret')?.reasonCodes[0], 0x87)
  })

  test('auth.deny_action = disconnect: no filter of the SUBSCRIBE is granted', () => {
    const { world } = worldWith([{ action: 'subscribe', topic: 'secret', is: 'disconnect' }])
    const client = world.connect('curious', { ...durable })
    client.subscribe(['open', 'secret'])
    assert.equal(client.disconnected?.reasonCode, reasonCodes.notAuthorized)
    assert.equal(world.view.findSubscriptions('curious').size, 0)
  })
})

describe('delivery', () => {
  test('a denied topic is not delivered through a broader subscription', () => {
    const { world } = worldWith([{ action: 'receive', clientId: 'curious', topic: 'secret/#' }])
    const curious = world.connect('curious')
    curious.subscribe('#', { qos: 2 })
    const other = world.subscriber('#')
    for (const qos of [0, 1, 2] as const) world.publish('secret/a', `s${qos}`, { qos })
    world.publish('open', 'o')
    assert.deepEqual(curious.payloads, ['o'])
    assert.deepEqual(other.payloads, ['s0', 's1', 's2', 'o'])
  })

  test('a change of rules applies to existing subscriptions at once, whether it allows or denies', () => {
    const { world, rulebook } = worldWith([])
    const client = world.connect('curious')
    client.subscribe('a')
    world.publish('a', '1')
    rulebook.change(world, { action: 'receive', clientId: 'curious' })
    world.publish('a', '2')
    rulebook.change(world)
    world.publish('a', '3')
    assert.deepEqual(client.payloads, ['1', '3'])
  })

  test('queued messages, in memory and on disk, are authorized again when they are sent', () => {
    for (const restarts of [false, true]) {
      const { world, rulebook } = worldWith([])
      const client = world.connect('curious', { ...durable })
      client.subscribe('#', { qos: 1 })
      client.disconnect()
      world.publish('secret/a', 's', { qos: 1 })
      world.publish('open', 'o', { qos: 1 })
      rulebook.change(world, { action: 'receive', clientId: 'curious', topic: 'secret/#' })
      if (restarts) world.restart()
      client.connect()
      assert.deepEqual(client.payloads, ['o'])
      assert.equal(world.view.findClient('curious')?.waiting, 0)
      assert.equal(world.view.findClient('curious')?.inflight, 0)
      assert.deepEqual(
        world.records().filter(({ kind }) => kind === 'queued' || kind === 'outgoing'),
        [],
      )
    }
  })

  test('a message that was in flight when its client disconnected is not sent again if it is no longer allowed', () => {
    const { world, rulebook } = worldWith([])
    const client = world.connect('curious', { ...durable })
    client.acknowledges = false
    client.subscribe('#', { qos: 2 })
    world.publish('secret/a', 's', { qos: 2 })
    world.publish('secret/b', 's', { qos: 1 })
    assert.equal(client.payloads.length, 2)
    client.drop()
    rulebook.change(world, { action: 'receive', clientId: 'curious', topic: 'secret/#' })
    client.connect()
    assert.equal(client.payloads.length, 2)
    assert.equal(world.view.findClient('curious')?.inflight, 0)
  })

  test('after a restart no message is lost because the identity of a client is not known yet', () => {
    const rulebook = new Rulebook()
    const world = new World({ host: { ...identities({ grants: {} }), permissions: rulebook } })
    // Only a client with grants may receive it: a session from disk has none.
    rulebook.canReceive = (who) => who.grants !== undefined
    const client = world.connect('curious', { ...durable })
    client.subscribe('a', { qos: 1 })
    client.disconnect()
    world.restart()
    world.publish('a', 'x', { qos: 1 })
    client.connect()
    assert.deepEqual(client.payloads, ['x'])
  })

  test('a client that reconnects with another identity receives what the rules allow for that identity', () => {
    let username = 'reader'
    const rulebook = new Rulebook({ action: 'receive', username: 'nobody' })
    const world = new World({
      host: {
        permissions: rulebook,
        decision: ({ clientId }) => ({
          decision: {
            allowed: true,
            identity: {
              clientId,
              username: clientId === 'me' ? username : 'author',
              peerAddress: '127.0.0.1',
              isSuperuser: false,
              expiresAtMs: undefined,
              grants: undefined,
            },
          },
          afterMs: 0,
        }),
      },
    })
    const client = world.connect('me', { ...durable })
    client.subscribe('a')
    world.publish('a', '1')
    client.disconnect()
    username = 'nobody'
    client.connect()
    world.publish('a', '2')
    assert.deepEqual(client.payloads, ['1'])
  })

  test('a client that reconnects with other grants receives what those allow', () => {
    const rulebook = new Rulebook({ action: 'receive', clientId: 'nobody' })
    rulebook.canReceive = ({ grants }) => grants === undefined
    const world = new World({ host: { permissions: rulebook, ...identities() } })
    const client = world.connect('me', { ...durable })
    client.subscribe('a')
    world.publish('a', '1')
    client.disconnect()
    world.host.traits.decision = identities({ grants: {} }).decision ?? world.host.traits.decision
    client.connect()
    world.publish('a', '2')
    assert.deepEqual(client.payloads, ['1'])
  })

  test('retained messages: none that the subscriber may not receive or the publisher may no longer publish', () => {
    const { world, rulebook } = worldWith([], { host: identities() })
    world.connect('good').publish('a/good', 'g', { retain: true, qos: 1 })
    world.connect('bad').publish('a/bad', 'b', { retain: true, qos: 1 })
    world.connect('good').publish('a/secret', 's', { retain: true, qos: 1 })
    for (const restarts of [false, true]) {
      if (restarts) world.restart()
      rulebook.change(
        world,
        { action: 'remain', username: 'user-bad' },
        { action: 'receive', topic: 'a/secret', clientId: 'curious' },
      )
      const client = world.connect('curious')
      client.subscribe('a/+')
      assert.deepEqual(client.payloads, ['g'])
      client.disconnect()
    }
  })

  test('retained messages of a superuser, or of a client with its own grants, are not checked: those cannot be looked up', () => {
    for (const changes of [{ isSuperuser: true }, { grants: { pub: ['a'] } }]) {
      const { world, rulebook } = worldWith([], { host: identities(changes) })
      world.connect('author').publish('a', 'kept', { retain: true, qos: 1 })
      world.restart()
      rulebook.change(world, { action: 'remain' })
      const client = world.connect('curious')
      client.subscribe('a')
      assert.deepEqual(client.payloads, ['kept'])
    }
  })

  test('[MQTT5-4.8.2-5] QoS 2 that was started with a member goes to no other when that member loses the permission', () => {
    const { world, rulebook } = worldWith([])
    const one = world.connect('one', durable)
    one.acknowledges = false
    one.subscribe('$share/group/#', { qos: 2 })
    world.publish('a', 'x', { qos: 2 })
    one.drop()
    const two = world.connect('two')
    two.subscribe('$share/group/#', { qos: 2 })
    rulebook.change(world, { action: 'receive', clientId: 'one' })
    one.connect()
    assert.deepEqual(two.payloads, [])
    assert.equal(world.view.findClient('one')?.inflight, 0)
  })

  test('a member of a shared group that may not receive a message is skipped', () => {
    const { world } = worldWith([{ action: 'receive', clientId: 'one', topic: 'secret' }])
    const one = world.connect('one')
    const two = world.connect('two')
    for (const member of [one, two]) member.subscribe('$share/group/#', { qos: 1 })
    for (const payload of ['1', '2', '3', '4']) world.publish('secret', payload, { qos: 1 })
    assert.deepEqual(one.payloads, [])
    assert.deepEqual(two.payloads, ['1', '2', '3', '4'])
    two.disconnect()
    world.publish('secret', '5', { qos: 1 })
    assert.deepEqual(one.payloads, [])
  })

  test('a message of a group for a member that lost the permission goes to another member', () => {
    const { world, rulebook } = worldWith([], { settings: { maxInflightMessages: 1 } })
    const one = world.connect('one')
    one.acknowledges = false
    one.subscribe('$share/group/#', { qos: 1 })
    for (const payload of ['1', '2', '3']) world.publish('a', payload, { qos: 1 })
    assert.deepEqual(one.payloads, ['1'])
    const two = world.connect('two')
    two.subscribe('$share/group/#', { qos: 1 })
    rulebook.change(world, { action: 'receive', clientId: 'one' })
    one.acknowledges = true
    for (const message of one.messages.slice()) one.acknowledge(message)
    assert.deepEqual(one.payloads, ['1'])
    assert.deepEqual(two.payloads, ['2', '3'])
  })
})

describe('a client that may not stay connected', () => {
  test('is disconnected with 0x87 when permissions change, and others stay connected', () => {
    const { world, rulebook } = worldWith([])
    const bad = world.connect('bad')
    const old = world.connect('old', { version: 4 })
    const good = world.connect('good')
    rulebook.change(world, { action: 'stay', clientId: 'bad' }, { action: 'stay', clientId: 'old' })
    assert.equal(bad.disconnected?.reasonCode, reasonCodes.notAuthorized)
    assert.equal(old.hasOpenConnection, false)
    assert.equal(good.isConnected, true)
  })

  test('is found among many, and after successive changes', () => {
    const { world, rulebook } = worldWith([], { shards: 1 })
    for (let count = 0; count < 2_500; count++) world.connect(`c${count}`)
    rulebook.rules = [{ action: 'stay', clientId: 'c2400' }]
    rulebook.epoch++
    world.host.handle({ kind: 'permissions-changed' })
    world.host.handle({ kind: 'tick' })
    assert.ok(rulebook.requests.stay > 0 && rulebook.requests.stay < 2_500, 'it is one of the first')
    rulebook.rules.push({ action: 'stay', clientId: 'c3' })
    rulebook.epoch++
    world.host.handle({ kind: 'permissions-changed' })
    world.settle()
    assert.equal(world.view.connections, 2_498)
  })
})

describe('a ban', () => {
  for (const version of [3, 4, 5] as const) {
    test(`disconnects the client, and its will is not published (version ${version})`, () => {
      const { world, rulebook } = worldWith([])
      const willSubscriber = world.subscriber('w/#')
      const client = world.connect('banned', { version, will: { topic: 'w/banned', payload: 'gone', retain: true } })
      rulebook.change(world, { action: 'stay', clientId: 'banned' })
      assert.equal(client.hasOpenConnection, false)
      world.passSeconds(5)
      assert.deepEqual(willSubscriber.payloads, [])
    })
  }

  test('stops a delayed will of a client that left before', () => {
    const { world, rulebook } = worldWith([])
    const willSubscriber = world.subscriber('w')
    const will = { topic: 'w', payload: 'gone', properties: { willDelayIntervalSeconds: 3 } } as const
    const client = world.connect('banned', { will, cleanStart: false, sessionExpirySeconds: 60 })
    client.drop()
    rulebook.change(world, { action: 'stay', clientId: 'banned' })
    world.passSeconds(10)
    assert.deepEqual(willSubscriber.payloads, [])
  })
})

describe('a ban, when something is published after its client has left', () => {
  for (const ban of [{ clientId: 'banned' }, { username: 'user-banned' }] as const) {
    const name = Object.keys(ban).join('')
    for (const isSuperuser of [false, true]) {
      const text = `of the ${name} stops a ${isSuperuser ? "superuser's " : ''}`
      test(`${text}delayed message, with a counter and an event`, () => {
        const { world, rulebook } = worldWith([], { host: identities({ isSuperuser }) })
        const subscriber = world.subscriber('a')
        for (const clientId of ['banned', 'other']) {
          const client = world.connect(clientId)
          client.publish('$delayed/5/a', clientId, { qos: 1 })
          client.disconnect()
        }
        rulebook.change(world, { action: 'stay', ...ban })
        world.passSeconds(10)
        assert.deepEqual(subscriber.payloads, ['other'])
        assert.equal(world.view.counts.dropped['not-allowed'], 1)
      })

      test(`${text}delayed message after a restart`, () => {
        const { world, rulebook } = worldWith([], { host: identities({ isSuperuser }) })
        for (const clientId of ['banned', 'other'])
          world.connect(clientId).publish('$delayed/5/a', clientId, { qos: 1 })
        world.restart()
        const subscriber = world.subscriber('a')
        rulebook.change(world, { action: 'stay', ...ban })
        world.passSeconds(10)
        assert.deepEqual(subscriber.payloads, ['other'])
      })

      test(`${text}will whose session a crash has ended`, () => {
        const { world, rulebook } = worldWith([], { host: identities({ isSuperuser }) })
        for (const clientId of ['banned', 'other']) {
          const will = { topic: 'a', payload: clientId, qos: 1 } as const
          world.connect(clientId, { will, cleanStart: false, sessionExpirySeconds: 1 })
        }
        rulebook.rules = [{ action: 'stay', ...ban }]
        rulebook.epoch++
        const stored = { cleanStart: false, sessionExpirySeconds: 100 }
        const reader = world.connect('reader', stored)
        reader.subscribe('a', { qos: 1 })
        world.crash()
        world.start()
        world.passSeconds(10)
        reader.connect()
        world.settle()
        assert.deepEqual(reader.payloads, ['other'])
      })
    }
  }
})

describe('the expiry of the permissions of a client', () => {
  test('disconnects it: 5.0 clients with 0xA0, and the will is published', () => {
    const world = new World({ host: identities({ expiresAtMs: 100_000 }) })
    world.host.traits.decision =
      identities({ expiresAtMs: world.nowMs + 60_000 }).decision ?? world.host.traits.decision
    const client = world.connect('guest', { will: { topic: 'w', payload: 'gone' } })
    const old = world.connect('old', { version: 4 })
    world.host.traits.decision = identities().decision ?? world.host.traits.decision
    const willSubscriber = world.subscriber('w')
    world.passSeconds(59)
    assert.equal(client.isConnected, true)
    world.passSeconds(1)
    assert.equal(client.disconnected?.reasonCode, reasonCodes.maximumConnectTime)
    assert.equal(old.hasOpenConnection, false)
    assert.deepEqual(willSubscriber.payloads, ['gone'])
  })
})

/** Clients that connect later have a token that ends after ten seconds. */
function worldOfTokens(changes: Partial<Identity>): { readonly world: World; readonly subscriber: Client } {
  const { world } = worldWith([])
  const subscriber = world.subscriber('a')
  const traits = identities({ grants: {}, expiresAtMs: world.nowMs + 10_000, ...changes })
  world.host.traits.decision = traits.decision ?? world.host.traits.decision
  return { world, subscriber }
}

describe('a delayed message whose permission comes from a token', () => {
  for (const version of [3, 4, 5] as const) {
    test(`is refused if the token ends before it is due, and counted (version ${version})`, () => {
      const { world, subscriber } = worldOfTokens({})
      const client = world.connect('guest', { version })
      for (const qos of [0, 1, 2] as const) {
        client.publish('$delayed/20/a', 'late', { qos })
        const exact = client.publish('$delayed/10/a', 'at its end', { qos })
        if (version === 5 && qos > 0) assert.equal(exact.reasonCode, reasonCodes.notAuthorized)
        client.publish('$delayed/5/a', `early ${qos}`, { qos })
      }
      client.disconnect()
      world.passSeconds(60)
      assert.deepEqual(subscriber.payloads, ['early 0', 'early 1', 'early 2'])
      assert.ok((world.view.counts.dropped['not-allowed'] ?? 0) >= 2)
    })
  }

  test('is also refused if it is a will', () => {
    const { world, subscriber } = worldOfTokens({})
    world.connect('guest', { will: { topic: '$delayed/20/a', payload: 'late', qos: 1 } }).drop()
    world.connect('other', { will: { topic: '$delayed/5/a', payload: 'early', qos: 1 } }).drop()
    world.passSeconds(60)
    assert.deepEqual(subscriber.payloads, ['early'])
    assert.equal(world.view.counts.dropped['not-allowed'], 1)
  })

  test('is published if the client is a superuser, or its token has no rules', () => {
    for (const changes of [{ isSuperuser: true }, { grants: undefined }]) {
      const { world, subscriber } = worldOfTokens(changes)
      const client = world.connect('guest')
      client.publish('$delayed/20/a', 'later', { qos: 1 })
      client.disconnect()
      world.passSeconds(60)
      assert.deepEqual(subscriber.payloads, ['later'])
    }
  })
})

describe('a certificate that identifies the client', () => {
  test('is used instead of the user name in CONNECT', () => {
    const requests: string[] = []
    const world = new World({
      host: {
        decision: ({ clientId, username }) => {
          requests.push(`${clientId} ${username ?? ''}`)
          return { decision: { allowed: true }, afterMs: 0 }
        },
        arrival: { port: 1, clientId: 'device-7', username: 'plant', certificate: undefined, pskIdentity: undefined },
      },
    })
    const client = world.connect('liar', { username: 'liar' })
    assert.deepEqual(requests, ['device-7 plant'])
    assert.equal(world.view.findClient('device-7')?.username, 'plant')
    assert.equal(world.view.findClient('liar'), undefined)
    assert.equal(client.connack?.properties?.assignedClientIdentifier, undefined)
  })
})
