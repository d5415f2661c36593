// The time limits of connections to services, with drivers in memory and one real socket.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { endCallsOnClose } from '../../src/sinks/connections/closable-sink.ts'
import { ConnectionPool } from '../../src/sinks/connections/connection-pool.ts'
import type { ConnectionDriver, OpeningAttempt } from '../../src/sinks/connections/open-service-connection.ts'
import { endOnException } from '../../src/transports/index.ts'
import { SharedConnection } from '../../src/sinks/connections/shared-connection.ts'
import type { ActionEntry, WriteOutcome } from '../../src/sinks/index.ts'

const limits = { connectTimeoutMs: 50, requestTimeoutMs: 50 }
const never = (): Promise<never> => new Promise(() => {})

/** Connections are numbers. `silent`: opening never ends. */
class MemoryDriver implements ConnectionDriver<number> {
  opened = 0
  readonly destroyed: number[] = []
  abandoned = 0
  isSilent = false

  open(attempt: OpeningAttempt): Promise<number> {
    attempt.onFailure(() => this.abandoned++)
    return this.isSilent ? never() : Promise.resolve(++this.opened)
  }

  destroy(connection: number): void {
    this.destroyed.push(connection)
  }
}

test('a request without a response fails in time, and its connection is destroyed', async () => {
  const driver = new MemoryDriver()
  const shared = new SharedConnection(driver, limits)
  assert.equal(await shared.use(async (connection) => connection), 1)
  await assert.rejects(shared.use(never), /no response within 50 ms/)
  assert.deepEqual(driver.destroyed, [1])
  assert.equal(await shared.use(async (connection) => connection), 2, 'the next request opens another connection')
})

test('all requests of a connection fail when one of them has no response, and those that respond meanwhile succeed', async () => {
  const driver = new MemoryDriver()
  const shared = new SharedConnection(driver, limits)
  const answered = Promise.withResolvers<string>()
  const results = Promise.allSettled([
    shared.use(never),
    shared.use(() => answered.promise),
    shared.use(async () => 'at once'),
  ])
  answered.resolve('later')
  assert.deepEqual(
    (await results).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
})

test('a connection that does not open fails in time for all requests that wait, and what is open of it is ended', async () => {
  const driver = new MemoryDriver()
  driver.isSilent = true
  const shared = new SharedConnection(driver, limits)
  const pool = new ConnectionPool(driver, limits, 2)
  const all = await Promise.allSettled([
    ...Array.from({ length: 5 }, () => shared.use(async () => 1)),
    ...Array.from({ length: 5 }, () => pool.use(async () => 1)),
  ])
  for (const result of all) assert.match(result.status === 'rejected' ? String(result.reason) : '', /within 50 ms/)
  // One attempt of the shared connection, and two of the pool, whose timers end one after the other.
  while (driver.abandoned < 3) await new Promise((resolve) => setImmediate(resolve))
  driver.isSilent = false
  assert.equal(await pool.use(async () => 'works'), 'works')
  assert.equal(await shared.use(async () => 'works'), 'works')
})

const countTimers = (): number => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length

test('closing ends requests and attempts at once', async () => {
  const driver = new MemoryDriver()
  const slow = { connectTimeoutMs: 60_000, requestTimeoutMs: 60_000 }
  const timersBefore = countTimers()
  const [shared, opening] = [new SharedConnection(driver, slow), new SharedConnection(driver, slow)]
  const pool = new ConnectionPool(driver, slow, 1)
  const requests = [shared.use(never), pool.use(never), pool.use(never)]
  await Promise.resolve()
  driver.isSilent = true
  requests.push(opening.use(never))
  const results = Promise.allSettled(requests)
  await new Promise((resolve) => setImmediate(resolve))
  for (const each of [shared, opening, pool]) each.close()
  for (const result of await results)
    assert.match(result.status === 'rejected' ? String(result.reason) : '', /being stopped/)
  // A limit of time that stays would keep the connection in memory, and the process running.
  assert.ok(countTimers() <= timersBefore)
})

test('a pool has at most its size of connections, replaces broken ones, and gives them to users in order', async () => {
  const driver = new MemoryDriver()
  const pool = new ConnectionPool(driver, limits, 2)
  const [first, second] = [await pool.acquire(), await pool.acquire()]
  const order: string[] = []
  const waiting = ['a', 'b', 'c'].map(async (name) => {
    const connection = await pool.acquire()
    order.push(name)
    connection.release(false)
  })
  assert.equal(driver.opened, 2)
  await assert.rejects(first.run(never), /no response/)
  first.release(true)
  second.release(false)
  await Promise.all(waiting)
  assert.deepEqual(order.toSorted(), ['a', 'b', 'c'])
  assert.ok(driver.opened <= 3)
  assert.deepEqual(driver.destroyed, [1])
})

test('calls of a sink end when it is closed, even if its driver does nothing', async () => {
  const sink = endCallsOnClose({ write: never, check: never, close: () => {} })
  const entry: ActionEntry = { payload: Buffer.from('x'), attributes: [] }
  const [write, check] = [sink.write([entry, entry]), sink.check()]
  sink.close()
  assert.deepEqual(
    (await write).map(({ outcome }: WriteOutcome) => outcome),
    ['retry', 'retry'],
  )
  assert.match((await check) ?? '', /being stopped/)
})

test('an exception of a client library for an answer closes the connection', async (t) => {
  const server = createServer((socket) => socket.write('nonsense')).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const socket = endOnException(connect((server.address() as AddressInfo).port, '127.0.0.1'))
  socket.on('data', () => {
    throw new RangeError('outside buffer bounds')
  })
  const [error] = (await once(socket, 'error')) as [Error]
  assert.match(error.message, /does not allow: outside buffer bounds/)
  assert.equal(socket.destroyed, true)
})
