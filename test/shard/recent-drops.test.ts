import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DropReason, Message, never } from '../../src/core/index.ts'
import { type TopicName, Topic } from '../../src/protocol/index.ts'
import { RecentDrops } from '../../src/shard/observe/recent-drops.ts'
import type { DroppedQuery } from '../../src/shard/messages/query-types.ts'

const anything: DroppedQuery = { topic: undefined, reason: undefined, clientId: undefined, sinceMs: undefined }

function note(
  ledger: RecentDrops,
  atMs: number,
  topic: string,
  from: { reason?: DropReason; publisher?: string } = {},
) {
  const message = new Message(new Topic(topic as TopicName, Buffer.from(topic)), {
    qos: 1,
    retain: false,
    properties: undefined,
    publisher: from.publisher ?? 'author',
    publishedAtMs: 0,
    expiresAtMs: never,
    chunk: Buffer.alloc(0),
    payloadStart: 0,
    payloadEnd: 0,
  })
  ledger.note({ event: 'message-dropped', clientId: 'reader', message, reason: from.reason ?? 'queue-full' }, atMs)
}

function topicsOf(ledger: RecentDrops, query: Partial<DroppedQuery> = {}, limit = 1_000): string[] {
  return ledger.find({ ...anything, ...query }, limit).newest.map(({ topic }) => topic)
}

test('the ledger of drops has the newest first, and finds by topic, filter, reason, client and time', () => {
  const ledger = new RecentDrops()
  note(ledger, 1, 'a/1')
  note(ledger, 2, 'a/2', { reason: 'expired' })
  note(ledger, 3, 'b', { publisher: 'other' })
  assert.deepEqual(topicsOf(ledger), ['b', 'a/2', 'a/1'])
  assert.deepEqual(topicsOf(ledger, { topic: 'a/1' }), ['a/1'])
  assert.deepEqual(topicsOf(ledger, { topic: 'a/+' }), ['a/2', 'a/1'])
  assert.deepEqual(topicsOf(ledger, { reason: 'expired' }), ['a/2'])
  assert.deepEqual(topicsOf(ledger, { clientId: 'other' }), ['b'])
  assert.deepEqual(topicsOf(ledger, { clientId: 'reader' }), ['b', 'a/2', 'a/1'])
  assert.deepEqual(topicsOf(ledger, { sinceMs: 2 }), ['b', 'a/2'])
  assert.deepEqual(topicsOf(ledger, { clientId: 'nobody' }), [])
  assert.deepEqual(ledger.find(anything, 1), { newest: ledger.find(anything, 1).newest, count: 3 })
  assert.equal(ledger.find(anything, 1).newest.length, 1)
})

test('the ledger of drops forgets the oldest beyond so many messages, for ever', () => {
  const ledger = new RecentDrops({ messages: 3, characters: 1_000 })
  for (let number = 0; number < 20; number++) {
    note(ledger, number, String(number))
    const last = Array.from({ length: Math.min(3, number + 1) }, (_, back) => String(number - back))
    assert.deepEqual(topicsOf(ledger), last)
  }
})

test('the ledger of drops forgets the oldest where topics are long', () => {
  const ledger = new RecentDrops({ messages: 100, characters: 250 })
  for (let number = 0; number < 10; number++) note(ledger, number, `${number}${'x'.repeat(99)}`)
  assert.deepEqual(
    topicsOf(ledger).map((topic) => topic[0]),
    ['9', '8'],
  )
  note(ledger, 11, 'y'.repeat(300))
  assert.deepEqual(topicsOf(ledger), [], 'one that is longer than all may be is not kept')
})
