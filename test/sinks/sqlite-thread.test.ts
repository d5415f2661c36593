// The thread of an SQLite file has time limits, and does not write what was reported as failed.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { acquireThread, releaseThread } from '../../src/sinks/sqlite/sqlite-thread.ts'
import { eventually } from '../e2e/eventually.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

const timeoutMs = 1_000

test('while a request is late, later ones fail at once and are not written; after its end, they are', async (t) => {
  const path = join(await temporaryFolder(t), 'rows.db')
  const thread = acquireThread({ path, busyTimeoutMs: 20_000, timeoutMs })
  t.after(() => releaseThread(thread))
  const write = (number: number) =>
    thread.run({
      kind: 'write',
      statements: [{ texts: ['INSERT INTO r VALUES (', ')'], values: [number] }],
      createTable: 'CREATE TABLE IF NOT EXISTS r (number INTEGER)',
    })
  assert.deepEqual((await write(1)).outcomes, [{ outcome: 'done' }])
  const other = new DatabaseSync(path, { timeout: 20_000 })
  t.after(() => other.close())
  // The lock stands for a disk that does not respond.
  other.exec('BEGIN EXCLUSIVE')
  await assert.rejects(write(2), /rows\.db: the disk has not responded within 1000 ms/)
  const beginMs = performance.now()
  for (let count = 0; count < 100; count++) await assert.rejects(write(3), /has not responded/)
  assert.ok(performance.now() - beginMs < timeoutMs)
  other.exec('COMMIT')
  await eventually(async () => {
    const outcomes = await write(4).then(
      (response) => response.outcomes,
      (error: Error) => error.message,
    )
    assert.deepEqual(outcomes, [{ outcome: 'done' }])
  })
  const numbers = other.prepare('SELECT DISTINCT number FROM r ORDER BY number').all()
  assert.deepEqual(
    numbers.map(({ number }) => number),
    [1, 2, 4],
  )
})
