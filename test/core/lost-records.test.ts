// Queued records that are lost while the broker is stopped: later messages arrive, and none replaces a lost one.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { QoS } from '../../src/protocol/index.ts'
import { MemoryRecordStore } from '../simulator/record-store.ts'
import { World, type Client } from '../simulator/world.ts'

/** A subscriber has received `sent` messages and acknowledged none when the broker stops, and its last `lost` records are lost. */
function afterLoss(of: { sent: number; lost: number; qos: QoS; receiveMaximum?: number }): {
  world: World
  subscriber: Client
} {
  const { sent, lost, qos, receiveMaximum = 100 } = of
  const recordStore = new MemoryRecordStore()
  const world = new World({ recordStore, shards: 1 })
  const subscriber = world.connect('subscriber', { cleanStart: false, sessionExpirySeconds: 600, receiveMaximum })
  subscriber.subscribe('news', { qos })
  subscriber.acknowledges = false
  for (let number = 1; number <= sent; number++) world.publish('news', String(number), { qos })
  assert.equal(subscriber.messages.length, sent)
  subscriber.disconnect()
  world.crash('kill')
  const clientId = 'subscriber'
  for (let sequence = sent - lost + 1; sequence <= sent; sequence++)
    recordStore.apply([{ change: 'delete', key: { kind: 'queued', clientId, sequence } }])
  world.start()
  return { world, subscriber }
}

describe('a message after lost records', () => {
  for (const [sent, lost] of [
    [2, 2],
    [3, 1],
  ] as const) {
    test(`[MQTT5-4.3.3-10] has no packet identifier of a lost QoS 2 message, and is not a duplicate (${lost} of ${sent} lost)`, () => {
      const { world, subscriber } = afterLoss({ sent, lost, qos: 2 })
      const used = subscriber.messages.map(({ packetId }) => packetId)
      world.publish('news', 'new', { qos: 2 })
      subscriber.connect()
      const fresh = subscriber.messages.find(({ payload }) => payload === 'new')
      assert.ok(fresh !== undefined, 'it arrives')
      assert.equal(fresh.dup, false)
      assert.ok(!used.includes(fresh.packetId), `packet identifier ${fresh.packetId} was used`)
    })
  }

  test('[MQTT-3.3.1-1] is not a duplicate if the lost messages were sent with QoS 1', () => {
    const { world, subscriber } = afterLoss({ sent: 3, lost: 2, qos: 1 })
    world.publish('news', 'new', { qos: 1 })
    subscriber.connect()
    const received = subscriber.messages.slice(3).map(({ payload, dup }) => [payload, dup])
    assert.deepEqual(received, [
      ['1', true],
      ['new', false],
    ])
  })

  test('arrives although the lost QoS 2 message filled the in-flight window', () => {
    const { world, subscriber } = afterLoss({ sent: 1, lost: 1, qos: 2, receiveMaximum: 1 })
    world.publish('news', 'new', { qos: 2 })
    subscriber.acknowledges = true
    subscriber.connect()
    assert.deepEqual(subscriber.payloads.slice(1), ['new'])
    world.publish('news', 'newer', { qos: 2 })
    assert.deepEqual(subscriber.payloads.slice(1), ['new', 'newer'])
    assert.equal(world.view.findClient('subscriber')?.inflight, 0)
  })
})

test('[MQTT5-4.3.3-10] the packet identifier of a lost QoS 2 message stays reserved over restarts until the client acknowledges it', () => {
  const { world, subscriber } = afterLoss({ sent: 1, lost: 1, qos: 2 })
  subscriber.connect()
  world.restart('kill')
  subscriber.connect()
  world.publish('news', 'new', { qos: 2 })
  const [lost, fresh] = subscriber.messages
  assert.notEqual(fresh?.packetId, lost?.packetId)
  subscriber.acknowledge(lost)
  subscriber.complete(lost.packetId)
  const outgoing = world.records().filter((record) => record.kind === 'outgoing')
  assert.deepEqual(
    outgoing.map(({ packetId }) => packetId),
    [fresh?.packetId],
  )
})
