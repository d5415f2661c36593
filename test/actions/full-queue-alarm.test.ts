// The alarm and the log lines about a full action queue name who waits, for what, and since when.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FullQueueAlarm } from '../../src/actions/queues/full-queue-alarm.ts'

class Stage {
  nowMs = 0
  readonly lines: (readonly [string, unknown])[] = []
  readonly raised: (readonly [string, string])[] = []
  readonly alarm = new FullQueueAlarm('http:x', {
    log: { warn: (event, fields) => void this.lines.push([event, fields]) },
    nowMs: () => this.nowMs,
    raiseAlarm: (name, message) => void this.raised.push([name, message]),
  })
}

const outage = { why: 'the connection is refused: no server listens there (127.0.0.1:80)', sinceMs: 1_700_000_000_000 }

test('publishers that wait: one alarm, and one line in ten seconds with their number, one of them and the reason', () => {
  const stage = new Stage()
  const waiting = { count: 3, clientId: 'kiln' }
  for (; stage.nowMs <= 10_000; stage.nowMs += 1_000)
    assert.equal(
      stage.alarm.recordWaiting(waiting, { maxMessages: 2, outage }),
      `action http:x: queue full (2 messages), service not available since 2023-11-14T22:13:20.000Z: ${outage.why}`,
    )
  const text = `publishers wait for action http:x: queue full (2 messages), service not available since 2023-11-14T22:13:20.000Z: ${outage.why}`
  assert.deepEqual(stage.raised, [['action:http:x', text]])
  const line = ['publishers wait for action', { action: 'http:x', publishers: 3, client: 'kiln', reason: outage.why }]
  assert.deepEqual(stage.lines, [line, line])
  assert.equal(stage.alarm.suffix, `; ${text}`)
})

test('a service that is only slow is named as such, and a queue that is full again is a new alarm', () => {
  const stage = new Stage()
  const full = { maxMessages: 2, outage: undefined }
  stage.alarm.recordWaiting({ count: 1, clientId: 'kiln' }, full)
  stage.alarm.reset()
  assert.deepEqual([stage.alarm.isFull, stage.alarm.suffix], [false, ''])
  stage.alarm.recordWaiting({ count: 1, clientId: 'kiln' }, full)
  const text = 'publishers wait for action http:x: queue full (2 messages): the service is too slow'
  assert.deepEqual(stage.raised, [
    ['action:http:x', text],
    ['action:http:x', text],
  ])
})

test('dropped results: one alarm with the cause, and one line in ten seconds with their number', () => {
  const stage = new Stage()
  for (; stage.nowMs <= 10_000; stage.nowMs += 1_000) stage.alarm.recordDropped('r', { maxMessages: 2, outage })
  assert.deepEqual(stage.raised, [
    [
      'action:http:x',
      `new results for action http:x are dropped: queue full (2 messages), service not available since 2023-11-14T22:13:20.000Z: ${outage.why}`,
    ],
  ])
  const fields = { action: 'http:x', rule: 'r', max_buffer_messages: 2, reason: outage.why }
  assert.deepEqual(stage.lines, [
    ['action queue full', { ...fields, dropped: 1 }],
    ['action queue full', { ...fields, dropped: 10 }],
  ])
})
