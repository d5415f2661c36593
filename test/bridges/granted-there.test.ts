// What the remote broker has granted, and what is left of it as a mark.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GrantedThere, grantedPrefix } from '../../src/bridges/granted-there.ts'
import type { QoS, SubscriptionRequest, TopicFilter } from '../../src/protocol/index.ts'

function request(filter: string, qos: QoS = 1): SubscriptionRequest {
  return { filter: filter as TopicFilter, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 }
}

function subscribe(packetId: number, subscriptions: SubscriptionRequest[]) {
  return { type: 'subscribe', packetId, subscriptions, properties: undefined } as const
}

test('the mark says what was granted when all answers are there, and nothing of what was refused', () => {
  const granted = new GrantedThere(undefined)
  granted.noteAsked(subscribe(1, [request('a/#'), request('b/+', 2)]))
  granted.noteAsked(subscribe(2, [request('c')]))
  assert.equal(granted.take({ packetId: 1, reasonCodes: [1, 0x80] }), false)
  assert.equal(granted.take({ packetId: 7, reasonCodes: [0] }), false, 'nobody asked')
  assert.equal(granted.take({ packetId: 2, reasonCodes: [0] }), true)
  const again = new GrantedThere(granted.mark)
  const missing = again.missing([request('a/#'), request('b/+', 2), request('c', 2)])
  assert.deepEqual(
    missing.requests.map(({ filter }) => filter),
    ['b/+', 'c'],
  )
  assert.deepEqual(again.missing([request('c')]).gone, ['a/#'])
  again.noteAsked({ type: 'unsubscribe', packetId: 3, filters: ['a/#' as TopicFilter], properties: undefined })
  assert.equal(again.take({ packetId: 3, reasonCodes: [] }), true)
  assert.deepEqual(again.missing([]).gone, ['c'])
})

test('a mark that is too long is none, and what was not written by a bridge says nothing', () => {
  const granted = new GrantedThere(undefined)
  granted.noteAsked(subscribe(1, [request(`a/${'x'.repeat(50_000)}`)]))
  assert.equal(granted.take({ packetId: 1, reasonCodes: [0] }), true)
  assert.equal(granted.mark, undefined)
  const texts = ['', '{', '7', '{"a":1}', '[["a"],[1,2],["b","1"],["c/#/d","1"],null]']
  const gone = texts.map((text) => {
    const mark = `${grantedPrefix}${Buffer.from(text).toString('base64url')}` as TopicFilter
    return new GrantedThere(mark).missing([]).gone
  })
  assert.deepEqual(gone, [[], [], [], [], ['b']])
})
