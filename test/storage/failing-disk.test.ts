import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { LevelStage } from './level-stage.ts'

/** In blocks of 512 bytes: 1 MiB a file. */
const limitBlocks = 2_048

test('a commit that the disk does not take fails, reads go on, and after reopening the same batch is taken', (context) => {
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

test('of several stores on a disk that takes nothing more each commits on after all have left and come back', (context) => {
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
