// Frequent events: log lines that count all of them, and alarms that end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DropLog } from '../../src/shard/observe/drop-log.ts'
import { TransientAlarm } from '../../src/shard/runtime/transient-alarm.ts'
import { RefusalLog } from '../../src/shard/observe/refusal-log.ts'
import { RefusedPacketLog } from '../../src/shard/observe/refused-packet-log.ts'
import type { Log, LogFields } from '../../src/telemetry/index.ts'

function writtenLog(): { log: Log; counts: () => unknown[] } {
  const lines: (LogFields | undefined)[] = []
  const write = (_event: string, fields?: LogFields): void => void lines.push(fields)
  const log = { debug: write, info: write, warn: write, error: write }
  return { log, counts: () => lines.map((fields) => fields?.['count']) }
}

test('the first dropped message is logged at once, and the others at the end of the second, all counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { log, counts } = writtenLog()
  let dropped = 0
  const drops = new DropLog(log, () => dropped)
  const drop = (times: number): void => {
    for (let time = 0; time < times; time++) {
      dropped += 1
      drops.record({
        event: 'message-dropped',
        clientId: 'a',
        message: { topic: { name: 'b' } } as never,
        reason: 'queue-full',
      })
    }
  }
  drop(100)
  assert.deepEqual(counts(), [1])
  t.mock.timers.tick(1_000)
  assert.deepEqual(counts(), [1, 99])
  t.mock.timers.tick(1_000)
  assert.deepEqual(counts(), [1, 99], 'no event since then')
  drop(1)
  assert.deepEqual(counts(), [1, 99, 1], 'the next first one is logged at once again')
})

test('the first refused connection is logged at once, and the others after ten seconds, all counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { log, counts } = writtenLog()
  const refusals = new RefusalLog(log)
  for (let time = 0; time < 50; time++)
    refusals.record({ listener: 'tcp:default', reason: 'broker-full', why: undefined })
  t.mock.timers.tick(10_000)
  t.mock.timers.tick(10_000)
  assert.deepEqual(counts(), [1, 49])
})

test('an alarm about a repeated event is raised once a minute, and ends after a minute without the event', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const alarms: string[] = []
  const alarm = new TransientAlarm(
    {
      raiseAlarm: (name, message) => alarms.push(`${name}: ${message}`),
      endAlarm: (name, words) => alarms.push(`${name}: ${words}`),
    },
    { name: 'connections', endText: 'over' },
  )
  for (let time = 0; time < 3; time++) alarm.record('full')
  assert.deepEqual(alarms, ['connections: full'])
  t.mock.timers.tick(60_000)
  assert.deepEqual(alarms, ['connections: full', 'connections: full'])
  t.mock.timers.tick(60_000)
  assert.deepEqual(alarms.slice(2), ['connections: over'])
  alarm.record('full again')
  assert.deepEqual(alarms.slice(3), ['connections: full again'])
})

test('the first refused packet is logged at once with its reason, and the others at the end of the second, all counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lines: [event: string, fields: LogFields | undefined][] = []
  const write = (event: string, fields?: LogFields): void => void lines.push([event, fields])
  let refused = 0
  const refusals = new RefusedPacketLog({ debug: write, info: write, warn: write, error: write }, () => refused)
  const refuse = (times: number, topic: string): void => {
    for (let time = 0; time < times; time++) {
      refused += 1
      const event = { event: 'packet-refused', packet: 'PUBLISH', cause: 'not-authorized', reason: 0x87 } as const
      refusals.record({ ...event, clientId: 'plant\0me', topic, text: 'not allowed to publish' })
    }
  }
  refuse(1, 'a')
  const line = { lastClientId: 'me', lastPacket: 'PUBLISH', lastReason: '0x87', lastWhy: 'not allowed to publish' }
  const more = 'godwit ctl clients timeline CLIENT'
  assert.deepEqual(lines, [['packets refused', { count: 1, ...line, lastTopic: 'a', more }]])
  refuse(99, 'b')
  // Refusals without an event are counted as well.
  refused += 900
  assert.equal(lines.length, 1)
  t.mock.timers.tick(1_000)
  assert.deepEqual(lines[1], ['packets refused', { count: 999, ...line, lastTopic: 'b', more }])
  t.mock.timers.tick(5_000)
  assert.equal(lines.length, 2, 'no refusal since then')
  refuse(1, 'c')
  assert.deepEqual(lines[2]?.[1]?.['count'], 1)
})
