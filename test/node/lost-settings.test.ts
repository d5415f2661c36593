// Files of the configuration that are emptied, missing, cut or old: settings that the API has changed are not dropped without a word.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { type ConfigurationReading, readConfiguration } from '../../src/node/index.ts'
import { ConfigHistory } from '../../src/node/configuration/config-history.ts'

const changes = { auth: { no_match: 'deny', allow_anonymous: false } }
const installation = { root: '/nowhere', isCheckout: false }

interface Stage {
  readonly directory: string
  readonly changesFile: string
  readonly own: string
  readonly read: (file?: string) => ConfigurationReading
}

/** A data directory after a run whose API changed two settings; with `text`, it also wrote a whole configuration. */
async function prepare(t: TestContext, text?: string): Promise<Stage> {
  const directory = mkdtempSync(join(tmpdir(), 'godwit-settings-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const changesFile = join(directory, 'changed-settings.conf')
  const own = join(directory, 'godwit.conf')
  writeFileSync(changesFile, JSON.stringify(changes))
  writeFileSync(`${changesFile}.bak`, '{}')
  if (text !== undefined) writeFileSync(own, text)
  const history = await ConfigHistory.open(directory, Buffer.alloc(32))
  const author = { name: 'admin', by: 'administrator', address: '' } as const
  for (const act of ['config_update', 'config_set'])
    await history.add({
      atMs: 1,
      author,
      act,
      text,
      changes,
      untilRestart: {},
      settings: {},
      isOwnFile: text !== undefined,
    })
  const request = { dataDirectory: directory, overrides: [], environment: {}, installation }
  return { directory, changesFile, own, read: (file) => readConfiguration({ ...request, file }) }
}

function assertClosed(read: ConfigurationReading): string | undefined {
  assert.ok('config' in read, JSON.stringify(read))
  assert.equal(read.config.auth.acl.noMatch, 'deny')
  assert.equal(read.config.auth.allowAnonymous, false)
  return read.restoredSettings
}

const losses: Readonly<Record<string, (path: string) => void>> = {
  deleted: (path) => rmSync(path),
  emptied: (path) => truncateSync(path),
  'a line end': (path) => writeFileSync(path, '\n'),
  'zeros, as after a power cut': (path) => writeFileSync(path, Buffer.alloc(40)),
}

for (const [name, lose] of Object.entries(losses)) {
  test(`settings that the API changed are restored from the history if their file is ${name}`, async (t) => {
    const { changesFile, read } = await prepare(t)
    assert.equal(assertClosed(read()), undefined)
    lose(changesFile)
    assert.match(assertClosed(read()) ?? '', /restored from version 2 of the history/)
  })

  test(`a start is refused if the configuration that the API wrote is ${name}`, async (t) => {
    const { own, read } = await prepare(t, 'auth.no_match = deny\n')
    assertClosed(read())
    lose(own)
    const refused = read()
    assert.ok('problem' in refused, JSON.stringify(refused))
    assert.match(refused.problem, /restore it; its text is in version 2 of config-history/)
  })
}

test('a start is refused if the changed settings and the history are missing, and a backup shows that there were some', async (t) => {
  const { directory, changesFile, read } = await prepare(t)
  rmSync(changesFile)
  rmSync(join(directory, 'config-history'), { recursive: true })
  const refused = read()
  assert.ok('problem' in refused)
  assert.match(refused.problem, /settings that the API has changed are lost; restore it/)
  rmSync(`${changesFile}.bak`)
  assert.ok('config' in read(), 'the administrator has decided')
})

test('a changed-settings.conf that is cut anywhere is refused with its line, or has all settings', async (t) => {
  const { changesFile, read } = await prepare(t)
  const text = readFileSync(changesFile, 'utf8')
  for (let length = 1; length < text.length; length++) {
    writeFileSync(changesFile, text.slice(0, length))
    const found = read()
    assert.ok('errors' in found, `${length}: ${JSON.stringify(found)}`)
    assert.match(found.errors[0]?.file ?? '', /changed-settings\.conf$/)
  }
})

test('a damaged newest version of the history gives way to the one before it', async (t) => {
  const { directory, changesFile, read } = await prepare(t)
  for (const damage of ['', '{"number": 2', 'null', '[]', '\0\0']) {
    writeFileSync(join(directory, 'config-history', '00000002.json'), damage)
    rmSync(changesFile, { force: true })
    assert.match(assertClosed(read()) ?? '', /version 1/)
  }
})

test('settings that were unset on purpose stay unset, and an emptied configuration may be wanted', async (t) => {
  const { changesFile, own, read } = await prepare(t, 'auth.no_match = deny\n')
  writeFileSync(changesFile, '{}\n')
  writeFileSync(own, '# nothing\n')
  const found = read()
  assert.ok('config' in found, JSON.stringify(found))
  assert.equal(found.config.auth.acl.noMatch, 'allow')
})

test('a configuration that --config names is refused if it was emptied since the last start', async (t) => {
  const { directory, read } = await prepare(t, 'auth.no_match = deny\n')
  const named = join(directory, 'named.conf')
  writeFileSync(named, '')
  const refused = read(named)
  assert.ok('problem' in refused)
  assert.match(refused.problem, /named\.conf is empty, and was not before/)
})

test('a data directory that was moved has the settings that it had', async (t) => {
  const { directory } = await prepare(t, 'auth.no_match = deny\n')
  const moved = `${directory}.moved`
  mkdirSync(moved)
  cpSync(directory, moved, { recursive: true })
  t.after(() => rmSync(moved, { recursive: true, force: true }))
  renameSync(join(moved, 'changed-settings.conf'), join(moved, 'gone'))
  const request = { dataDirectory: moved, overrides: [], environment: {}, installation, file: undefined }
  assert.match(assertClosed(readConfiguration(request)) ?? '', /restored/)
})
