// Limits on messages to one client and its subscriptions per second: QoS 1 and 2 arrive later and in order, and other clients
// are not affected.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ListenerTraits } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'

const limitedWorld = (listener: Partial<ListenerTraits>, shards = 1): World => new World({ shards, host: { listener } })
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index))

describe('listeners.*.deliveries_rate', () => {
  for (const shards of [1, 3])
    for (const qos of [1, 2] as const) {
      test(`QoS ${qos}: a burst of one second arrives at once, the rest at a constant rate and in order (${shards} shards)`, () => {
        const world = limitedWorld({ deliveriesPerSecond: 10 }, shards)
        const subscriber = world.subscriber('a', { qos })
        const sent = numbers(45)
        for (const payload of sent) world.publish('a', payload, { qos })
        const atOnce = subscriber.payloads.length
        assert.ok(atOnce >= 10 && atOnce <= 12, `${atOnce} came at once`)
        world.passSeconds(1)
        const afterOne = subscriber.payloads.length
        assert.ok(afterOne >= 17 && afterOne <= 23, `${afterOne} came within a second`)
        world.passSeconds(5)
        assert.deepEqual(subscriber.payloads, sent)
        assert.ok(world.view.counts.deferredDeliveries > 0)
        assert.equal(world.view.counts.dropped['queue-full'] + world.view.counts.dropped['rate-limited'], 0)
      })
    }

  test('QoS 0 above it is dropped and counted, and is sent again when there is capacity', () => {
    const world = limitedWorld({ deliveriesPerSecond: 10 })
    const subscriber = world.subscriber('a')
    for (const payload of numbers(45)) world.publish('a', payload)
    const came = subscriber.payloads.length
    assert.ok(came >= 10 && came <= 12, `${came} came`)
    assert.equal(world.view.counts.dropped['rate-limited'], 45 - came)
    world.passSeconds(2)
    world.publish('a', 'later')
    assert.equal(subscriber.payloads.at(-1), 'later')
  })

  test('other clients are served at once, and shared messages go to a member with capacity', () => {
    const world = limitedWorld({ deliveriesPerSecond: 10 })
    const slow = world.connect('slow')
    slow.subscribe('mine', { qos: 1 })
    slow.subscribe('$share/g/ours', { qos: 1 })
    const other = world.connect('other')
    other.subscribe('$share/g/ours', { qos: 1 })
    for (const payload of numbers(20)) world.publish('mine', payload, { qos: 1 })
    const before = slow.payloads.length
    for (const payload of numbers(6)) world.publish('ours', payload, { qos: 1 })
    assert.deepEqual([slow.payloads.length, other.payloads], [before, numbers(6)])
  })

  test('retained messages wait, too, also with QoS 0', () => {
    const world = limitedWorld({ deliveriesPerSecond: 10 })
    for (const number of numbers(40)) world.publish(`kept/${number}`, number, { retain: true })
    const subscriber = world.subscriber('kept/#')
    assert.ok(subscriber.payloads.length <= 12, `${subscriber.payloads.length} came at once`)
    world.passSeconds(5)
    assert.equal(subscriber.payloads.length, 40)
    assert.equal(world.view.counts.dropped['rate-limited'], 0)
  })

  test('a persistent session continues in order after its client reconnects, and after a restart', () => {
    const world = limitedWorld({ deliveriesPerSecond: 10 })
    const client = world.connect('stored', { cleanStart: false, sessionExpirySeconds: 3_600 })
    client.subscribe('a', { qos: 1 })
    const sent = numbers(60)
    for (const payload of sent) world.publish('a', payload, { qos: 1 })
    client.drop()
    world.passSeconds(1)
    client.connect()
    world.passSeconds(1)
    world.restart('power-loss')
    client.connect()
    world.passSeconds(10)
    assert.deepEqual([...new Set(client.payloads)], sent)
  })

  test('a client that disconnects while messages wait leaves no state', () => {
    const world = limitedWorld({ deliveriesPerSecond: 1 })
    const subscriber = world.subscriber('a', { qos: 1 })
    for (const payload of numbers(5)) world.publish('a', payload, { qos: 1 })
    subscriber.drop()
    world.passSeconds(60)
    assert.equal(world.view.findClient(subscriber.id), undefined)
  })
})

describe('listeners.*.subscriptions_rate', () => {
  for (const [version, refused] of [
    [5, reasonCodes.quotaExceeded],
    [4, 0x80],
    [3, 0x80],
  ] as const) {
    test(`one filter above it is refused with ${refused.toString(16)} by version ${version}, and granted a second later`, () => {
      const world = limitedWorld({ subscriptionsPerSecond: 3 })
      const client = world.connect('c', { version })
      const first = client.subscribe(['a', 'b', 'c', 'd'], { qos: 1 })
      assert.deepEqual(first?.reasonCodes, [1, 1, 1, refused])
      assert.equal(world.view.counts.subscriptionsRefusedByRate, 1)
      world.publish('d', 'unheard')
      assert.deepEqual(client.payloads, [])
      world.passSeconds(1)
      assert.deepEqual(client.subscribe('d', { qos: 1 })?.reasonCodes, [1])
    })
  }

  test('a query returns the quotas of both rates', () => {
    const world = limitedWorld({ subscriptionsPerSecond: 3, deliveriesPerSecond: 10 })
    const client = world.connect('c')
    client.subscribe('a', { qos: 1 })
    world.publish('a', 'x', { qos: 1 })
    const quotas = world.host.shards[0]?.core.view.findClientStatus('c', world.nowMs)?.quotas ?? []
    const rates = quotas.filter(({ name }) => name === 'deliveries_rate' || name === 'subscriptions_rate')
    assert.deepEqual(rates, [
      { name: 'deliveries_rate', used: 1, limit: 10 },
      { name: 'subscriptions_rate', used: 1, limit: 3 },
    ])
  })
})
