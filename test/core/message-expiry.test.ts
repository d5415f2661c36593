import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Message, never, computeRemainingSeconds } from '../../src/core/messages/message.ts'
import { parseTopicName, Topic } from '../../src/protocol/index.ts'

function published({ publishedAtMs, expiresAtMs }: { publishedAtMs: number; expiresAtMs: number }): Message {
  const name = parseTopicName('a')
  assert.ok(name !== undefined)
  return new Message(new Topic(name, Buffer.from(name)), {
    qos: 0,
    retain: false,
    properties: undefined,
    publisher: 'p',
    publishedAtMs,
    expiresAtMs,
    chunk: Buffer.from('x'),
    payloadStart: 0,
    payloadEnd: 1,
  })
}

test('[MQTT5-3.3.2-6] the remaining expiry interval is rounded up, and 0 at the end', () => {
  const message = published({ publishedAtMs: 10_000, expiresAtMs: 70_000 })
  assert.deepEqual(
    [10_000, 10_001, 11_000, 69_999, 70_000, 80_000].map((nowMs) => computeRemainingSeconds(message, nowMs)),
    [60, 60, 59, 1, 0, 0],
  )
  assert.equal(computeRemainingSeconds(published({ publishedAtMs: 10_000, expiresAtMs: never }), 10_000), undefined)
})

test('[MQTT5-3.3.2-6] the expiry interval does not grow on a shard whose turn began before the message was published', () => {
  assert.equal(computeRemainingSeconds(published({ publishedAtMs: 10_000, expiresAtMs: 70_000 }), 9_990), 60)
})
