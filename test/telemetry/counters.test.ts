import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  counterCells,
  Counters,
  createCounterTable,
  ForwardingLog,
  type LogFields,
  type LogLevel,
  maxLinesPerEventAndSecond,
  maxWaitingLogLines,
  readCounters,
} from '../../src/telemetry/index.ts'

test('readCounters returns the sums of the counters of all shards', () => {
  const table = createCounterTable(3)
  new Counters(table, 0).add(counterCells.messagesReceived, 5)
  new Counters(table, 2).add(counterCells.messagesReceived, 7)
  new Counters(table, 1).set(counterCells.connectionsOpen, 2)
  const sums = readCounters(table)
  assert.equal(sums.messagesReceived, 12)
  assert.equal(sums.connectionsOpen, 2)
  assert.equal(sums.bytesSent, 0)
})

test('shards do not share a cache line', () => {
  assert.equal((createCounterTable(2).byteLength / 2) % 64, 0)
})

test('a restarted shard resets its gauges and keeps its counters', () => {
  const row = new Counters(createCounterTable(1), 0)
  row.set(counterCells.connectionsOpen, 9)
  row.set(counterCells.sessionsStored, 4)
  row.set(counterCells.unsentBytes, 4)
  row.set(counterCells.messagesSent, 100)
  row.clearGauges()
  assert.equal(row.get(counterCells.connectionsOpen), 0)
  assert.equal(row.get(counterCells.sessionsStored), 0)
  assert.equal(row.get(counterCells.unsentBytes), 0)
  assert.equal(row.get(counterCells.messagesSent), 100)
})

interface Posted {
  level: LogLevel
  event: string
  fields: LogFields | undefined
}

interface Forwarding {
  log: ForwardingLog
  counters: Counters
  posted: Posted[]
  clock: { nowMs: number }
}

function forwarding(threshold: LogLevel): Forwarding {
  const counters = new Counters(createCounterTable(1), 0)
  const posted: Posted[] = []
  const clock = { nowMs: 0 }
  const post = (level: LogLevel, event: string, fields: LogFields | undefined): void => {
    posted.push({ level, event, fields })
  }
  return { log: new ForwardingLog(threshold, counters, post, () => clock.nowMs), counters, posted, clock }
}

test('a shard sends only log lines of the configured level or above to the main thread', () => {
  const { log, posted } = forwarding('warn')
  log.debug('a')
  log.info('b')
  log.warn('c', { port: 1 })
  log.error('d')
  assert.deepEqual(posted, [
    { level: 'warn', event: 'c', fields: { port: 1 } },
    { level: 'error', event: 'd', fields: undefined },
  ])
})

test('a shard shortens long values once, before it sends them to the main thread', () => {
  const { log, posted } = forwarding('warn')
  log.warn('client refused', { clientId: 'c'.repeat(60_000), port: 1 })
  const [{ fields } = {}] = posted
  assert.match(String(fields?.['clientId']), /^c{1024}… \(60000 characters\)$/)
  assert.equal(fields?.['port'], 1)
  log.warn('client refused', fields)
  assert.equal(posted[1]?.fields, fields)
})

test('while the main thread does not read log lines, further lines are dropped and counted', () => {
  const { log, counters, posted } = forwarding('info')
  for (let line = 0; line < maxWaitingLogLines + 10; line += 1) log.info(`flood of kind ${line % 5}`)
  assert.equal(posted.length, maxWaitingLogLines)
  assert.equal(counters.get(counterCells.logLinesDropped), 10)

  counters.add(counterCells.logLinesTaken, 1)
  log.info('space for one')
  log.info('and not for two')
  assert.equal(posted.at(-1)?.event, 'space for one')
  assert.equal(counters.get(counterCells.logLinesDropped), 11)
})

test('lines of one event are limited per second, and the number of dropped lines is logged in the next second', () => {
  const { log, counters, posted, clock } = forwarding('info')
  for (let line = 0; line < maxLinesPerEventAndSecond + 7; line += 1) log.warn('message dropped')
  log.warn('something else')
  assert.equal(posted.length, maxLinesPerEventAndSecond + 1)
  assert.equal(posted.at(-1)?.event, 'something else')
  assert.equal(counters.get(counterCells.logLinesDropped), 7)

  clock.nowMs = 1_000
  log.warn('message dropped')
  assert.deepEqual(posted.slice(-2), [
    { level: 'warn', event: 'log lines dropped', fields: { of: 'message dropped', lines: 7 } },
    { level: 'warn', event: 'message dropped', fields: undefined },
  ])
  clock.nowMs = 2_000
  log.warn('message dropped')
  assert.equal(posted.filter((line) => line.event === 'log lines dropped').length, 1)
})
