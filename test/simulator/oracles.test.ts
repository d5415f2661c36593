// Messages that the oracles must not require because a client cannot know, while they still require all others. Each scenario was found by
// its seed, when an oracle failed for a correct broker.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { takeoverWaitMs } from '../../src/core/connect/takeover-wait.ts'
import { computeOwnerShard } from '../../src/core/index.ts'
import type { Actor } from './scenario-clients.ts'
import { calmNetwork } from './network.ts'
import { checkHistory } from './oracles.ts'
import { placeProbes } from './probes.ts'
import { profileNamed } from './profiles.ts'
import { ScenarioRules } from './scenario-rules.ts'
import { World, type Client } from './world.ts'

const longSeconds = 3_600

describe('a session that had ended when its client returned, replaced by the session of a CONNECT without a response', () => {
  test('lacks the old subscriptions, and the client cannot know (seed 31164)', () => {
    const world = new World({ seed: 1 })
    const offlineClient = begunTwice(world)
    offlineClient.subscribe('+/a', { qos: 0 })
    const author = world.connect('author')
    author.publish('t/a', 'one', { qos: 1 })
    assert.deepEqual(
      offlineClient.messages.map(({ qos }) => qos),
      [0],
      'the new session has no other subscription',
    )
    judge(world, [offlineClient, author])
  })

  test('must receive messages of later subscriptions', () => {
    const world = new World({ seed: 1 })
    const offlineClient = begunTwice(world)
    offlineClient.subscribe('t/b')
    const author = world.connect('author')
    author.publish('t/b', 'one', { qos: 1 })
    judge(world, [offlineClient, author])
    forget(offlineClient)
    assert.throws(() => judge(world, [offlineClient, author]), /offline never received "one"/)
  })

  test('is the old one if each CONNECT had a response, and must receive all messages', () => {
    const world = new World({ seed: 1 })
    const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: longSeconds })
    offlineClient.subscribe('t/a')
    offlineClient.disconnect()
    world.passSeconds(2)
    assert.equal(offlineClient.connect({ cleanStart: false })?.sessionPresent, true)
    const author = world.connect('author')
    author.publish('t/a', 'one', { qos: 1 })
    forget(offlineClient)
    assert.throws(() => judge(world, [offlineClient, author]), /offline never received "one"/)
  })
})

describe('an expired session that exists again because the broker crashed before the end was durable', () => {
  test('need not receive messages acknowledged after the expiry (seed 811708)', () => {
    const { world, offlineClient, author } = revived()
    assert.deepEqual(offlineClient.payloads, ['early'])
    judge(world, [offlineClient, author])
  })

  test('must receive messages acknowledged before the expiry', () => {
    const { world, offlineClient, author } = revived()
    forget(offlineClient)
    assert.throws(() => judge(world, [offlineClient, author]), /offline never received "early"/)
  })
})

/** The end of the session is only in memory when the broker crashes a second time. */
function revived(): { world: World; offlineClient: Client; author: Client } {
  const world = new World({ seed: 1, shards: 1 })
  const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: 2 })
  offlineClient.subscribe('t/a', { qos: 1 })
  const author = world.connect('author')
  author.publish('t/a', 'early', { qos: 1 })
  world.disk.fail()
  world.restart('kill')
  world.passSeconds(4)
  author.connect()
  author.publish('t/a', 'late', { qos: 1 })
  world.settle()
  world.crash('power-loss')
  world.disk.mend()
  world.start()
  assert.equal(offlineClient.connect({ cleanStart: false })?.sessionPresent, true)
  return { world, offlineClient, author }
}

describe('a QoS 2 message that was refused while the disk failed, and sent again', () => {
  test('may arrive after later messages if the refusal was lost (seeds 20162 and 28280)', () => {
    const { world, author, subscriber } = refusedAndSentAgain()
    assert.deepEqual(subscriber.payloads, ['two', 'one', 'two'])
    judge(world, [author, subscriber])
  })

  test('arrives in order if no shard had refused it', () => {
    const { world, author, subscriber } = refusedAndSentAgain()
    world.host.watch.refused.clear()
    assert.throws(() => judge(world, [author, subscriber]), /"one" on t\/a after a later one of the same publisher/)
  })
})

