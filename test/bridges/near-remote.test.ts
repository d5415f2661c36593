// Messages that a near remote broker acknowledges within milliseconds need not be stored. The guarantees stay the same.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Bridged, payloads } from './bridged-brokers.ts'

const outward = forwards(', qos = 1')
const durable = { cleanStart: false, sessionExpirySeconds: 1_000 } as const

/** A bridge to a remote broker that has been fast so far. That acknowledges durable messages: it has a persistent session. */
function nearBridge(qos = ', qos = 1'): { world: Bridged; author: ReturnType<Bridged['local']['connect']> } {
  const world = new Bridged({ bridge: forwards(qos) })
  world.remote.connect('listener', durable).subscribe('out/#')
  const author = world.local.connect('author')
  assert.equal(author.publish('out/a', 'first', { qos: 1 }).isAcknowledged, true)
  return { world, author }
}

function forwards(qos: string): string {
  return `forwards = [{local_topic = "out/#", remote_topic = ""${qos}}]`
}

describe('a bridge to a near remote broker', () => {
  test('stores no message that it acknowledges at once', () => {
    const { world, author } = nearBridge()
    world.local.disk.hold()
    const publications = payloads(3).map((payload) => author.publish('out/a', payload, { qos: 1 }))
    assert.deepEqual(
      publications.map(({ isAcknowledged }) => isAcknowledged),
      [true, true, true],
    )
    assert.equal(world.status.spooled, 0)
  })

  test('stores a message before it acknowledges the publisher if the remote broker does not acknowledge', () => {
    const { world, author } = nearBridge()
    world.remote.disk.hold()
    const publication = author.publish('out/a', 'second', { qos: 1 })
    assert.equal(publication.isAcknowledged, false)
    world.local.passMs(25)
    assert.equal(publication.isAcknowledged, true)
    world.restartLocal('power-loss')
    assert.equal(world.status.spooled, 1)
    world.remote.disk.release()
    world.passSeconds(30)
    const subscriber = world.remote.subscriber('nothing')
    assert.equal(subscriber.isConnected, true)
    assert.equal(world.status.spooled, 0)
  })

  test('deletes acknowledged messages from disk step by step, and delays no client', () => {
    const { world, author } = nearBridge()
    world.remote.disk.hold()
    author.publish('out/a', 'second', { qos: 1 })
    world.local.passMs(25)
    world.remote.disk.release()
    world.settle()
    assert.equal(world.status.spooled, 0)
    assert.equal(author.publish('out/a', 'third', { qos: 1 }).isAcknowledged, true)
    world.local.passMs(60)
    world.restartLocal('power-loss')
    assert.equal(world.status.spooled, 0)
  })

  test('sends messages after a QoS 2 message once that is durable, without waiting for PUBREC', () => {
    const { world, author } = nearBridge('')
    world.remote.disk.hold()
    world.local.disk.hold()
    author.publish('out/a', 'second', { qos: 2 })
    const last = author.publish('out/a', 'third', { qos: 1 })
    world.local.disk.release()
    world.settle()
    assert.equal(last.isAcknowledged, true)
    assert.equal(world.status.counters.sent, 3)
  })

  test('delays no client that waits for the disk', () => {
    const { world, author } = nearBridge()
    world.local.connect('stored', durable).subscribe('other')
    world.remote.disk.hold()
    const first = author.publish('out/a', 'waits for PUBACK', { qos: 1 })
    assert.equal(first.isAcknowledged, false)
    const other = world.local.connect('another author').publish('other', 'needs the disk', { qos: 1 })
    assert.equal(other.isAcknowledged, true)
    assert.equal(first.isAcknowledged, true)
  })

  test('acknowledges messages in the order of arrival, whichever the remote broker acknowledges first', () => {
    const { world, author } = nearBridge()
    world.remote.disk.hold()
    const first = author.publish('out/a', 'waits', { qos: 1 })
    const second = author.publish('not/subscribed', 'needs nothing', { qos: 1 })
    assert.deepEqual([first.isAcknowledged, second.isAcknowledged], [false, false])
    world.remote.disk.release()
    world.settle()
    assert.deepEqual([first.isAcknowledged, second.isAcknowledged], [true, true])
  })

  test('loses no acknowledged message when it is disabled in between', () => {
    const { world, author } = nearBridge()
    world.remote.disk.hold()
    const publication = author.publish('out/a', 'second', { qos: 1 })
    world.bridge.stop()
    world.local.passMs(25)
    assert.equal(publication.isAcknowledged, true)
    assert.equal(world.status.spooled, 1)
  })
})

test('if the remote broker of a bridge is slow, a message is stored and does not wait for PUBACK', () => {
  const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }
  const world = new Bridged({ bridge: outward, network })
  const subscriber = world.remote.subscriber('out/#')
  world.passSeconds(1)
  const author = world.local.connect('author')
  for (const payload of payloads(3)) {
    assert.equal(author.publish('out/a', payload, { qos: 1 }).isAcknowledged, true)
    assert.equal(subscriber.payloads.includes(payload), false)
    world.local.passMs(100)
  }
  assert.deepEqual(subscriber.payloads, payloads(3))
})
