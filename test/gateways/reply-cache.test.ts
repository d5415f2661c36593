// Recent requests and responses of the CoAP gateway, for requests that are sent again.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplyCache } from '../../src/gateways/coap/endpoint/reply-cache.ts'

const lifetimeMs = 247_000
const maxReplies = 65_536

test('[F4] a message ID of a peer is known until its lifetime ends, and that of another peer is another one', () => {
  const replies = new ReplyCache()
  const begin = (peer: string, nowMs: number) => replies.begin(peer, 7, { nowMs, lifetimeMs })
  assert.equal(begin('a', 0), 'new')
  assert.equal(begin('b', 1), 'new')
  assert.equal(begin('a', 2), undefined, 'it has no response yet')
  replies.setReply('a', 7, 68)
  const whole = Buffer.from('whole')
  replies.setReply('b', 7, whole)
  assert.equal(begin('a', lifetimeMs - 1), 68)
  assert.equal(begin('a', lifetimeMs), 'new')
  assert.equal(begin('a', lifetimeMs), undefined, 'the old response does not belong to the new request')
  assert.deepEqual(begin('b', lifetimeMs), whole)
})

test('[F4] a short lifetime after a long one ends in time, and its slot is not that of the next request', () => {
  const replies = new ReplyCache()
  assert.equal(replies.begin('long', 1, { nowMs: 0, lifetimeMs: 100 }), 'new')
  assert.equal(replies.begin('short', 1, { nowMs: 0, lifetimeMs: 10 }), 'new')
  assert.equal(replies.begin('short', 1, { nowMs: 20, lifetimeMs: 1_000 }), 'new')
  replies.setReply('short', 1, 65)
  // Its first slot is freed here, with that of the other.
  assert.equal(replies.begin('third', 1, { nowMs: 200, lifetimeMs: 10 }), 'new')
  assert.equal(replies.begin('short', 1, { nowMs: 201, lifetimeMs: 10 }), 65)
  assert.equal(replies.begin('long', 1, { nowMs: 202, lifetimeMs: 10 }), 'new')
})

test('[F8] above 65,536 requests or 16 MiB of responses, the oldest are removed', () => {
  const replies = new ReplyCache()
  const times = { nowMs: 0, lifetimeMs }
  for (let count = 0; count <= maxReplies; count++) replies.begin(`peer ${count % 300}`, count % maxReplies, times)
  assert.equal(replies.begin('peer 1', 1, times), undefined)
  assert.equal(replies.begin('peer 0', 0, times), 'new')
  for (let count = 0; count < 17; count++) {
    assert.equal(replies.begin('large', count, times), 'new')
    replies.setReply('large', count, Buffer.alloc(1_048_576))
  }
  assert.equal(replies.begin('next', 0, times), 'new')
  assert.equal(replies.begin('peer 299', 299, times), 'new', 'all others are older than the large ones')
  assert.equal(replies.begin('large', 0, times), 'new')
  assert.ok(Buffer.isBuffer(replies.begin('large', 16, times)))
})
