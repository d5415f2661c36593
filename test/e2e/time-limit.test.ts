import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settleWithin, shareOf, TimeLimit } from './time-limit.ts'

const loadavg = (running: number): string => `9.03 4.50 2.10 ${running}/412 8123\n`

test('a thread has a whole processor until more threads run than there are processors', () => {
  for (const [running, processors, share] of [
    [1, 2, 1],
    [2, 2, 1],
    [8, 2, 0.25],
    [8, 16, 1],
  ] as const)
    assert.equal(shareOf(loadavg(running), processors), share, `${running} running`)
  assert.equal(shareOf('', 2), 1)
})

test('a limit ends later on a loaded machine, and a pause of the whole process does not end it', () => {
  const clock = { now: 0, load: 1, nowMs: () => clock.now, share: () => 1 / clock.load }
  const stepsUntilOver = (): number => {
    const limit = new TimeLimit(1_000, clock)
    for (let steps = 1; ; steps++) {
      clock.now += 100
      if (limit.isOver) return steps
    }
  }
  assert.equal(stepsUntilOver(), 10)
  clock.load = 5
  assert.equal(stepsUntilOver(), 50)
  clock.load = 1
  const limit = new TimeLimit(2_000, clock)
  clock.now += 600_000
  assert.equal(limit.isOver, false)
})

test('a promise settles within its limit, or the wait for it rejects', async () => {
  assert.equal(await settleWithin(60_000, 'one', Promise.resolve(1)), 1)
  await assert.rejects(settleWithin(60_000, 'two', Promise.reject(new Error('its own'))), /its own/)
  await assert.rejects(settleWithin(1, 'three', new Promise(() => {})), /three: no result within 1 ms/)
})
