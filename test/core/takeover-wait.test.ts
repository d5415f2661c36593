// A client reconnects while the broker delays packets of its earlier connection: those were sent first and are handled first, with
// its DISCONNECT. The wait is limited, because the earlier connection may never end.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { takeoverWaitMs } from '../../src/core/connect/takeover-wait.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client, type ConnectOptions } from '../simulator/world.ts'
import { Rulebook } from './denied-actions.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

const authenticationMs = 1_000
const will = { topic: 'wills/author', payload: 'gone' }
const kept: ConnectOptions = { cleanStart: false, sessionExpirySeconds: 3_600, will }

interface Held {
  world: World
  rulebook: Rulebook
  subscriber: Client
  willSubscriber: Client
  /** Has published 'one', whose authorization is pending, and 'two' after it: neither is delivered yet. */
  author: Client
}

/** `slow` is undecided at first; the response comes after `afterMs`, and allows it. */
function heldBack(options: ConnectOptions = {}, { shards = 1, afterMs = authenticationMs } = {}): Held {
  const rulebook = new Rulebook({ action: 'publish', topic: 'slow', is: 'unknown' })
  const world = new World({
    shards,
    host: {
      permissions: rulebook,
      mayDo: ({ topic }) => {
        rulebook.rules = rulebook.rules.filter((rule) => rule.topic !== topic)
        return afterMs
      },
    },
  })
  const subscriber = world.subscriber(['slow', 'news'])
  const willSubscriber = world.subscriber('wills/#')
  const author = world.connect('author', { ...kept, ...options })
  author.publish('slow', 'one')
  author.publish('news', 'two')
  assert.deepEqual(subscriber.payloads, [])
  return { world, rulebook, subscriber, willSubscriber, author }
}

describe('a client that sends DISCONNECT while its packets are delayed, and reconnects at once', () => {
  for (const version of [3, 4, 5] as const) {
    for (const shards of [1, 3]) {
      test(`[MQTT-3.14.4-3] [MQTT5-3.14.4-3] loses no packet, and its will is not published (version ${version}, ${shards} shards, seed 401247)`, () => {
        const { world, subscriber, willSubscriber, author } = heldBack({ version }, { shards })
        author.disconnect()
        author.connect()
        assert.equal(author.isConnected, false, 'its earlier packets are processed first')
        author.publish('news', 'three')

        world.passMs(authenticationMs)
        assert.equal(author.connack?.reasonCode, reasonCodes.success)
        world.settle()
        assert.deepEqual(subscriber.payloads, ['one', 'two', 'three'])
        assert.deepEqual(willSubscriber.payloads, [])
        assert.equal(world.events('session-taken-over').length, 0)
      })
    }
  }

  test('[MQTT-4.3.3-2] has its QoS 2 message published once, although it sends the message again', () => {
    const { world, subscriber, author } = heldBack()
    author.publish('news', 'three', { qos: 2 })
    author.disconnect()
    author.connect()
    world.passMs(authenticationMs)
    assert.deepEqual(subscriber.payloads, ['one', 'two', 'three'])
    assert.equal(author.unfinished, 0)
  })

  test('[MQTT-3.1.4-5] may send further packets before CONNACK: they are processed after the delayed ones', () => {
    const { world, subscriber, author } = heldBack()
    author.disconnect()
    const eager = world.wire({ name: 'author' })
    eager.send(greeting)
    eager.sendPublish({ topic: 'news', payload: 'three' })
    world.settle()
    assert.deepEqual(subscriber.payloads, [])
    world.passMs(authenticationMs)
    assert.deepEqual(subscriber.payloads, ['one', 'two', 'three'])
  })

  test('is accepted when its older connection breaks', () => {
    const { world, willSubscriber, author } = heldBack()
    const again = world.wire({ name: 'author' })
    again.send(greeting)
    world.settle()
    assert.deepEqual(again.received, [])
    author.drop()
    assert.equal(again.of('connack').length, 1)
    assert.deepEqual(willSubscriber.payloads, ['gone'])
  })
})

