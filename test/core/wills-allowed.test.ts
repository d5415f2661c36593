// The permission for a will at CONNECT, and when it is published after the client has disconnected.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { identities, worldWith } from './denied-actions.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

describe('wills', () => {
  const will = { topic: 'wills/a', payload: 'gone' }

  test('a client whose will is not allowed is refused', () => {
    const { world } = worldWith([{ action: 'publish', topic: 'wills/#' }])
    for (const [version, code] of [
      [5, 0x87],
      [4, 5],
    ] as const) {
      const client = world.client('will-client', { version, will })
      client.connect()
      assert.equal(client.connack?.reasonCode, code)
      assert.equal(client.isConnected, false)
    }
  })

  test('a will that is not allowed any more is not published', () => {
    const { world, rulebook } = worldWith([])
    const willSubscriber = world.subscriber('wills/#')
    const client = world.connect('will-client', { will })
    rulebook.change(world, { action: 'publish', topic: 'wills/#' })
    client.drop()
    assert.deepEqual(willSubscriber.payloads, [])
    assert.equal(world.view.counts.dropped['not-allowed'], 1)
  })

  for (const expires of [false, true]) {
    const properties = expires ? { messageExpiryIntervalSeconds: 60 } : undefined
    test(`a retained will stays a message of its client${expires ? ', also if it expires' : ''}`, () => {
      for (const [isSuperuser, expected] of [
        [false, []],
        [true, ['gone']],
      ] as const) {
        const { world, rulebook } = worldWith([], { host: identities({ isSuperuser }) })
        world.connect('will-client', { will: { ...will, retain: true, ...(properties && { properties }) } }).drop()
        rulebook.change(world, { action: 'remain', username: 'user-will-client' })
        assert.deepEqual(world.subscriber('wills/#').payloads, expected)
      }
    })
  }

  test('of a client that is only known from its records are checked for the permission to remain', () => {
    const { world, rulebook } = worldWith([], { host: identities() })
    world.connect('will-client', { will: { ...will, properties: { willDelayIntervalSeconds: 60 } }, ...durable })
    world.connect('other', {
      will: { topic: 'wills/b', payload: 'gone too', properties: { willDelayIntervalSeconds: 60 } },
      ...durable,
    })
    world.restart()
    rulebook.rules = [{ action: 'remain', username: 'user-will-client' }]
    const willSubscriber = world.subscriber('wills/#')
    world.passSeconds(61)
    assert.deepEqual(willSubscriber.payloads, ['gone too'])
  })
})