describe('a message that was dropped for a full session', () => {
  test('may arrive if its shard failed before the drop was durable', () => {
    const { world, author, offlineClient } = droppedAndReadAgain()
    assert.deepEqual(
      world.events('message-dropped').map(({ message }) => message.readPayload().toString()),
      ['two'],
    )
    assert.deepEqual(offlineClient.payloads, ['one', 'one', 'two'])
    judge(world, [author, offlineClient])
  })

  test('does not arrive if the drop was durable', () => {
    const { world, author, offlineClient } = droppedAndReadAgain()
    world.host.undoneDrops.clear()
    assert.throws(
      () => judge(world, [author, offlineClient]),
      /offline-\d+ received "two", which the broker counts as dropped for it/,
    )
  })
})

/** Returns a client ID that belongs to this one of two shards. */
function idOn(shard: number, name: string): string {
  for (let number = 1; ; number++) if (computeOwnerShard(`${name}-${number}`, 2) === shard) return `${name}-${number}`
}

/** A full session drops its oldest waiting message, and its shard fails before the drop is durable. */
function droppedAndReadAgain(): { world: World; author: Client; offlineClient: Client } {
  const world = new World({ seed: 1, shards: 2, settings: { maxStoredMessages: 2, maxInflightMessages: 1 } })
  const author = world.connect(idOn(0, 'author'), { version: 4 })
  const offlineClient = world.connect(idOn(1, 'offline'), { cleanStart: false, sessionExpirySeconds: longSeconds })
  offlineClient.acknowledges = false
  offlineClient.subscribe('t/a', { qos: 1 })
  for (const payload of ['one', 'two']) author.publish('t/a', payload, { qos: 1 })
  const publisher = world.connect(idOn(1, 'neighbour'), { version: 4 })
  world.disk.hold()
  publisher.publish('t/a', 'lost', { qos: 1 })
  void world.host.killShard(1)
  world.settle()
  world.disk.release()
  void world.host.restartShard(1)
  world.settle()
  offlineClient.acknowledges = true
  offlineClient.connect()
  world.settle()
  return { world, author, offlineClient }
}

describe('a QoS 0 message that the broker had not handled when the connection of its publisher ended', () => {
  test('may be lost with a broken connection; a handled message must arrive (seed 700254)', () => {
    const { world, author, subscriber } = heldBack()
    author.drop()
    world.passSeconds(2)
    author.connect()
    assert.deepEqual(subscriber.payloads, ['one'])
    judge(world, [author, subscriber], 'calm')
    forget(subscriber)
    assert.throws(() => judge(world, [author, subscriber], 'calm'), /listener never received "one"/)
  })

  test('must arrive if its client sent DISCONNECT and reconnected', () => {
    const { world, author, subscriber } = heldBack()
    author.disconnect()
    author.connect()
    world.passSeconds(2)
    assert.deepEqual(subscriber.payloads, ['one', 'two', 'three'])
    judge(world, [author, subscriber], 'calm')
    ;(subscriber.messages as unknown[]).length = 2
    assert.throws(() => judge(world, [author, subscriber], 'calm'), /listener never received "three"/)
  })

  test('need not arrive if the broker stopped waiting for the end of the connection', () => {
    const { world, author, subscriber } = heldBack(100_000)
    author.disconnect()
    author.connect()
    world.passMs(takeoverWaitMs)
    assert.equal(author.isConnected, true)
    assert.deepEqual(subscriber.payloads, ['one'])
    judge(world, [author, subscriber], 'calm')
  })
})

/** The second message of the publisher has a pending authorization, which succeeds after this time. */
function heldBack(afterMs = 1_000): { world: World; author: Client; subscriber: Client } {
  const world = new World({ seed: 1, starts: false })
  const rules = new ScenarioRules(world)
  rules.authorizationMs = () => 0
  world.host.traits.permissions = rules
  world.host.traits.mayDo = (request) => rules.learn(request)
  world.start()
  const subscriber = world.connect('listener')
  subscriber.subscribe('t/#')
  const author = world.connect('author', { cleanStart: false, sessionExpirySeconds: longSeconds })
  author.publish('t/a', 'one')
  rules.authorizationMs = () => afterMs
  author.publish('t/b', 'two')
  author.publish('t/a', 'three')
  return { world, author, subscriber }
}

