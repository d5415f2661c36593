// QoS 2 messages that were sent without an acknowledgement, and are not sent again because the client lost the permission.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { InflightWindow } from '../../src/core/state/sessions/inflight-window.ts'
import { acksOf } from '../conformance/raw.ts'
import type { Client, ConnectOptions, World } from '../simulator/world.ts'
import { worldWith, type Rulebook } from './denied-actions.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

/** Returns a client that receives messages and acknowledges none by itself. */
function silent(world: World, options: ConnectOptions): Client {
  const client = world.connect('slow', { ...durable, ...options })
  client.acknowledges = false
  client.subscribe(['a', 'b'])
  return client
}

function withdraw(world: World, rulebook: Rulebook): void {
  rulebook.change(world, { action: 'receive', clientId: 'slow', topic: 'a' })
}

const one = () => ({ packetId: 0, sendOrder: 0, heldBytes: 0 })

const outgoing = (world: World): number => world.records().filter(({ kind }) => kind === 'outgoing').length

describe('a message that was sent to a client and is now denied', () => {
  for (const qos of [1, 2] as const) {
    test(`[MQTT5-3.3.4-9] QoS ${qos}: keeps its place in the in-flight window until it is acknowledged, also when a retry is due (seed 402659)`, () => {
      const { world, rulebook } = worldWith([], { settings: { retryIntervalMs: 10_000, maxInflightMessages: 2 } })
      const slow = silent(world, { version: 4 })
      for (const [at, topic] of ['a', 'b', 'b'].entries()) world.publish(topic, `${at + 1}`, { qos })
      withdraw(world, rulebook)
      world.passSeconds(25)
      const again = slow.messages.slice(2)
      assert.ok(again.length > 0 && again.every(({ dup, payload }) => dup && payload === '2'), 'the third waits')
      slow.acknowledge(slow.messages[0])
      if (qos === 2) slow.complete(slow.messages[0].packetId)
      assert.deepEqual([slow.messages.at(-1)?.payload, slow.messages.at(-1)?.dup], ['3', false])
    })
  }

  for (const version of [4, 5] as const) {
    test(`[MQTT5-3.3.4-9] ${version}: frees its place for other messages on the next connection`, () => {
      const { world, rulebook } = worldWith([], { settings: { retryIntervalMs: 0, maxInflightMessages: 1 } })
      const slow = silent(world, { version })
      for (const topic of ['a', 'b']) world.publish(topic, topic, { qos: 2 })
      withdraw(world, rulebook)
      assert.deepEqual(slow.payloads, ['a'])
      slow.connect()
      assert.deepEqual(slow.payloads, ['a', 'b'])
      assert.equal(world.view.counts.dropped['not-allowed'], 1)
    })

    for (const restarts of [false, true]) {
      test(`[MQTT-4.3.3-2] [MQTT5-4.3.3-10] ${version}: its QoS 2 packet identifier is not used for another message until the client has acknowledged it${restarts ? ', also after a restart' : ''}`, () => {
        const { world, rulebook } = worldWith([], { settings: { retryIntervalMs: 0 } })
        const slow = silent(world, { version })
        world.publish('a', 'a', { qos: 2 })
        const [{ packetId }] = slow.messages
        slow.drop()
        withdraw(world, rulebook)
        slow.connect()
        if (restarts) {
          world.restart('power-loss')
          slow.connect()
        }
        for (let count = 0; count < 10; count++) world.publish('b', `${count}`, { qos: 2 })
        assert.equal(slow.payloads.length, 11)
        assert.ok(!slow.messages.slice(1).some((message) => message.packetId === packetId))

        const before = outgoing(world)
        slow.acknowledge(slow.messages[0])
        const [release] = acksOf(slow.wire!, 'pubrel')
        assert.deepEqual([release?.packetId, release?.reasonCode], [packetId, reasonCodes.success])
        slow.complete(packetId)
        assert.equal(outgoing(world), before - 1)
      })
    }
  }

  test('[MQTT5-3.1.2-25] a message that is too large for the client after its reconnect keeps its packet identifier, too', () => {
    const { world } = worldWith([], {})
    const slow = silent(world, { version: 5 })
    world.publish('a', 'x'.repeat(1_000), { qos: 2 })
    slow.drop()
    slow.connect({ maximumPacketBytes: 100 })
    assert.equal(world.view.counts.dropped['too-large'], 1)
    world.restart('power-loss')
    slow.connect()
    world.publish('a', 'y', { qos: 2 })
    assert.equal(slow.messages.length, 2)
    assert.notEqual(slow.messages[1].packetId, slow.messages[0].packetId)
  })

  test('a PUBREC with an error frees its packet identifier', () => {
    const { world, rulebook } = worldWith([], {})
    const slow = silent(world, { version: 5 })
    world.publish('a', 'a', { qos: 2 })
    slow.drop()
    withdraw(world, rulebook)
    slow.connect()
    assert.equal(outgoing(world), 1)
    slow.acknowledge(slow.messages[0], reasonCodes.quotaExceeded)
    assert.deepEqual([outgoing(world), acksOf(slow.wire!, 'pubrel').length], [0, 0])
  })
})

describe('packet identifiers of the in-flight window', () => {
  const largestId = 2_047

  test('an abandoned one is skipped until it is freed', () => {
    const window = new InflightWindow(7)
    const first = one()
    window.add(first)
    window.abandon(first)
    const others = Array.from({ length: 6 }, () => window.add(one()))
    assert.deepEqual([window.count, others], [6, [2, 3, 4, 5, 6, 7]])
    assert.equal(window.releaseAbandoned(1), true)
    assert.equal(window.releaseAbandoned(1), false)
    assert.equal(window.add(one()), 1)
  })

  test('of thousands of abandoned ones, the last are stored, and there is one for every message that may be in flight', () => {
    const window = new InflightWindow(largestId)
    for (let count = 0; count < 3 * largestId; count++) {
      const delivery = one()
      window.add(delivery)
      window.abandon(delivery)
    }
    const kept = Array.from({ length: largestId }, (_, at) => at + 1).filter((packetId) => window.isAbandoned(packetId))
    assert.equal(kept.length, largestId >> 2)
    const all = Array.from({ length: largestId }, () => window.add(one()))
    assert.equal(new Set(all).size, largestId)
  })

  test('identifiers continue after those that were restored', () => {
    const window = new InflightWindow(largestId)
    for (const packetId of [3, 9, 2_040]) window.addWithId(one(), packetId)
    assert.equal(window.add(one()), 10, '2,040 is far ahead, or an old one')
  })
})
