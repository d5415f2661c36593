// A part of a queue lacks records that must exist: the core reads it again instead of moving past them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PartRequest } from '../../src/storage/index.ts'
import { MemoryRecordStore, type QueueSlice } from '../simulator/record-store.ts'
import { World, type Client } from '../simulator/world.ts'

const messages = 30

/** A store whose reads skip records that the test selects. */
class SkippingRecordStore extends MemoryRecordStore {
  readonly requests: PartRequest[] = []
  skips: (sequence: number, wanted: PartRequest) => boolean = () => false
  /** Parts that are reported as the end of the queue. */
  endsAfter: (wanted: PartRequest) => boolean = () => false

  override readQueue(wanted: PartRequest): QueueSlice {
    this.requests.push(wanted)
    const { records, isEnd } = super.readQueue(wanted)
    return {
      records: records.filter((record) => record.kind !== 'queued' || !this.skips(record.sequence, wanted)),
      isEnd: isEnd || this.endsAfter(wanted),
    }
  }
}

function offlineClientWithQueue(count = messages): {
  world: World
  recordStore: SkippingRecordStore
  offlineClient: Client
} {
  const recordStore = new SkippingRecordStore()
  const world = new World({ seed: 1, recordStore, shards: 1 })
  const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: 600 })
  offlineClient.subscribe('news', { qos: 1 })
  offlineClient.disconnect()
  const author = world.connect('author')
  for (let number = 1; number <= count; number++) author.publish('news', String(number), { qos: 1 })
  recordStore.requests.length = 0
  return { world, recordStore, offlineClient }
}

const numbers = (except: readonly number[] = [], count = messages): string[] =>
  Array.from({ length: count }, (_, index) => index + 1)
    .filter((number) => !except.includes(number))
    .map(String)

describe('[MQTT5-4.6.0-5] messages that a read of a queue omits are read again, in order', () => {
  test('at its start', () => {
    const { world, recordStore, offlineClient } = offlineClientWithQueue()
    recordStore.skips = (sequence, { part }) => part === 0 && sequence <= 10
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, numbers())
    assert.deepEqual(
      world.events('queue-records-skipped').map(({ clientId, fromSequence }) => [clientId, fromSequence]),
      [['offline', 1]],
    )
  })

  test('in the middle', () => {
    const { world, recordStore, offlineClient } = offlineClientWithQueue()
    recordStore.skips = (sequence, { part }) => part === 1 && sequence === 20
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, numbers())
    assert.equal(world.events('queue-records-skipped').length, 1)
  })

  test('at its end', () => {
    const { world, recordStore, offlineClient } = offlineClientWithQueue()
    recordStore.skips = (sequence, { part }) => part !== undefined && sequence > 12
    recordStore.endsAfter = ({ part }) => part !== undefined
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, numbers())
    assert.ok(world.events('queue-records-skipped').length > 0)
  })
})

describe('a queue with gaps', () => {
  test('with a lost record is read to its end', () => {
    const { world, recordStore, offlineClient } = offlineClientWithQueue()
    recordStore.skips = (sequence) => sequence === 5 || sequence === messages
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, numbers([5, messages]))
    assert.deepEqual(world.events('queue-records-skipped'), [])
  })

  test('with a lost record in a large part is not reported as an incomplete read', () => {
    const lost = 45
    const { world, recordStore, offlineClient } = offlineClientWithQueue(60)
    recordStore.skips = (sequence) => sequence === lost
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, numbers([lost], 60))
    assert.deepEqual(world.events('queue-records-skipped'), [])
  })

  test('is read once if its gaps are known from the start of the broker', () => {
    const { world, recordStore, offlineClient } = offlineClientWithQueue()
    offlineClient.acknowledges = false
    offlineClient.connect()
    for (const message of offlineClient.messages.filter(({ payload }) => Number(payload) % 2 === 0))
      offlineClient.acknowledge(message)
    world.restart('kill')
    recordStore.requests.length = 0
    offlineClient.connect()
    assert.deepEqual(
      offlineClient.messages.slice(messages).map(({ payload }) => payload),
      numbers().filter((payload) => Number(payload) % 2 === 1),
    )
    assert.ok(
      recordStore.requests.every(({ part }) => part !== undefined),
      'nothing is read again',
    )
  })
})
