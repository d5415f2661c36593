// What was sent to a client that has not answered, and is not sent again as it may not have it any more.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Client, ConnectOptions, World } from '../simulator/world.ts'
import { worldWith, type Rulebook } from './rulebook.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

/** One that is given messages and answers none by itself. */
function silent(world: World, options: ConnectOptions): Client {
  const client = world.connect('slow', { ...durable, ...options })
  client.acknowledges = false
  client.subscribe(['a', 'b'])
  return client
}

function withdraw(world: World, rulebook: Rulebook): void {
  rulebook.change(world, { action: 'receive', clientId: 'slow', topic: 'a' })
}

describe('what a client has been sent and may not have any more', () => {
  for (const qos of [1, 2] as const) {
    test(`[MQTT5-3.3.4-9] QoS ${qos}: keeps its place in the window until it is answered, when it is due again as well (seed 402659)`, () => {
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
    test(`[MQTT5-3.3.4-9] ${version}: leaves its place to others on the next connection`, () => {
      const { world, rulebook } = worldWith([], { settings: { retryIntervalMs: 0, maxInflightMessages: 1 } })
      const slow = silent(world, { version })
      for (const topic of ['a', 'b']) world.publish(topic, topic, { qos: 2 })
      withdraw(world, rulebook)
      assert.deepEqual(slow.payloads, ['a'])
      slow.connect()
      assert.deepEqual(slow.payloads, ['a', 'b'])
      assert.equal(world.view.counts.dropped['not-allowed'], 1)
    })
  }
})
