// Alarms about persistent sessions whose queue is nearly full.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NearlyFullSession } from '../../src/core/index.ts'
import { QueueAlarms } from '../../src/shard/observe/queue-alarms.ts'
import { recordCount } from '../../src/core/queues/persistent-queue.ts'
import type { PersistentQueue, Session } from '../../src/core/state/sessions/session.ts'
import { defaultCoreSettings } from '../core/default-settings.ts'
import { World } from '../simulator/world.ts'

const hourMs = 3_600_000

test('a session from 80 % of the limit on has an alarm with the time since its client was seen, until it has space', () => {
  const world = new World({ settings: { maxStoredMessages: 10 } })
  const offlineClient = world.connect('device-7', { cleanStart: false, sessionExpirySeconds: 1_000_000 })
  offlineClient.subscribe('a')
  offlineClient.disconnect()
  const active = new Map<string, string>()
  const alarms = new QueueAlarms({
    listNearlyFull: (max): readonly NearlyFullSession[] => world.view.listNearlyFullSessions(max),
    nowMs: () => (world.view.listNearlyFullSessions(1)[0]?.lastSeenAtMs ?? 0) + 76 * hourMs,
    raiseAlarm: (name, message) => void active.set(name, message),
    endAlarm: (name) => void active.delete(name),
  })
  const publish = (count: number): void => {
    for (let number = 0; number < count; number++) world.publish('a', 'x', { qos: 1 })
    alarms.check()
  }
  publish(7)
  assert.equal(active.size, 0)
  publish(1)
  assert.match(
    active.get('session-queue:device-7') ?? '',
    /device-7 has 8 stored messages, 80 % of mqtt.max_stored_messages \(10\); its client was last seen 3 d 4 h ago; at the limit the session loses its oldest/,
  )
  publish(5)
  assert.match(active.get('session-queue:device-7') ?? '', /has 1\d stored messages, 1\d\d %/)
  world.restart('kill')
  assert.equal(world.view.listNearlyFullSessions(1).length, 1, 'known after a restart')
  offlineClient.connect()
  world.settle()
  alarms.check()
  assert.equal(active.size, 0)
})

/** Returns the number of nearly full sessions after a restored queue had 50 of 50 messages. */
function countAfterRestore(clientId: string): number {
  const sessions = { nearlyFull: new Set(), full: new Set() }
  const state = { settings: { ...defaultCoreSettings, maxStoredMessages: 50 }, sessions }
  const stored = { count: 50 } as PersistentQueue
  recordCount(state as unknown as Parameters<typeof recordCount>[0], { clientId, stored } as Session, stored)
  return sessions.nearlyFull.size
}

test('the restored queue of an action, which has not named its limit yet, is not nearly full', () => {
  assert.equal(countAfterRestore('$bridge/$action/http:a'), 0)
  assert.equal(countAfterRestore('device-7'), 1)
})
