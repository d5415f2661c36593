import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { findNextTime, ScheduledBackups } from '../../../src/node/backup/backup-schedule.ts'
import { startInTest } from './nodes.ts'

/** A local time in November 2026. The 21st is a Saturday. */
const at = (day: number, hours: number, minutes = 0): number => new Date(2026, 10, day, hours, minutes).getTime()

test('the next time of a schedule is the first one in the future', () => {
  assert.equal(findNextTime('03:30', at(21, 3)), at(21, 3, 30))
  assert.equal(findNextTime('03:30', at(21, 3, 30)), at(22, 3, 30))
  assert.equal(findNextTime('sun 03:30', at(21, 12)), at(22, 3, 30))
  assert.equal(findNextTime('sat 03:30', at(21, 12)), at(28, 3, 30))
  assert.equal(findNextTime(undefined, at(21, 12)), undefined)
})

test('an archive is created once at each scheduled time', () => {
  const world = { time: at(21, 3), made: [] as number[] }
  const backups = new ScheduledBackups(
    { when: '03:30', keep: 4 },
    {
      nowMs: () => world.time,
      make: async (keep) => void world.made.push(keep),
    },
  )
  backups.start()
  const passTo = (time: number): void => {
    world.time = time
    backups.poll()
  }
  passTo(at(21, 3, 29))
  assert.deepEqual(world.made, [])
  passTo(at(21, 3, 31))
  passTo(at(21, 3, 32))
  assert.deepEqual(world.made, [4])
  passTo(at(25, 9))
  assert.deepEqual(world.made, [4, 4], 'missed times cause one archive')
  backups.change({ when: undefined, keep: 4 })
  passTo(at(26, 9))
  assert.equal(world.made.length, 2)
  backups.stop()
})

test('the newest scheduled archives are kept, older ones are deleted, and other files are not affected', async (t) => {
  const { node, folder } = await startInTest(t)
  const { backup } = node
  await backup.export(
    {
      namespace: undefined,
      mayManageAccounts: true,
      by: { name: '', by: 'socket', role: 'administrator', namespace: undefined, address: '', login: undefined },
    },
    { tableSets: undefined, rootKeys: undefined },
  )
  for (let made = 0; made < 4; made++) await backup.makeScheduled(2)
  const files = await readdir(join(folder, 'backup'))
  assert.equal(files.filter((name) => name.startsWith('godwit-scheduled-export-')).length, 2)
  assert.equal(files.filter((name) => name.startsWith('godwit-export-')).length, 1)
})
