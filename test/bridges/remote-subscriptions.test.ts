// The subscriptions that the remote broker granted, and how they are stored as filters ("marks").

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RemoteSubscriptions, grantedPrefix } from '../../src/bridges/subscriptions/remote-subscriptions.ts'
import type { QoS, SubscriptionRequest, TopicFilter } from '../../src/protocol/index.ts'

function request(filter: string, qos: QoS = 1): SubscriptionRequest {
  return { filter: filter as TopicFilter, qos, noLocal: false, retainAsPublished: false, retainHandling: 0 }
}

function subscribe(packetId: number, subscriptions: SubscriptionRequest[]) {
  return { type: 'subscribe', packetId, subscriptions, properties: undefined } as const
}

test('the subscription state has the granted filters after all SUBACKs, and no refused ones', () => {
  const granted = new RemoteSubscriptions([])
  granted.recordRequest(subscribe(1, [request('a/#'), request('b/+', 2)]))
  granted.recordRequest(subscribe(2, [request('c')]))
  assert.equal(granted.handleAck({ packetId: 1, reasonCodes: [1, 0x80] }), false)
  assert.equal(granted.handleAck({ packetId: 7, reasonCodes: [0] }), false, 'not requested')
  assert.equal(granted.handleAck({ packetId: 2, reasonCodes: [0] }), true)
  const again = new RemoteSubscriptions(granted.marks)
  const missing = again.planChanges([request('a/#'), request('b/+', 2), request('c', 2)])
  assert.deepEqual(
    missing.requests.map(({ filter }) => filter),
    ['b/+', 'c'],
  )
  assert.deepEqual(again.planChanges([request('c')]).removed, ['a/#'])
  again.recordRequest({ type: 'unsubscribe', packetId: 3, filters: ['a/#' as TopicFilter], properties: undefined })
  assert.equal(again.handleAck({ packetId: 3, reasonCodes: [] }), true)
  assert.deepEqual(again.planChanges([]).removed, ['c'])
})

test('a mark that is too long is not written, and an invalid one is ignored', () => {
  const granted = new RemoteSubscriptions([])
  granted.recordRequest(subscribe(1, [request(`a/${'x'.repeat(50_000)}`)]))
  assert.equal(granted.handleAck({ packetId: 1, reasonCodes: [0] }), true)
  assert.deepEqual(granted.marks, [])
  const texts = ['', '{', '7', '{"a":1}', '[["a"],[1,2],["b","1"],["c/#/d","1"],null]']
  const gone = texts.map((text) => {
    const mark = `${grantedPrefix}${Buffer.from(text).toString('base64url')}` as TopicFilter
    return new RemoteSubscriptions([mark]).planChanges([]).removed
  })
  assert.deepEqual(gone, [[], [], [], [], ['b']])
})

test('many filters need several marks, and a change replaces one or two of them', () => {
  const granted = new RemoteSubscriptions([])
  granted.recordRequest(
    subscribe(
      1,
      Array.from({ length: 1_000 }, (_, index) => request(`plant/${index}/state`)),
    ),
  )
  granted.handleAck({ packetId: 1, reasonCodes: Array.from({ length: 1_000 }, () => 1) })
  const before = new Set(granted.marks)
  assert.ok(before.size > 16 && before.size <= 32, `${before.size} marks`)
  const again = new RemoteSubscriptions([...before])
  assert.deepEqual(again.planChanges([]).removed.length, 1_000)
  again.recordRequest(subscribe(2, [request('one/more')]))
  assert.equal(again.handleAck({ packetId: 2, reasonCodes: [1] }), true)
  assert.equal(again.marks.filter((mark) => !before.has(mark)).length, 1)
})

test('a mark of an uncertain filter has precedence over one of a granted filter', () => {
  const granted = new RemoteSubscriptions([])
  granted.recordRequest(subscribe(1, [request('a'), request('b')]))
  granted.handleAck({ packetId: 1, reasonCodes: [1, 1] })
  const unsure = RemoteSubscriptions.createUncertainMark({ removed: ['a' as TopicFilter], requests: [request('c')] })
  assert.ok(unsure !== undefined)
  for (const marks of [
    [unsure, ...granted.marks],
    [...granted.marks, unsure],
  ]) {
    const all = new RemoteSubscriptions(marks).all
    assert.deepEqual([all.get('a' as TopicFilter), all.get('b' as TopicFilter)], [undefined, 1])
    assert.deepEqual([...all.keys()].join(''), marks[0] === unsure ? 'acb' : 'abc')
  }
  assert.equal(
    RemoteSubscriptions.createUncertainMark({ removed: [], requests: [request(`a/${'x'.repeat(50_000)}`)] }),
    undefined,
  )
})
