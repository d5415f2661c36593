// Connections of sources, with a driver in memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpeningAttempt } from '../../src/sinks/connections/open-service-connection.ts'
import { openSource } from '../../src/sinks/sources/open-source.ts'
import type { SourceDriver } from '../../src/sinks/sources/source-type.ts'

const never = (): Promise<never> => new Promise(() => {})

/** Connections are numbers. */
class MemorySource implements SourceDriver<number> {
  readonly limits = { connectTimeoutMs: 50, requestTimeoutMs: 50 }
  readonly calls: string[] = []
  open: (attempt: OpeningAttempt) => Promise<number> = async () => 1
  receive: (connection: number) => Promise<void> = async () => {}

  async end(connection: number): Promise<void> {
    this.calls.push(`end ${connection}`)
  }

  destroy(connection: number): void {
    this.calls.push(`destroy ${connection}`)
  }
}

test('a source whose service does not respond to the request to receive fails in time, and its connection is destroyed', async () => {
  const source = new MemorySource()
  source.receive = never
  await assert.rejects(openSource(source), /no response within 50 ms/)
  assert.deepEqual(source.calls, ['destroy 1'])
})

test('a source that the service refuses has the reason of the service, and its connection is destroyed', async () => {
  const source = new MemorySource()
  source.receive = () => Promise.reject(new Error('no queue "orders"'))
  await assert.rejects(openSource(source), /no queue "orders"/)
  assert.deepEqual(source.calls, ['destroy 1'])
})

test('a source that does not connect fails in time, and what is open of it is ended', async () => {
  const source = new MemorySource()
  source.open = (attempt) => {
    attempt.onFailure(() => source.calls.push('abandon'))
    return never()
  }
  await assert.rejects(openSource(source), /no connection within 50 ms/)
  assert.deepEqual(source.calls, ['abandon'])
})

test('a source that is closed says goodbye to its service before its connection is destroyed', async () => {
  const source = new MemorySource()
  const connection = await openSource(source)
  assert.deepEqual(source.calls, [])
  connection.close()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(source.calls, ['end 1', 'destroy 1'])
})
