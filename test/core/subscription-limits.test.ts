// Limits on the work that the subscriptions of one session cause for publications of others.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  matchesFilter,
  parseTopicFilter,
  parseTopicName,
  reasonCodes,
  splitSharedFilter,
} from '../../src/protocol/index.ts'
import { SubscriptionUsage } from '../../src/core/state/sessions/subscription-usage.ts'
import { World, type Client } from '../simulator/world.ts'
import { fc } from '../properties.ts'

const { quotaExceeded } = reasonCodes

/** The codes of SUBACK, by filter. */
function subscribeAll(client: Client, filters: readonly string[]): Map<string, number | undefined> {
  return new Map(filters.map((filter) => [filter, client.subscribe(filter, { qos: 1 })?.reasonCodes[0]]))
}

const grantedOf = (codes: Map<string, number | undefined>): number =>
  [...codes.values()].filter((code) => code === 1).length

/** All filters of `levels` levels, each `a` or `+`. */
function everyMixOf(levels: number): string[] {
  const count = 2 ** levels
  return Array.from({ length: count }, (_, bits) =>
    Array.from({ length: levels }, (_, level) => ((bits >> level) & 1 ? '+' : 'a')).join('/'),
  )
}

describe('subscriptions of one session that one topic can match', () => {
  test('are limited: beyond the limit SUBACK has 0x97, and the other subscriptions work', () => {
    const world = new World({ settings: { maxOverlappingSubscriptions: 20 } })
    const attacker = world.connect('attacker')
    const codes = subscribeAll(attacker, everyMixOf(7))
    assert.equal(grantedOf(codes), 20)
    assert.deepEqual([...new Set([...codes.values()].filter((code) => code !== 1))], [quotaExceeded])
    world.connect('publisher').publish('a/a/a/a/a/a/a', 'x', { qos: 1 })
    assert.equal(attacker.payloads.length, 1)
  })

  test('are counted for each shared group', () => {
    const world = new World({ settings: { maxOverlappingSubscriptions: 10 } })
    const attacker = world.connect('attacker')
    const groups = Array.from({ length: 100 }, (_, group) => `$share/g${group}/one/topic`)
    assert.equal(grantedOf(subscribeAll(attacker, groups)), 10)
  })

  test('do not limit how many filters of the same pattern a session has', () => {
    const world = new World({ settings: { maxOverlappingSubscriptions: 10 } })
    const dashboard = world.connect('dashboard')
    const plain = Array.from({ length: 300 }, (_, device) => `devices/${device}/state`)
    const wildcards = Array.from({ length: 300 }, (_, device) => `devices/${device}/+/alarm/#`)
    assert.equal(grantedOf(subscribeAll(dashboard, [...plain, ...wildcards])), 600)
  })

  test('free their slots when they end', () => {
    const world = new World({ settings: { maxOverlappingSubscriptions: 9 } })
    const client = world.connect('client')
    const filters = everyMixOf(5)
    const granted = [...subscribeAll(client, filters)].filter(([, code]) => code === 1).map(([filter]) => filter)
    const [first = '', second = ''] = granted
    const [further = ''] = filters.filter((filter) => !granted.includes(filter))
    assert.equal(client.subscribe(second, { qos: 0 })?.reasonCodes[0], 0, 'an existing subscription may change')
    assert.equal(client.subscribe(further, { qos: 1 })?.reasonCodes[0], quotaExceeded)
    client.unsubscribe(first)
    assert.equal(client.subscribe(further, { qos: 1 })?.reasonCodes[0], 1)
  })

  test('are never more than the counted patterns', () => {
    const level = fc.constantFrom('a', 'b', '+')
    const filter = fc
      .tuple(
        fc.array(level, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        fc.constantFrom('', '$share/x/', '$share/y/'),
      )
      .map(([levels, isOpen, prefix]) => `${prefix}${levels.join('/')}${isOpen ? '/#' : ''}`)
    const topic = fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 5 }).map((levels) => levels.join('/'))
    fc.assert(
      fc.property(fc.uniqueArray(filter, { maxLength: 40 }), topic, (texts, text) => {
        const usage = new SubscriptionUsage()
        const filters = texts.map((written) => parseTopicFilter(written)!)
        for (const one of filters) usage.add(one)
        const name = parseTopicName(text)!
        const matching = filters.filter((one) => matchesFilter(splitSharedFilter(one)?.filter ?? one, name))
        assert.ok(matching.length <= usage.overlapping, `${matching.length} of ${texts.join(' ')}`)
        for (const one of filters) usage.remove(one)
        assert.deepEqual([usage.overlapping, usage.bytes], [0, 0])
      }),
      { seed: 18 },
    )
  })
})

test('the filters of one session are limited in bytes and in number', () => {
  const world = new World({ settings: { maxSubscriptionBytes: 100_000, maxSubscriptions: 30 } })
  const large = Array.from({ length: 50 }, (_, number) => `${number}/${'x'.repeat(10_000)}`)
  assert.equal(grantedOf(subscribeAll(world.connect('large'), large)), 9)
  const small = Array.from({ length: 50 }, (_, number) => `${number}`)
  assert.equal(grantedOf(subscribeAll(world.connect('many'), small)), 30)
})