describe('a client that connects again and leaves its older connection open', () => {
  test('[MQTT-3.1.4-2] [MQTT5-3.1.4-3] takes over at once if no packet is delayed', () => {
    const world = new World()
    const willSubscriber = world.subscriber('wills/#')
    const author = world.connect('author', kept)
    assert.equal(author.connect()?.sessionPresent, true)
    assert.deepEqual(willSubscriber.payloads, ['gone'])
  })

  test('[MQTT-3.1.4-2] [MQTT5-3.1.4-3] takes over after a limited time if packets are delayed, and is not considered silent until then', () => {
    const { world, subscriber, willSubscriber, author } = heldBack()
    world.changeSettings({ idleTimeoutMs: 1_000 })
    author.connect()
    world.passMs(takeoverWaitMs - 1)
    assert.deepEqual(subscriber.payloads, ['one', 'two'], 'its delayed packets were processed meanwhile')
    assert.equal(author.isConnected, false)
    world.passMs(1)
    assert.equal(author.connack?.sessionPresent, true)
    assert.deepEqual(willSubscriber.payloads, ['gone'])
    assert.equal(world.events('session-taken-over').length, 1)
  })

  test('is accepted after a limited time if the response never arrives, and delayed packets are discarded', () => {
    const { world, subscriber, author } = heldBack({}, { afterMs: 1_000_000 })
    author.publish('news', 'three', { qos: 1 })
    author.disconnect()
    author.connect()
    world.passMs(takeoverWaitMs)
    assert.equal(author.connack?.sessionPresent, true)
    assert.deepEqual(subscriber.payloads, ['three'], 'it sends that message again')
  })
})

describe('several connections with one client ID while packets are delayed', () => {
  test('are accepted one after the other, and the last one stays', () => {
    const { world, subscriber, author } = heldBack()
    author.disconnect()
    const wires = ['three', 'four', 'five'].map((payload) => {
      const wire = world.wire({ name: 'author' })
      wire.send(greeting)
      wire.sendPublish({ topic: 'news', payload })
      return wire
    })
    world.settle()
    assert.deepEqual(subscriber.payloads, [])
    world.passMs(authenticationMs)
    assert.deepEqual(subscriber.payloads, ['one', 'two', 'three', 'four', 'five'])
    assert.deepEqual(
      wires.map((wire) => wire.of('connack').length),
      [1, 1, 1],
    )
    assert.deepEqual(
      wires.map(({ isOpen }) => isOpen),
      [false, false, true],
    )
  })

  test('do not wait for one of them that has disconnected', () => {
    const { world, subscriber, author } = heldBack()
    author.disconnect()
    const impatient = world.wire({ name: 'author' })
    impatient.send(greeting)
    world.settle()
    author.connect()
    impatient.close()
    world.passMs(authenticationMs)
    assert.equal(author.connack?.sessionPresent, true)
    assert.deepEqual(impatient.received, [])
    assert.deepEqual(subscriber.payloads, ['one', 'two'])
  })
})

describe('a client that waits for its older connection', () => {
  test('is not accepted if it is banned meanwhile', () => {
    const { world, rulebook, author } = heldBack()
    author.disconnect()
    author.connect()
    rulebook.change(world, { action: 'stay', clientId: 'author', is: 'deny' })
    world.passMs(authenticationMs)
    assert.equal(author.connack?.reasonCode, reasonCodes.banned)
  })

  test('is refused when the broker stops', () => {
    const { world, author } = heldBack()
    author.connect()
    world.stop()
    assert.equal(author.connack?.reasonCode, reasonCodes.serverUnavailable)
  })

  test('has its will authorized again if the decision is not cached any more', () => {
    const { world, rulebook, subscriber, author } = heldBack()
    author.disconnect()
    author.connect({ will: { topic: 'slow', payload: 'gone' } })
    world.passMs(authenticationMs - 1)
    rulebook.change(world, { action: 'publish', topic: 'slow', is: 'unknown' })
    world.passMs(1)
    assert.equal(author.isConnected, false)
    world.passMs(authenticationMs)
    assert.equal(author.connack?.reasonCode, reasonCodes.success)
    assert.deepEqual(subscriber.payloads, ['two'], 'a message whose second request is undecided is denied')
  })
})

const greeting = plainConnect(5, 'author', {
  cleanStart: false,
  properties: { sessionExpiryIntervalSeconds: 3_600 },
})
