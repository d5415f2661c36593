// The files and directories that a configuration over the API may name.

import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { AllowedPaths } from '../../src/node/configuration/layers/allowed-paths.ts'
import { type Scope, temporaryFolder } from '../e2e/godwit-process.ts'

interface Stage {
  readonly folder: string
  readonly data: string
  readonly paths: AllowedPaths
  readonly isAllowed: (path: string, use?: string, isWritten?: boolean) => boolean
}

/** Creates a data directory, an allowed directory `keys` and a directory `elsewhere` that is not allowed. */
async function stage(t: Scope, local = ''): Promise<Stage> {
  const folder = await temporaryFolder(t)
  const data = join(folder, 'data')
  for (const name of ['data', 'data/certs', 'keys', 'elsewhere']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'elsewhere', 'secret.pem'), '')
  const paths = new AllowedPaths(data)
  const text = `node.allowed_directories = ["${join(folder, 'keys')}"]\n${local.replaceAll('FOLDER', folder)}`
  const loaded = loadConfig({ text, overrides: [], readFile: () => ({ text: '' }) })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  paths.setLocal(loaded.config, folder)
  const isAllowed = (path: string, use = 'psk_file', isWritten = false): boolean =>
    paths.findProblem({ use, path, isWritten }) === undefined
  return { folder, data, paths, isAllowed }
}

describe('a path of a configuration over the API', () => {
  test('must be below the data directory or an allowed directory, whether it exists or not', async (t) => {
    const { folder, data, isAllowed } = await stage(t)
    for (const path of ['psk.txt', 'a/b/c.pem', 'certs/a.pem', 'C:\\windows\\psk', 'a..b']) {
      assert.ok(isAllowed(join(data, path)), path)
      assert.ok(isAllowed(join(folder, 'keys', path)), path)
    }
    for (const path of [data, folder, '/', '/etc/shadow', join(folder, 'elsewhere/secret.pem'), `${data}-other/a`]) {
      assert.ok(!isAllowed(path), path)
    }
    for (const path of [`${data}/../elsewhere/secret.pem`, `${data}/certs/../../elsewhere/x`, `${data}/a\0b`]) {
      assert.ok(!isAllowed(path), path)
    }
  })

  test('is resolved through links; a link without a target is refused', async (t) => {
    const { folder, data, isAllowed } = await stage(t)
    await symlink(join(folder, 'elsewhere'), join(data, 'out'))
    await symlink(join(folder, 'elsewhere', 'new.log'), join(data, 'dangling'))
    await symlink(join(data, 'loop'), join(data, 'loop'))
    await symlink(join(folder, 'keys'), join(data, 'to-keys'))
    for (const path of ['out/secret.pem', 'out/new/file', 'dangling', 'dangling/x', 'loop']) {
      assert.ok(!isAllowed(join(data, path)), path)
    }
    assert.ok(isAllowed(join(data, 'to-keys/a.pem')))
  })

  test('cannot be a file of the broker in the data directory', async (t) => {
    const { data, isAllowed } = await stage(t)
    for (const entry of [
      'godwit.conf',
      'godwit.conf.bak',
      'changed-settings.conf',
      'access-secret',
      'store/000001.ldb',
      'audit/audit.jsonl',
      'backup/a.tar.gz',
      'config-history/00000001.json',
      'trace/a.jsonl',
      'ctl.sock',
      'log/godwit.log',
      'session-a.damaged',
      'node.lock',
      'disk-reserve',
      'disk-reserve.new',
      'dashboard.sock',
    ]) {
      assert.ok(!isAllowed(join(data, entry)), entry)
    }
    assert.ok(isAllowed(join(data, 'log'), 'dir', true), 'the directory of log files')
    assert.ok(!isAllowed(join(data, 'log/godwit.log'), 'filepath', true), 'a log file of the broker')
    assert.ok(isAllowed(join(data, 'lines'), 'dir', true))
    for (const entry of ['store', 'certs', 'restored', 'backup', 'audit']) {
      assert.ok(!isAllowed(join(data, entry), 'dir', true), `${entry} for log files`)
    }
    assert.ok(!isAllowed(data, 'dir', true), 'log.file could be each file of the broker')
    for (const entry of ['certs/a.conf', 'restored/a.conf', 'log/godwit.log', 'trace/a.jsonl'])
      assert.ok(!isAllowed(join(data, entry), 'include'), `an include of ${entry}, which requests replace`)
  })

  test('cannot be written if the local configuration reads it, as a setting or an include', async (t) => {
    const { data, paths, isAllowed } = await stage(
      t,
      'listeners.ssl { bind = 1, certfile = "FOLDER/data/a.pem", keyfile = "FOLDER/data/key.pem" }',
    )
    await symlink(join(data, 'key.pem'), join(data, 'other.conf'))
    await writeFile(join(data, 'key.pem'), '')
    paths.allowLocal({ use: 'include', path: join(data, 'more.conf'), isWritten: false })
    for (const name of ['key.pem', 'other.conf', 'more.conf'])
      assert.ok(!isAllowed(join(data, name), 'filepath', true), name)
    assert.ok(isAllowed(join(data, 'third.conf'), 'filepath', true))
  })

  test('of the local configuration stays allowed for the same use, and for no other', async (t) => {
    const local =
      'listeners.ssl { bind = 1, certfile = "FOLDER/elsewhere/a.pem", keyfile = "FOLDER/elsewhere/secret.pem" }'
    const { folder, isAllowed } = await stage(t, local)
    assert.ok(isAllowed(join(folder, 'elsewhere/secret.pem'), 'keyfile'))
    assert.ok(!isAllowed(join(folder, 'elsewhere/secret.pem'), 'psk_file'))
    assert.ok(!isAllowed(join(folder, 'elsewhere/b.pem'), 'keyfile'))
  })
})
