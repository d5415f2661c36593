// An administrator receives a result when the command is complete, and always receives one.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Command } from '../../src/core/index.ts'
import type { Client } from '../simulator/client.ts'
import { World, type WorldOptions } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

function publication(parts: Partial<Extract<Command, { name: 'publish' }>> = {}): Command {
  const content = { payload: Buffer.from('x'), qos: 1, retain: false, properties: undefined } as const
  return { name: 'publish', topic: 'a', ...content, clientId: 'operator', ...parts }
}

function withOfflineClient(options: WorldOptions = {}): { world: World; offlineClient: Client } {
  const world = new World(options)
  const offlineClient = world.connect('offline', { ...durable })
  offlineClient.subscribe('a', { qos: 1 })
  offlineClient.disconnect()
  return { world, offlineClient }
}

describe('a command', () => {
  test('that meets a failing disk returns that reason, and its message is delivered when the disk works again', () => {
    const { world, offlineClient } = withOfflineClient()
    world.disk.fail()
    assert.deepEqual(world.command(publication()), { done: false, why: 'storage-failing' })
    world.disk.mend()
    world.passSeconds(5)
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['x'])
  })

  test('that needs no disk is executed while the disk fails', () => {
    const { world } = withOfflineClient()
    const live = world.subscriber('b')
    world.disk.fail()
    world.command(publication())
    assert.deepEqual(world.command(publication({ topic: 'b' })), { done: true, matched: 1 })
    assert.deepEqual(live.payloads, ['x'])
    assert.deepEqual(world.command(publication()), { done: false, why: 'storage-failing' })
  })

  test('for several topics is executed for all or for none', () => {
    const { world } = withOfflineClient()
    const live = world.subscriber('#')
    const wrong = world.command(publication({ furtherTopics: ['b', 'c/#'] }))
    assert.deepEqual(wrong, { done: false, why: 'invalid-topic' })
    assert.deepEqual(live.payloads, [])
    assert.deepEqual(world.command(publication({ furtherTopics: ['b'] })), { done: true, matched: 3 })
  })

  test('returns the deliveries of a message if the command requests them', () => {
    const { world } = withOfflineClient({ shards: 1 })
    world.subscriber('a')
    const deliveries = { matched: 2, sent: 1, queued: 1, dropped: 0, missed: 0, sentToShared: 0, queuedForShared: 0 }
    const result = world.command(publication({ wantsDeliveries: true }))
    assert.deepEqual(result, { done: true, matched: 2, deliveries })
  })

  test('counts a session without client at QoS 0 as missed, also if another session loses its oldest message', () => {
    const settings = { maxInflightMessages: 1, maxQueuedMessages: 1, queueFullPolicy: 'drop-oldest' } as const
    const { world, offlineClient } = withOfflineClient({ shards: 1, settings })
    offlineClient.connect()
    offlineClient.subscribe('a', { qos: 0 })
    offlineClient.disconnect()
    const slow = world.connect('slow')
    slow.acknowledges = false
    slow.subscribe('a', { qos: 1 })
    const others = { matched: 2, missed: 1, sentToShared: 0, queuedForShared: 0 }
    for (const counts of [
      { sent: 1, queued: 0, dropped: 0 },
      { sent: 0, queued: 1, dropped: 0 },
      { sent: 0, queued: 1, dropped: 1 },
    ]) {
      const result = world.command(publication({ wantsDeliveries: true }))
      assert.deepEqual(result, { done: true, matched: 2, deliveries: { ...others, ...counts } })
    }
  })

  test('with more than mqtt.max_packet_size is refused', () => {
    const world = new World({ settings: { maxPacketBytes: 100 } })
    const result = world.command(publication({ payload: Buffer.alloc(100) }))
    assert.deepEqual(result, { done: false, why: 'too-large' })
  })

  test('for a full persistent session is refused, as for a client', () => {
    const world = new World({ settings: { maxStoredMessages: 1, storedMessagesOverflow: 'reject-publish' } })
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a', { qos: 1 })
    offlineClient.disconnect()
    assert.deepEqual(world.command(publication()), { done: true, matched: 1 })
    assert.deepEqual(world.command(publication()), { done: false, why: 'receiver-full' })
  })
})
