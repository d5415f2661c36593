// Late copies of QoS 2 messages of MQTT-SN, which arrive behind PUBREL.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReleasedPublications } from '../../src/gateways/mqttsn/client/released-publications.ts'

const one = { topicId: 1, fingerprint: 'one' }
const two = { topicId: 1, fingerprint: 'two' }

test('[F3] a copy of a QoS 2 message is recognized for the lifetime of an exchange', () => {
  for (const [afterMs, isCopy] of [
    [0, true],
    [3_000, true],
    [246_999, true],
    [247_000, false],
  ] as const) {
    const released = new ReleasedPublications()
    released.add(7, one, 0)
    released.add(8, two, 0)
    assert.equal(released.has(7, one, afterMs), isCopy, `after ${afterMs} ms`)
  }
})

test('[F3] a client that uses a message ID again may send the same message again after two seconds', () => {
  const released = new ReleasedPublications()
  released.add(1, one, 0)
  assert.equal(released.has(1, two, 500), false, 'another message')
  released.add(1, two, 600)
  assert.equal(released.has(1, two, 700), true, 'a copy')
  assert.equal(released.has(1, two, 2_700), false, 'a new message with the same payload')
})
