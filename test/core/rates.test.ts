// Limits on publications of one client per second: the broker reads it more slowly, loses no message, and other clients are not affected.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ListenerTraits } from '../../src/core/index.ts'
import { World } from '../simulator/world.ts'

const limitedWorld = (listener: Partial<ListenerTraits>): World => new World({ host: { listener } })

describe('listeners.*.messages_rate', () => {
  for (const qos of [0, 1, 2] as const) {
    test(`QoS ${qos}: a burst of one second arrives at once, the rest at a constant rate, and all in order`, () => {
      const world = limitedWorld({ messagesPerSecond: 10 })
      const subscriber = world.subscriber('a', { qos })
      const client = world.connect('author', { version: 4 })
      const sent = Array.from({ length: 45 }, (_, index) => String(index))
      for (const payload of sent) client.publish('a', payload, { qos })
      const atOnce = subscriber.payloads.length
      assert.ok(atOnce >= 10 && atOnce <= 12, `${atOnce} came at once`)
      world.passSeconds(1)
      const afterOne = subscriber.payloads.length
      assert.ok(afterOne >= 17 && afterOne <= 23, `${afterOne} came within a second`)
      world.passSeconds(5)
      assert.deepEqual(subscriber.payloads, sent)
    })
  }

  test('a client that was silent for long may not publish more at once than others', () => {
    const world = limitedWorld({ messagesPerSecond: 10 })
    const subscriber = world.subscriber('a')
    const client = world.connect('author', { keepAliveSeconds: 0 })
    world.passSeconds(3_600)
    for (let count = 0; count < 45; count++) client.publish('a', String(count))
    assert.ok(subscriber.payloads.length <= 12, `${subscriber.payloads.length} came at once`)
  })

  test('a client below the limit is never delayed', () => {
    const world = limitedWorld({ messagesPerSecond: 10 })
    const subscriber = world.subscriber('a')
    const client = world.connect('author')
    for (let count = 0; count < 100; count++) {
      client.publish('a', String(count))
      assert.equal(subscriber.payloads.length, count + 1)
      world.passMs(100)
    }
  })

  test('other clients are not delayed meanwhile', () => {
    const world = limitedWorld({ messagesPerSecond: 5 })
    const subscriber = world.subscriber('fast')
    const greedy = world.connect('greedy')
    for (let count = 0; count < 1_000; count++) greedy.publish('a', 'x')
    world.publish('fast', 'y', { qos: 1 })
    assert.deepEqual(subscriber.payloads, ['y'])
  })

  test('a throttled client is not considered silent, nor while it catches up', () => {
    const world = limitedWorld({ messagesPerSecond: 1 })
    const client = world.connect('author', { keepAliveSeconds: 5 })
    for (let count = 0; count < 60; count++) client.publish('a', 'x')
    world.passSeconds(55)
    assert.equal(client.isConnected, true)
  })

  test('a client that disconnects while it is delayed leaves no state', () => {
    const world = limitedWorld({ messagesPerSecond: 1 })
    const client = world.connect('author')
    for (let count = 0; count < 5; count++) client.publish('a', 'x')
    client.drop()
    world.passSeconds(60)
    assert.equal(world.view.connections, 0)
    assert.equal(world.host.shards[0]?.core.findNextDeadlineMs(), Infinity)
  })
})

describe('listeners.*.bytes_rate', () => {
  test('counts whole packets; one larger than the rate of a second is accepted, and delays the next', () => {
    const world = limitedWorld({ bytesPerSecond: 1_000 })
    const subscriber = world.subscriber('a')
    const client = world.connect('author')
    client.publish('a', 'x'.repeat(4_000))
    client.publish('a', 'second')
    assert.equal(subscriber.payloads.length, 1)
    world.passMs(2_900)
    assert.equal(subscriber.payloads.length, 1)
    world.passMs(300)
    assert.deepEqual(subscriber.payloads.slice(1), ['second'])
  })
})

test('a query returns the rest of a rate and the delay of a client at the time of the query, also without packets since then', () => {
  const world = new World({ shards: 1, host: { listener: { messagesPerSecond: 10 } } })
  const slow = world.connect('slow')
  slow.subscribe('a', { qos: 1 })
  slow.acknowledges = false
  const author = world.connect('author')
  for (let count = 0; count < 10; count++) author.publish('a', 'x')
  world.publish('a', 'y', { qos: 1 })
  const [shard] = world.host.shards
  const view = shard?.core.view
  const usedAt = (nowMs: number): number | undefined =>
    view?.findClientStatus('author', nowMs)?.quotas.find(({ name }) => name === 'messages_rate')?.used
  assert.ok((usedAt(world.nowMs) ?? 0) > 5)
  assert.equal(usedAt(world.nowMs + 1_000), 0)
  const behindAt = (nowMs: number) => [...(view?.walkSlowSessions(nowMs) ?? [])].find((one) => one?.clientId === 'slow')
  assert.deepEqual([behindAt(world.nowMs)?.ageMs, behindAt(world.nowMs + 700)?.ageMs], [0, 700])
})
