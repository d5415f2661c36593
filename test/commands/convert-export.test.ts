import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { toArchiveFolder } from '../../src/archives/index.ts'
import { checkArchive, type TableRecord } from '../../src/backup/index.ts'
import { isPassword } from '../../src/access/index.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { runCtlHere } from '../cli/ctl/ctl.ts'

const salt = Buffer.from([1, 2, 3, 4])
const digest = createHash('sha256').update(salt).update('of dora').digest('hex')

const old = {
  version: '4.3',
  date: '2026-01-01 10:00:00',
  auth_mnesia: [
    {
      login: 'dora',
      type: 'username',
      password: Buffer.concat([salt, Buffer.from(digest)]).toString('base64'),
      created_at: 1_600_000_000,
    },
    { login: 'odd', type: 'username', password: 'AAAA' },
  ],
  acl_mnesia: [{ login: 'dora', type: 'username', topic: 'plant/#', action: 'pub', access: 'deny', created_at: 1 }],
  blacklist: [{ who: { clientid: 'bad' }, by: 'ann', reason: 'known', at: 1_600_000_000, until: 1_600_000_600 }],
  apps: [
    { id: 'default', secret: 'public', name: 'Default', desc: '', status: true, expired: 'undefined' },
    { id: 'app', secret: 'its secret', name: 'reports', desc: '', status: true, expired: 'undefined' },
  ],
  users: [{ username: 'admin', password: 'x', tags: 'administrator' }],
  rules: [{ id: 'rule:1' }],
}

test('an export of EMQX 4 is converted to an archive, and entries that cannot be converted are listed', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'old.json')
  await writeFile(file, JSON.stringify(old))
  const { code, output, errors } = await runCtlHere(['data', 'convert', file, '--output', folder])
  assert.deepEqual([code, errors], [0, ''])
  assert.match(output, /stricter than before: auth_mnesia: 1 entry \("username odd"\): the password cannot be read/)
  assert.match(output, /not imported: users: 1 entry \("admin"\).*create the accounts again/)
  assert.match(output, /not imported: rules: 1 entry \("rule:1"\)/)
  assert.match(output, /not imported: apps: 1 entry \("default"\): the secret is well known/)
  const [, path = ''] = /The archive is (\S+)/.exec(output) ?? []
  const records: TableRecord[] = []
  const content = await readFile(path)
  await checkArchive(only(content), {
    folder: toArchiveFolder(basename(path)),
    maxLineBytes: 65_536,
    onRecord: (_table, record) => void records.push(record),
  })
  assert.deepEqual(records.map(({ kind }) => kind).toSorted(), ['api-key', 'ban', 'credential', 'credential', 'rule'])
  const credential = records.find((record) => record.kind === 'credential' && record.id === 'dora')
  assert.ok(credential?.kind === 'credential' && isPassword(Buffer.from('of dora'), credential))
})

test('the type of logins before 4.3 is an option of the command', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'old.json')
  const rule = { login: 'dora', topic: 'plant/#', action: 'sub', allow: false }
  await writeFile(file, JSON.stringify({ version: '4.2', acl_mnesia: [rule] }))
  const convert = ['data', 'convert', file, '--output', folder]
  assert.match(
    (await runCtlHere(convert)).errors,
    /repeat the command with --login-type username or --login-type clientid/,
  )
  assert.match((await runCtlHere([...convert, '--login-type', 'user'])).errors, /write username or clientid/)
  assert.match((await runCtlHere([...convert, '--login-type', 'clientid'])).output, /rules: 1/)
})

async function* only(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

test('a file that is not an export of EMQX 4 is refused with a sentence', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'other.json')
  for (const [text, why] of [
    ['no json', /is not valid JSON/],
    ['{"a":1}', /not an export of EMQX 4/],
  ] as const) {
    await writeFile(file, text)
    const { code, errors } = await runCtlHere(['data', 'convert', file, '--output', folder])
    assert.equal(code, 1)
    assert.match(errors, why)
  }
})
