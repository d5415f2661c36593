// Retained messages with small payloads are stored in a compact form. Clients see no difference.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxSmallPayloadBytes, Message, never } from '../../src/core/messages/message.ts'
import { SmallRetained, StoredRetained } from '../../src/core/messages/retained-message.ts'
import { parseTopicName, type QoS, Topic } from '../../src/protocol/index.ts'

function published(payload: Buffer, topic = 'räume/1'): Message {
  const name = parseTopicName(topic)
  assert.ok(name !== undefined)
  const message = new Message(new Topic(name, Buffer.from(name)), {
    qos: 2,
    retain: true,
    properties: { contentType: 'octets' },
    publisher: 'sensor',
    publishedAtMs: 1_000,
    expiresAtMs: never,
    // The bytes around the payload in its chunk do not belong to it.
    chunk: Buffer.concat([Buffer.from('before'), payload, Buffer.from('after')]),
    payloadStart: 6,
    payloadEnd: 6 + payload.length,
  })
  message.publisherUsername = 'anna'
  message.isByOwnRight = true
  message.publisherMountpoint = 'site/'
  return message
}

test('every byte of a small retained payload is restored, in a separate buffer', () => {
  const payload = Buffer.from(Array.from({ length: maxSmallPayloadBytes }, (_, index) => index & 0xff))
  const message = published(payload)
  const kept = new SmallRetained(message)
  message.chunk.fill(0)
  assert.deepEqual(kept.createMessage().readPayload(), payload)
  kept.createMessage().chunk.fill(1)
  assert.deepEqual(kept.createMessage().readPayload(), payload)
  assert.equal(kept.payloadBytes, maxSmallPayloadBytes)
})

test('topic, properties and publisher of a small retained message are restored', () => {
  const message = published(Buffer.from('on'))
  const back = new SmallRetained(message).createMessage()
  assert.equal(back.topic.name, 'räume/1')
  assert.deepEqual(back.topic.bytes, Buffer.from('räume/1'))
  for (const key of [
    'qos',
    'retain',
    'properties',
    'publisher',
    'publishedAtMs',
    'expiresAtMs',
    'publisherUsername',
    'isByOwnRight',
    'publisherMountpoint',
    'retainedOrigin',
  ] as const)
    assert.deepEqual(back[key], message[key], key)
  assert.equal(back.isOwned, true)
})

test('QoS, flags and the time of publication are restored exactly', () => {
  const times = [0, 1, 2 ** 30 - 1, 2 ** 30, 1_732_650_000_123, 1_732_650_000_123.25, 8_640_000_000_000_000]
  for (const publishedAtMs of times)
    for (const qos of [0, 1, 2] satisfies QoS[])
      for (const [retain, isByOwnRight] of [
        [false, true],
        [true, false],
        [true, true],
      ] as const) {
        const payload = Buffer.from('on')
        const message = new Message(published(payload).topic, {
          qos,
          retain,
          properties: undefined,
          publisher: '',
          publishedAtMs,
          expiresAtMs: never,
          chunk: payload,
          payloadStart: 0,
          payloadEnd: payload.length,
        })
        message.isByOwnRight = isByOwnRight
        for (const kept of [new SmallRetained(message), new StoredRetained(message)])
          assert.deepEqual(
            [kept.publishedAtMs, kept.qos, kept.retain, kept.isByOwnRight],
            [publishedAtMs, qos, retain, isByOwnRight],
          )
      }
})
