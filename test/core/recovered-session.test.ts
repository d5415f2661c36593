// A session whose record was damaged and created again: its client gets the queue, and CONNACK without session present.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SessionRecord } from '../../src/records/index.ts'
import { World } from '../simulator/world.ts'

const payloads = Array.from({ length: 300 }, (_, index) => String(index))

/** The records after the repair by the storage. */
function recovered(version: 4 | 5): World {
  const world = new World()
  const offlineClient = world.connect('offline', { version, cleanStart: false, sessionExpirySeconds: 3_600 })
  offlineClient.subscribe('a', { qos: 2 })
  offlineClient.disconnect()
  const author = world.connect('author')
  for (const payload of payloads) author.publish('a', payload, { qos: 2 })
  world.crash()
  const record = world
    .records()
    .find((one): one is SessionRecord => one.kind === 'session' && one.clientId === 'offline')
  assert.ok(record !== undefined)
  void world.recordStore.apply([
    {
      change: 'put',
      record: { ...record, username: undefined, queueHead: 0, expirySeconds: 100, disconnectedAtMs: undefined },
    },
    { change: 'delete', key: { kind: 'subscription', clientId: 'offline', filter: 'a' } },
  ])
  world.start()
  return world
}

for (const version of [4, 5] as const) {
  describe(`a recovered session of a client of version ${version}`, () => {
    test('its client gets every message, and CONNACK has no session present, once', () => {
      const world = recovered(version)
      const offlineClient = world.connect('offline', { version, cleanStart: false, sessionExpirySeconds: 3_600 })
      assert.equal(offlineClient.connack?.sessionPresent, false)
      assert.deepEqual(offlineClient.payloads, payloads)
      world.publish('a', 'later', { qos: 1 })
      assert.equal(offlineClient.payloads.length, payloads.length)
      offlineClient.drop()
      world.restart()
      offlineClient.connect()
      assert.equal(offlineClient.connack?.sessionPresent, true)
    })

    test('it stays recovered after restarts, until its client connects or it expires', () => {
      const world = recovered(version)
      for (const how of ['kill', 'graceful', 'power-loss'] as const) world.restart(how)
      const offlineClient = world.client('offline', { version, cleanStart: false, sessionExpirySeconds: 3_600 })
      assert.equal(offlineClient.connect()?.sessionPresent, false)
      assert.deepEqual(offlineClient.payloads, payloads)
      const other = recovered(version)
      other.passSeconds(101)
      assert.deepEqual(
        other.records().filter(({ kind }) => kind === 'session' || kind === 'queued'),
        [],
      )
    })
  })
}
