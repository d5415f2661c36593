import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { coarseStepMs, fineStepMs, monitorFile, MonitorHistory } from '../../src/node/observe/monitor-history.ts'
import { counterCells, Counters, createCounterTable } from '../../src/telemetry/index.ts'

const begin = Date.UTC(2026, 0, 1)

async function startHistory(t: TestContext, directory?: string) {
  const dataDirectory = directory ?? (await mkdtemp(join(tmpdir(), 'godwit-monitor-')))
  if (directory === undefined) t.after(() => rm(dataDirectory, { recursive: true }))
  const counters = createCounterTable(1)
  const cells = new Counters(counters, 0)
  const warnings: string[] = []
  const log = { debug() {}, info() {}, error() {}, warn: (text: string) => void warnings.push(text) }
  const clock = { nowMs: begin }
  const history = new MonitorHistory({ counters, dataDirectory, log, nowMs: () => clock.nowMs })
  const step = (messages: number): void => {
    clock.nowMs += fineStepMs
    cells.add(counterCells.messagesReceived, messages)
    history.sample()
  }
  return { history, step, clock, dataDirectory, warnings }
}

test('the history has counts for each 10 s of the last hour, and sums for each minute of the last day', async (t) => {
  const { history, step, clock } = await startHistory(t)
  for (let at = 1; at <= 12; at++) step(at)
  const fine = history.listLatest(3_600_000)
  assert.deepEqual(
    fine.map(({ received }) => received),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  )
  assert.deepEqual(
    fine.map(({ time_stamp: at }) => (at - begin) / fineStepMs),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
  )
  const minutes = history.listLatest(86_400_000)
  assert.deepEqual(
    minutes.map(({ time_stamp: at, received }) => [(at - begin) / coarseStepMs, received]),
    [
      [0, 1 + 2 + 3 + 4 + 5],
      [1, 6 + 7 + 8 + 9 + 10 + 11],
      [2, 12],
    ],
  )
  assert.equal(history.listLatest(30_000).length, 3)
  clock.nowMs += 1
})

test('the history is limited to an hour of 10 s steps and a day of minutes', async (t) => {
  const { history, step } = await startHistory(t)
  for (let at = 0; at < 9_000; at++) step(1)
  assert.equal(history.listLatest(3_600_000).length, 360)
  const minutes = history.listLatest(86_400_000)
  assert.ok(minutes.length <= 1_440 && minutes.length >= 1_438, String(minutes.length))
  assert.ok(minutes.slice(0, -1).every(({ received }) => received === 6))
  await history.stop()
})

test('the history is continued after a restart, and invalid lines of the file are ignored', async (t) => {
  const first = await startHistory(t)
  for (let at = 0; at < 60; at++) first.step(2)
  await first.history.stop()
  const file = join(first.dataDirectory, monitorFile)
  await appendFile(file, '[1,2\nnot a line\n["x",1,1,1,1,1,1,1,1,1,1]\n[')
  const second = await startHistory(t, first.dataDirectory)
  second.clock.nowMs = first.clock.nowMs + 300_000
  await second.history.start()
  t.after(() => second.history.stop())
  assert.equal(second.history.listLatest(3_600_000).length, 60)
  second.step(7)
  assert.deepEqual(
    second.history.listLatest(86_400_000).map(({ received }) => received),
    [10, 12, 12, 12, 12, 12, 12, 12, 12, 12, 2, 7],
  )
  assert.deepEqual(second.warnings, [])
})

test('the file is rewritten each hour, so that it does not grow', async (t) => {
  const { history, step, dataDirectory } = await startHistory(t)
  for (let at = 0; at < 9_000; at++) step(1)
  await history.stop()
  const lines = (await readFile(join(dataDirectory, monitorFile), 'utf8')).split('\n').length
  assert.ok(lines < 1_440 + 360 + 360 + 2, String(lines))
})

test('if the file cannot be written, one warning is logged, and the history continues in memory', async (t) => {
  const { history, step, warnings } = await startHistory(t, '/dev/null/nowhere')
  for (let at = 0; at < 6; at++) step(1)
  await history.stop()
  assert.deepEqual(warnings, ['rate history not written'])
  assert.equal(history.listLatest(60_000).length, 6)
})
