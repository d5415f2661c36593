// Filters of clients, as bridges receive them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ClientFilters } from '../../src/core/state/client-filters.ts'
import type { QoS, TopicFilter } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'

function counted(world: World): Map<string, QoS | undefined> {
  const { clientFilters } = world.coreOf('')
  assert.equal(clientFilters?.isComplete, true)
  return new Map(clientFilters.take())
}

function counting(): World {
  const world = new World({ shards: 1 })
  world.host.handle({ kind: 'client-filters', areWanted: true })
  world.passSeconds(1)
  return world
}

describe('filters of clients', () => {
  test('are announced with the highest requested QoS, and withdrawn with the last subscriber', () => {
    const world = counting()
    const [first, second] = [world.connect('first'), world.connect('second')]
    first.subscribe('a/#', { qos: 0 })
    assert.deepEqual([...counted(world)], [['a/#', 0]])
    second.subscribe('a/#', { qos: 2 })
    assert.deepEqual([...counted(world)], [['a/#', 2]])
    first.subscribe('a/#', { qos: 1 })
    assert.deepEqual([...counted(world)], [])
    second.unsubscribe('a/#')
    assert.deepEqual([...counted(world)], [['a/#', 1]])
    first.disconnect()
    assert.deepEqual([...counted(world)], [['a/#', undefined]])
  })

  test('that are added and removed between two checks are not announced', () => {
    const world = counting()
    const client = world.connect('c')
    for (let round = 0; round < 3; round++) {
      client.subscribe('a')
      client.unsubscribe('a')
    }
    assert.deepEqual([...counted(world)], [])
  })

  test('of persistent sessions count until the session ends, also after a restart', () => {
    const world = counting()
    const durable = { cleanStart: false, sessionExpirySeconds: 60 }
    const client = world.connect('c', durable)
    client.subscribe('a', { qos: 1 })
    client.disconnect()
    assert.deepEqual([...counted(world)], [['a', 1]])
    world.restart()
    world.host.handle({ kind: 'client-filters', areWanted: true })
    world.passSeconds(1)
    assert.deepEqual([...counted(world)], [['a', 1]])
    world.passSeconds(61)
    assert.deepEqual([...counted(world)], [['a', undefined]])
  })

  test('include those of $share and $exclusive, and exclude those of the broker, of namespaces and of bridges', () => {
    const world = new World({ shards: 1, settings: { exclusiveSubscriptionAvailable: true } })
    const client = world.connect('c')
    client.subscribe('$share/g/shared/#', { qos: 1 })
    client.subscribe('$exclusive/alone', { qos: 2 })
    client.subscribe('$SYS/#')
    client.subscribe('$ns/plant/lamp')
    const remoteBridge = world.connect('bridge of another broker')
    remoteBridge.subscribe('bridged', { noLocal: true, retainAsPublished: true })
    world.host.handle({ kind: 'client-filters', areWanted: true })
    world.passSeconds(1)
    assert.deepEqual(
      [...counted(world)],
      [
        ['shared/#', 1],
        ['alone', 2],
      ],
    )
  })

  test('from before the watch started are counted once, whatever changes meanwhile', () => {
    const world = new World({ shards: 1 })
    const clients = Array.from({ length: 2_500 }, (_, index) => world.connect(`c${index}`))
    for (const [index, client] of clients.entries()) client.subscribe(`own/${index}`)
    world.host.handle({ kind: 'client-filters', areWanted: true })
    const filters = world.coreOf('').clientFilters
    assert.equal(filters?.isComplete, false)
    clients[0]?.unsubscribe('own/0')
    clients[2_499]?.unsubscribe('own/2499')
    clients[1]?.disconnect()
    world.connect('late').subscribe('late')
    world.passSeconds(1)
    const found = counted(world)
    assert.equal(found.size, 2_500 - 3 + 1)
    assert.equal(found.get('late'), 2)
    assert.equal([...found.values()].includes(undefined), false)
    world.host.handle({ kind: 'client-filters', areWanted: false })
    assert.equal(world.coreOf('').clientFilters, undefined)
  })

  test('above the limit wait until there is space, and are announced then', () => {
    const filters = new ClientFilters(2)
    const session = { clientId: 'c', place: 0, subscriptions: undefined }
    const options = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0, raisesTo: 0 } as const
    const change = (filter: string, isThere: boolean): void => {
      const own = { ...options, identifier: undefined }
      const [before, after] = isThere ? [undefined, own] : [own, undefined]
      filters.recordChange(session, filter as TopicFilter, { before, after })
    }
    filters.walk({ places: 0, at: () => undefined })
    for (const filter of ['a', 'b', 'c', 'd']) change(filter, true)
    assert.deepEqual(filters.take(), [
      ['a', 1],
      ['b', 1],
    ])
    assert.equal(filters.unreported, 2)
    change('c', false)
    change('a', false)
    assert.deepEqual(filters.take(), [
      ['a', undefined],
      ['d', 1],
    ])
    assert.equal(filters.unreported, 0)
    assert.deepEqual(filters.all, [
      ['b', 1],
      ['d', 1],
    ])
  })
})