describe('an expiring retained message that is sent again after a known QoS 2 message', () => {
  test('replaces the QoS 2 message, and leaves no retained message when it expires (seed 1346127)', () => {
    const world = new World({ seed: 1 })
    const author = rememberedOfTwo(world, 4)
    world.restart('kill')
    author.connect()
    assert.deepEqual([world.subscriber('state/#').payloads, author.isConnected], [['one'], true])
    world.passSeconds(5)
    judge(world, [author])
  })

  for (const [how, expirySeconds] of [
    ['sent once', 4],
    ['that does not expire', undefined],
  ] as const) {
    test(`is reported as missing if it is one ${how}`, () => {
      const world = new World({ seed: 1 })
      const author = rememberedOfTwo(world, expirySeconds)
      if (expirySeconds === undefined) {
        world.restart('kill')
        author.connect()
      } else author.resumeReading()
      world.passSeconds(5)
      world.publish('state/author', '', { qos: 1, retain: true })
      assert.throws(() => judge(world, [author]), /the retained message of state\/author is "" to probe-1/)
    })
  }
})

/** The broker has accepted both, and the publisher does not know. */
function rememberedOfTwo(world: World, expirySeconds: number | undefined): Client {
  const author = world.connect('author', { cleanStart: false, sessionExpirySeconds: longSeconds })
  author.stopReading()
  const properties = expirySeconds === undefined ? {} : { messageExpiryIntervalSeconds: expirySeconds }
  author.publish('state/author', 'one', { qos: 1, retain: true, properties })
  author.publish('state/author', 'two', { qos: 2, retain: true })
  world.passSeconds(1)
  return author
}

/** Its session of 1 s has expired; the next is stored, and its CONNACK is lost in the crash. */
function begunTwice(world: World): Client {
  const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: 1 })
  offlineClient.subscribe('t/a')
  offlineClient.disconnect()
  world.passSeconds(2)
  offlineClient.options.sessionExpirySeconds = longSeconds
  offlineClient.options.network = { ...calmNetwork, minDelayMs: 500, maxDelayMs: 500 }
  offlineClient.connect()
  world.passMs(600)
  assert.equal(offlineClient.connack, undefined, 'the session is durable, and CONNACK is on the way')
  world.restart('kill')
  offlineClient.options.network = calmNetwork
  assert.equal(offlineClient.connect()?.sessionPresent, true)
  return offlineClient
}

function refusedAndSentAgain(): { world: World; author: Client; subscriber: Client } {
  const world = new World({ seed: 1, shards: 1 })
  const subscriber = world.connect('listener')
  subscriber.subscribe('t/a')
  const author = world.connect('author', { cleanStart: false, sessionExpirySeconds: longSeconds })
  world.disk.fail()
  author.publish('state/author', 'kept', { qos: 1, retain: true })
  world.passSeconds(1)
  author.stopReading()
  // QoS 2 needs the disk for its packet identifier; QoS 1 without persistent subscribers does not.
  author.publish('t/a', 'one', { qos: 2 })
  author.publish('t/a', 'two', { qos: 1 })
  author.drop()
  world.disk.mend()
  world.passSeconds(1)
  author.connect()
  world.passSeconds(1)
  return { world, author, subscriber }
}

function judge(world: World, clients: readonly Client[], profile = 'disk'): void {
  const actors = clients.map((client): Actor => ({ client, group: undefined, act: () => undefined }))
  placeProbes(world)
  for (const client of world.clients) if (client.id.startsWith('probe-')) client.subscribe('state/#')
  checkHistory(world, actors, { profile: profileNamed(profile), rules: new ScenarioRules(world) })
}

/** Ignores the received message: a subscriber that has the message is not checked for it. */
function forget(client: Client): void {
  assert.ok(client.messages.length > 0, 'there is nothing to miss')
  ;(client.messages as unknown[]).length = 0
}
