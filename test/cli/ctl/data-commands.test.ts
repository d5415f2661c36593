import assert from 'node:assert/strict'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { archiveOf, folder } from '../../backup/crafted.ts'
import { shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused, runCtl } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('an archive is made, listed, looked at, compared and carried out by name and by path', async (t) => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['user', 'add', 'carol'], { lines: ['of carol'] })
  const said = await ctlDone(broker, ['data', 'export'])
  const [, filename = ''] = /successfully exported to (\S+\.tar\.gz)\.$/m.exec(said) ?? []
  assert.match(said, /^Exporting cluster configuration\.\.\.$/m)
  assert.match(said, /^Exporting credentials database table\.\.\.$/m)
  assert.match(await ctlDone(broker, ['data', 'list']), new RegExp(`^${filename}\t`, 'm'))
  assert.match(await ctlDone(broker, ['data', 'verify', filename]), /credentials 1/)
  assert.match(await ctlDone(broker, ['data', 'diff', filename]), /no difference/)
  await ctlDone(broker, ['user', 'del', 'carol'])
  assert.match(await ctlDone(broker, ['data', 'diff', filename]), /credentials: 1 only in the first/)

  const elsewhere = await mkdtemp(join(tmpdir(), 'godwit-archive-'))
  t.after(() => rm(elsewhere, { recursive: true, force: true }))
  const path = join(elsewhere, filename)
  await copyFile(join(broker.dataDirectory, 'backup', filename), path)
  const here = async (...words: string[]): Promise<string> => {
    const { code, output, errors } = await runCtl(t, ['data', ...words, '--data', broker.dataDirectory])
    return code === 0 ? output : `${code}: ${errors}`
  }
  const [, whole = ''] = /exported to (\S+)\.$/m.exec(await here('export', '--table-sets', 'banned')) ?? []
  assert.equal(dirname(whole), join(broker.dataDirectory, 'backup'), 'a user of this machine is told where it is')
  const dry = await here('import', path, '--dry-run')
  assert.match(dry, /credentials: 1 new, 0 replaced, 0 as they were/)
  assert.match(dry, /Nothing has been changed\./)
  const imported = await here('import', path)
  assert.match(imported, /^Importing data from/m)
  assert.match(imported, /^Importing credentials database table\.\.\.$/m)
  assert.match(await here('import', whole), /^No backup file for credentials database table\.\.\.$/m)
  assert.match(imported, /Data has been imported successfully\./)
  const outcome = JSON.parse(await ctlDone(broker, ['data', 'import', filename, '--json']))
  assert.equal(outcome.tables.find((each: { table: string }) => each.table === 'credentials').unchanged, 1)

  const renamed = join(elsewhere, 'mine.tar.gz')
  await writeFile(renamed, await readFile(path))
  assert.match(await here('import', renamed), /^1: .*give it the name back/)
  assert.match(await ctlRefused(broker, 1, ['data', 'import', 'none.tar.gz']), /no backup file/)
  const legacy = `${folder}.tar.gz`
  await writeFile(join(elsewhere, legacy), archiveOf({}, { profile: 'legacy' }))
  assert.match(await here('import', join(elsewhere, legacy)), /Allow it with --allow-security-profile-mismatch/)
  await ctlDone(broker, ['data', 'delete', filename])
  assert.match(await ctlRefused(broker, 1, ['data', 'verify', filename]), /no backup file/)
})
