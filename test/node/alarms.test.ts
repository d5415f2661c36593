import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Alarms } from '../../src/node/observe/raised-alarms.ts'
import { OverloadMonitor } from '../../src/node/observe/overload-monitor.ts'

interface Stage {
  alarms: Alarms
  notifications: string[]
  clock: { nowMs: number }
}

function stage(maxInHistory?: number): Stage {
  const notifications: string[] = []
  const clock = { nowMs: 1_000 }
  const silent = { error: () => {}, warn: () => {} }
  const alarms = new Alarms({ log: silent, nowMs: () => clock.nowMs, ...(maxInHistory && { maxInHistory }) })
  alarms.listen((what, { name, message }) => notifications.push(`${what} ${name}: ${message}`))
  return { alarms, notifications, clock }
}

test('an alarm is active from its start to its end, and listeners are notified of both', () => {
  const { alarms, notifications, clock } = stage()
  alarms.raise('storage', 'the disk fails')
  clock.nowMs = 5_000
  alarms.end('storage', 'the disk works again')
  assert.deepEqual(notifications, ['activate storage: the disk fails', 'deactivate storage: the disk fails'])
  assert.deepEqual(alarms.listActive(), [])
  assert.deepEqual(alarms.listHistory(), [
    { name: 'storage', message: 'the disk fails', activatedAtMs: 1_000, deactivatedAtMs: 5_000, occurrences: 1 },
  ])
})

test('an alarm of several sources ends when it has ended for all of them', () => {
  const { alarms } = stage()
  alarms.raise('storage', 'of shard 0', '0')
  alarms.raise('storage', 'of shard 1', '1')
  alarms.end('storage', 'again', '0')
  assert.deepEqual(
    alarms.listActive().map(({ name, occurrences }) => [name, occurrences]),
    [['storage', 2]],
  )
  alarms.end('storage', 'again', '0')
  assert.equal(alarms.listActive().length, 1, 'a source cannot end the alarm of another source')
  alarms.end('storage', 'again', '1')
  assert.deepEqual(alarms.listActive(), [])
})

test('an administrator ends an active alarm by its name', () => {
  const { alarms } = stage()
  alarms.raise('session-set-aside', 'of client a', 'a')
  assert.equal(alarms.deactivate('session-set-aside'), true)
  assert.equal(alarms.deactivate('session-set-aside'), false)
  alarms.forgetHistory()
  assert.deepEqual(alarms.listHistory(), [])
})

test('the history is limited to the last alarms', () => {
  const { alarms } = stage(3)
  for (let number = 0; number < 5; number++) {
    alarms.raise(`bridge:${number}`, '')
    alarms.end(`bridge:${number}`, '')
  }
  assert.deepEqual(
    alarms.listHistory().map(({ name }) => name),
    ['bridge:4', 'bridge:3', 'bridge:2'],
  )
})

test('the alarm for overload is raised after ten consecutive seconds of event loop delay, and ends after ten seconds without', () => {
  const { alarms } = stage()
  const loopDelay = { meanSeconds: 0.8, p99Seconds: 0, maxSeconds: 0 }
  const watch = new OverloadMonitor([{ loopDelay }], alarms)
  const look = (times: number): void => {
    for (let second = 0; second < times; second++) watch.check()
  }
  const holds = (): boolean => alarms.listActive().some(({ name }) => name === 'overload')
  look(9)
  loopDelay.meanSeconds = 0.01
  look(1)
  loopDelay.meanSeconds = 0.8
  look(9)
  assert.equal(holds(), false)
  look(1)
  assert.equal(holds(), true)
  loopDelay.meanSeconds = 0.01
  look(9)
  assert.equal(holds(), true)
  look(1)
  assert.equal(holds(), false)
})
