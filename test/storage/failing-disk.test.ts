import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { LevelStage } from './level-stage.ts'

/** In blocks of 512 bytes: 1 MiB per file. */
const limitBlocks = 2_048

test('a commit fails on a full disk, reads continue, and the same batch is committed after reopening', (context) => {
  const stage = new LevelStage(context)
  const writer = join(import.meta.dirname, 'failing-disk-writer.ts')
  const output = execFileSync(
    'sh',
    ['-c', `ulimit -f ${limitBlocks}; exec "$@"`, 'sh', process.execPath, writer, stage.directory],
    { encoding: 'utf8' },
  )
  const { scenario, committed, found, alarms } = JSON.parse(output) as Record<string, unknown>
  const round = [
    'commit failed',
    'reads go on',
    'a commit failed before: the store is to be reopened first',
    'committed again',
  ]
  assert.deepEqual(scenario, [...round, ...round])
  assert.equal(found, committed)
  assert.deepEqual(alarms, [])
})

test('with several stores on a full disk, each commits again after all have closed and reopened', (context) => {
  const stage = new LevelStage(context)
  const writer = join(import.meta.dirname, 'failing-disk-stores.ts')
  const output = execFileSync(
    'sh',
    ['-c', `ulimit -f ${limitBlocks}; exec "$@"`, 'sh', process.execPath, writer, stage.directory],
    { encoding: 'utf8' },
  )
  const { failures, found, whoLeft, alarms } = JSON.parse(output) as Record<string, unknown>
  assert.ok(Number(failures) > 0, 'nothing failed')
  assert.deepEqual(found, [3_000, 3_000, 3_000])
  assert.deepEqual(whoLeft, ['0 left', '1 left', '2 left'])
  assert.deepEqual(alarms, [])
})
