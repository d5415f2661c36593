// SUBSCRIBE and UNSUBSCRIBE with many filters: each filter is answered, and other clients do not wait for all of them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes, type TopicFilter } from '../../src/protocol/index.ts'
import { testShards } from '../test-length.ts'
import { plainConnect } from '../simulator/plain-connect.ts'
import { World, type Wire } from '../simulator/world.ts'

const count = 3_000
const limit = 2_500
const options = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
const filters = Array.from({ length: count }, (_, number) => `t/${number}` as TopicFilter)

function subscribed(version: 3 | 4 | 5): { world: World; wire: Wire } {
  const world = new World({ settings: { maxSubscriptions: limit } })
  const wire = world.wire({ version })
  wire.send({ ...plainConnect(version, 'many'), cleanStart: false })
  const subscriptions = filters.map((filter) => ({ filter, ...options }))
  wire.send({ type: 'subscribe', packetId: 1, subscriptions, properties: undefined })
  wire.send({ type: 'pingreq' })
  world.settle()
  return { world, wire }
}

for (const version of [3, 4, 5] as const)
  void describe(`MQTT ${version}, ${count} filters and at most ${limit} subscriptions`, () => {
    test('SUBSCRIBE is answered once, with a code for each filter, before the packets behind it', () => {
      const { world, wire } = subscribed(version)
      const suback = wire.received.find(({ type }) => type === 'suback')
      const types = wire.received.map(({ type }) => type)
      // With several shards, SUBACK waits until the other shards have the filters, and PINGRESP does not.
      if (testShards === 1) assert.deepEqual(types, ['connack', 'suback', 'pingresp'])
      else assert.deepEqual(types.toSorted(), ['connack', 'pingresp', 'suback'])
      const codes = suback?.type === 'suback' ? suback.reasonCodes : []
      const failure = version === 5 ? reasonCodes.quotaExceeded : 0x80
      assert.deepEqual([codes.length, codes.indexOf(failure), new Set(codes)], [count, limit, new Set([1, failure])])
      world.publish('t/2499', 'granted', { qos: 1 })
      world.publish('t/2500', 'refused', { qos: 1 })
      assert.equal(wire.received.filter(({ type }) => type === 'publish').length, 1)
    })

    test('UNSUBSCRIBE is answered once, and removes all of them', () => {
      const { world, wire } = subscribed(version)
      wire.send({ type: 'unsubscribe', packetId: 2, filters, properties: undefined })
      wire.send({ type: 'pingreq' })
      world.settle()
      const [, , , unsuback, pingresp] = wire.received
      assert.deepEqual([unsuback?.type, pingresp?.type], ['unsuback', 'pingresp'])
      if (version === 5)
        assert.deepEqual(unsuback?.type === 'unsuback' && [unsuback.reasonCodes.length, unsuback.reasonCodes[limit]], [
          count,
          reasonCodes.noSubscriptionExisted,
        ])
      world.publish('t/7', 'nobody', { qos: 1 })
      assert.equal(wire.received.filter(({ type }) => type === 'publish').length, 0)
    })
  })

test('a client that disconnects between two parts leaves a session with the subscriptions of the first', () => {
  const { world, wire } = subscribed(5)
  const all = world.view.findClient('many')?.subscriptions
  assert.equal(all, limit)
  wire.close()
  world.settle()
  assert.equal(world.view.connections, 0)
})
