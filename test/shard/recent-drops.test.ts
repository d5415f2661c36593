import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DropReason, Message, never } from '../../src/core/index.ts'
import { type TopicName, Topic } from '../../src/protocol/index.ts'
import { RecentDrops } from '../../src/shard/observe/recent-drops.ts'
import type { DroppedQuery } from '../../src/shard/messages/query-types.ts'

const anything: DroppedQuery = { topic: undefined, reason: undefined, clientId: undefined, sinceMs: undefined }

function note(drops: RecentDrops, atMs: number, topic: string, from: { reason?: DropReason; publisher?: string } = {}) {
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
  drops.record({ event: 'message-dropped', clientId: 'reader', message, reason: from.reason ?? 'queue-full' }, atMs)
}

function topicsOf(drops: RecentDrops, query: Partial<DroppedQuery> = {}, limit = 1_000): string[] {
  return drops.find({ ...anything, ...query }, limit).newest.map(({ topic }) => topic)
}

test('recent drops are listed from the newest, and filtered by topic, filter, reason, client and time', () => {
  const drops = new RecentDrops()
  note(drops, 1, 'a/1')
  note(drops, 2, 'a/2', { reason: 'expired' })
  note(drops, 3, 'b', { publisher: 'other' })
  assert.deepEqual(topicsOf(drops), ['b', 'a/2', 'a/1'])
  assert.deepEqual(topicsOf(drops, { topic: 'a/1' }), ['a/1'])
  assert.deepEqual(topicsOf(drops, { topic: 'a/+' }), ['a/2', 'a/1'])
  assert.deepEqual(topicsOf(drops, { reason: 'expired' }), ['a/2'])
  assert.deepEqual(topicsOf(drops, { clientId: 'other' }), ['b'])
  assert.deepEqual(topicsOf(drops, { clientId: 'reader' }), ['b', 'a/2', 'a/1'])
  assert.deepEqual(topicsOf(drops, { sinceMs: 2 }), ['b', 'a/2'])
  assert.deepEqual(topicsOf(drops, { clientId: 'nobody' }), [])
  assert.deepEqual(drops.find(anything, 1), { newest: drops.find(anything, 1).newest, count: 3 })
  assert.equal(drops.find(anything, 1).newest.length, 1)
})

test('recent drops above the maximum of entries are removed, from the oldest', () => {
  const drops = new RecentDrops({ messages: 3, characters: 1_000 })
  for (let number = 0; number < 20; number++) {
    note(drops, number, String(number))
    const last = Array.from({ length: Math.min(3, number + 1) }, (_, back) => String(number - back))
    assert.deepEqual(topicsOf(drops), last)
  }
})

test('recent drops above the maximum of bytes are removed, from the oldest', () => {
  const drops = new RecentDrops({ messages: 100, characters: 250 })
  for (let number = 0; number < 10; number++) note(drops, number, `${number}${'x'.repeat(99)}`)
  assert.deepEqual(
    topicsOf(drops).map((topic) => topic[0]),
    ['9', '8'],
  )
  note(drops, 11, 'y'.repeat(300))
  assert.deepEqual(topicsOf(drops), [], 'an entry larger than the maximum is not stored')
})
