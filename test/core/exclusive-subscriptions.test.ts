// mqtt.exclusive_subscription: one session at a time holds $exclusive/filter.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const worldWithIt = (): World => new World({ settings: { exclusiveSubscriptionAvailable: true } })

describe('an exclusive subscription', () => {
  test('is refused with 0x8F if it is disabled, to 3.1.1 clients with 0x80', () => {
    const world = new World()
    assert.equal(world.connect('one').subscribe('$exclusive/a')?.reasonCodes[0], reasonCodes.topicFilterInvalid)
    assert.equal(world.connect('old', { version: 4 }).subscribe('$exclusive/a')?.reasonCodes[0], 0x80)
  })

  test('gets messages and retained messages of the filter after the prefix', () => {
    const world = worldWithIt()
    world.publish('a/b', 'kept', { retain: true })
    const one = world.connect('one')
    assert.equal(one.subscribe('$exclusive/a/+', { qos: 1 })?.reasonCodes[0], 1)
    world.publish('a/b', 'live', { qos: 1 })
    assert.deepEqual(one.payloads, ['kept', 'live'])
  })

  test('a second session gets 0x97 until the first has unsubscribed', () => {
    const world = worldWithIt()
    const one = world.connect('one')
    const two = world.connect('two')
    one.subscribe('$exclusive/a')
    assert.equal(two.subscribe('$exclusive/a')?.reasonCodes[0], reasonCodes.quotaExceeded)
    assert.equal(two.subscribe('a', { qos: 0 })?.reasonCodes[0], 0, 'it only excludes other exclusive ones')
    assert.equal(one.subscribe('$exclusive/a', { qos: 1 })?.reasonCodes[0], 1, 'it may change its own')
    assert.deepEqual(one.unsubscribe('$exclusive/a')?.reasonCodes, [0])
    assert.equal(two.subscribe('$exclusive/a', { qos: 0 })?.reasonCodes[0], 0)
    world.publish('a', 'x')
    assert.deepEqual(two.payloads, ['x'])
    assert.deepEqual(one.payloads, [])
  })

  test('ends with its session, and stays with a persistent one, also after a restart', () => {
    const world = worldWithIt()
    const one = world.connect('one', durable)
    const two = world.connect('two')
    one.subscribe('$exclusive/a')
    one.disconnect()
    assert.equal(two.subscribe('$exclusive/a')?.reasonCodes[0], reasonCodes.quotaExceeded)
    world.restart()
    two.connect()
    assert.equal(two.subscribe('$exclusive/a')?.reasonCodes[0], reasonCodes.quotaExceeded)
    world.passSeconds(3_601)
    assert.equal(two.subscribe('$exclusive/a', { qos: 0 })?.reasonCodes[0], 0)
    two.drop()
    assert.equal(world.connect('three').subscribe('$exclusive/a', { qos: 0 })?.reasonCodes[0], 0)
  })

  test('replaces an ordinary subscription of the session to the same filter, and the other way round', () => {
    const world = worldWithIt()
    const one = world.connect('one')
    one.subscribe('a')
    one.subscribe('$exclusive/a')
    assert.deepEqual([...world.view.findSubscriptions('one').keys()], ['$exclusive/a'])
    one.subscribe('a', { qos: 1 })
    assert.deepEqual([...world.view.findSubscriptions('one').keys()], ['a'])
    world.publish('a', 'x')
    assert.deepEqual(one.payloads, ['x'])
    assert.equal(world.connect('two').subscribe('$exclusive/a', { qos: 0 })?.reasonCodes[0], 0)
  })

  test('an empty filter, a shared and an exclusive subscription are refused after the prefix', () => {
    for (const filter of ['$exclusive/', '$exclusive/$share/g/a', '$exclusive/$exclusive/a', '$exclusive/a/#/b']) {
      const client = worldWithIt().connect('one')
      client.subscribe(filter)
      assert.equal(client.isConnected, false, filter)
    }
  })
})
