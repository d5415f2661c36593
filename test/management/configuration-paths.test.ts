// An administrator of the API can read and write files only in the data directory and in the directories that the local
// configuration allows.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { type BrokerWithApi, startBrokerWithApi } from './api.ts'
import { requestOverSocket } from './http.ts'
import { dataEntries } from '../../src/node/data-dir/data-entries.ts'

interface Stage {
  readonly broker: BrokerWithApi
  /** A directory that is not the data directory and is not allowed. */
  readonly outside: string
  readonly allowed: string
  readonly config: string
}

const sharedBroker = shared(async (scope): Promise<Stage> => {
  const folder = await temporaryFolder(scope)
  const [outside, allowed, config] = ['outside', 'allowed', 'local.conf'].map((name) => join(folder, name))
  const stage = { outside: outside ?? '', allowed: allowed ?? '', config: config ?? '' }
  await writeFiles(stage)
  return { broker: await startBrokerWithApi(scope, { config: stage.config }), ...stage }
})

async function writeFiles({ outside, allowed, config }: Omit<Stage, 'broker'>): Promise<void> {
  for (const directory of [outside, allowed]) {
    await rm(directory, { recursive: true, force: true })
    await mkdir(directory)
    await writeFile(join(directory, 'psk.txt'), 'ann:00112233445566778899aabbccddeeff\n')
    await writeFile(join(directory, 'acl.conf'), '{allow, all}.\n')
    await writeFile(join(directory, 'users.conf'), 'ann = "a password"\n')
  }
  await writeFile(config, localConfiguration(allowed))
}

const localConfiguration = (allowed: string): string =>
  `node.allowed_directories = ["${allowed}"]\nauth.acl.file = "outside/acl.conf"\n` +
  'auth.password { include "outside/users.conf" }\n'

/** One broker for all tests. Each test begins with the local configuration, without changes over the API. */
async function stage(): Promise<Stage> {
  const found = await sharedBroker()
  const { broker, config, allowed } = found
  await writeFile(config, localConfiguration(allowed))
  assert.equal((await broker.request('/api/v4/configuration_reload', { method: 'POST' })).status, 200)
  const { status, text } = await post(broker, '/config_update', localConfiguration(allowed))
  assert.equal(status, 200, text)
  await writeFiles(found)
  return found
}

const post = (broker: BrokerWithApi, path: string, body: unknown) =>
  broker.request(`/api/v4${path}`, { method: 'POST', body })

test('config_update with log.dir writes no file outside of the allowed directories, and psk_file reads none', async (t) => {
  const { broker, outside, allowed, config } = await stage()
  const link = join(broker.dataDirectory, 'link')
  await symlink(outside, link)
  t.after(() => unlink(link))
  const own = await readFile(config, 'utf8')
  const inData = join(broker.dataDirectory, 'lines')
  for (const path of [
    join(outside, 'cron.d'),
    outside,
    '/etc/cron.d',
    `${inData}/../../outside`,
    '../outside',
    link,
    join(link, 'deeper'),
    broker.dataDirectory,
    join(broker.dataDirectory, 'config-history'),
  ]) {
    const text = `${own}log { to = [file], dir = "${path}", file = "job" }\n`
    const inText = await post(broker, '/config_update', text)
    const inSection = await post(broker, '/configuration/log', { data: { log: { to: ['file'], dir: path } } })
    for (const { status, json } of [inText, inSection]) {
      assert.deepEqual([status, json.code], [400, 108], path)
      assert.match(json.message, /log\.dir: .* (node\.allowed_directories|name another path)/)
    }
  }
  assert.deepEqual(await readdir(outside), ['acl.conf', 'psk.txt', 'users.conf'])
  for (const file of [join(outside, 'psk.txt'), '/etc/shadow', join(broker.dataDirectory, 'access-secret')]) {
    const tls = { enable: true, bind: '127.0.0.1:0', psk_file: file }
    const { status, json } = await post(broker, '/configuration/listeners', { data: { listeners: { ssl: tls } } })
    assert.deepEqual([status, json.code], [400, 108], file)
    assert.match(json.message, /listeners\.ssl\.psk_file: /)
  }
  const tls = { enable: true, bind: '127.0.0.1:0', psk_file: join(allowed, 'psk.txt') }
  const made = await post(broker, '/configuration/listeners', { data: { listeners: { ssl: tls } } })
  assert.equal(made.status, 200, made.text)
})

async function checkMode(path: string): Promise<void> {
  const { mode } = await stat(path)
  assert.equal(mode & 0o077, 0, `${path} ${(mode & 0o777).toString(8)}`)
}

test('only the system user of the broker can read the files that it writes', async () => {
  const { broker } = await stage()
  const dir = join(broker.dataDirectory, 'lines')
  const changed = await post(broker, '/configuration/log', { data: { log: { to: ['file'], dir, file: 'mine.log' } } })
  assert.equal(changed.status, 200, changed.text)
  const exported = await broker.request('/api/v5/data/export', { method: 'POST', body: {} })
  assert.equal(exported.status, 200, exported.text)
  const trace = { name: 'one', type: 'clientid', clientid: 'a' }
  await post(broker, '/traces', trace)
  for (const entry of await readdir(broker.dataDirectory, { recursive: true }))
    await checkMode(join(broker.dataDirectory, entry))
  assert.ok(existsSync(join(dir, 'mine.log')))
})

test('no setting over the API names a file that the broker has written', async () => {
  const { broker } = await stage()
  // Each of these writes a further entry of the data directory.
  const changed = await post(broker, '/configuration/mqtt', { data: { mqtt: { max_mqueue_len: 9 } } })
  assert.equal(changed.status, 200, changed.text)
  assert.equal((await broker.request('/api/v5/data/export', { method: 'POST', body: {} })).status, 200)
  await post(broker, '/traces', { name: 'two', type: 'clientid', clientid: 'a' })
  const existing = await readdir(broker.dataDirectory, { withFileTypes: true })
  const byName = new Map(existing.map((entry) => [entry.name, entry.isDirectory()]))
  for (const name of ['node.lock', 'ctl.sock', 'dashboard.sock', 'store', 'trace', 'backup', 'changed-settings.conf'])
    assert.ok(byName.has(name), `${name} exists: ${[...byName.keys()].join(' ')}`)
  // Of the setting log.dir in another test.
  byName.delete('lines')
  for (const name of Object.values(dataEntries)) if (!byName.has(name)) byName.set(name, false)
  for (const [name, isDirectory] of byName) {
    const path = join(broker.dataDirectory, name, isDirectory ? 'one' : '')
    for (const setting of [
      { type: 'disk_log', filepath: path },
      { type: 'sqlite', path },
    ]) {
      const body = { name: 'writer', ...setting }
      const { status, text } = await broker.request('/api/v5/connectors', { method: 'POST', body })
      assert.equal(status, 400, `${setting.type} ${name}: ${text}`)
      assert.match(text, /is reserved for the broker/)
    }
  }
})

test('paths of the local configuration, and its includes, stay allowed when they are sent back', async () => {
  const { broker, outside, allowed, config } = await stage()
  const own = await readFile(config, 'utf8')
  const again = await post(broker, '/config_update', `${own}mqtt.max_mqueue_len = 7\n`)
  assert.equal(again.status, 200, again.text)
  const more = await post(broker, '/config_update', `${own}include "${join(outside, 'psk.txt')}"\n`)
  assert.deepEqual([more.status, more.json.code], [400, 117])
  assert.match(more.json.message, /psk\.txt is neither in the data directory nor in a directory of node\.allowed/)
  const moved = await post(broker, '/config_update', own.replaceAll('outside/', `${allowed}/`))
  assert.equal(moved.status, 200, moved.text)
  const other = await post(broker, '/config_update', own.replace('outside/acl.conf', 'outside/users.conf'))
  assert.deepEqual([other.status, other.json.code], [400, 108])
  assert.match(other.json.message, /auth\.acl\.file: .*outside\/users\.conf/)
})

test('node.allowed_directories is changed by the file and --set, not by the API or the control socket', async () => {
  const { broker, outside, allowed, config } = await stage()
  const own = await readFile(config, 'utf8')
  const wider = `["${allowed}", "${outside}"]`
  for (const text of [
    own.replace(/\[".*"\]/, wider),
    own.replace(/\[".*"\]/, '["/"]'),
    own.replace(/\[".*"\]/, '[]'),
  ]) {
    const { status, json } = await post(broker, '/config_update', text)
    assert.deepEqual([status, json.code], [400, 108])
    assert.match(json.message, /node\.allowed_directories: the API may not change it/)
  }
  const body = { data: { node: { allowed_directories: ['/'] } } }
  const inSection = await post(broker, '/configuration/node', body)
  assert.deepEqual([inSection.status, inSection.json.code], [400, 108], inSection.text)
  const socket = join(broker.dataDirectory, 'ctl.sock')
  const local = await requestOverSocket(socket, '/api/v4/configuration/node', { method: 'POST', body })
  assert.deepEqual([local.status, local.json.code], [400, 108])
  const logOutside = { data: { log: { to: ['file'], dir: outside } } }
  const ctl = await requestOverSocket(socket, '/api/v4/configuration/log', { method: 'POST', body: logOutside })
  assert.deepEqual([ctl.status, ctl.json.code], [400, 108], 'the same rule applies to the control socket')
  // A text without this setting does not change it.
  const without = own.replace(/^node\..*\n/, '')
  assert.equal((await post(broker, '/config_update', without)).status, 200)
  const { json } = await broker.request('/api/v4/configuration/node')
  assert.deepEqual(json.data.node.allowed_directories, [allowed])
  // The file has precedence over what the API stored.
  await writeFile(config, own.replace(/\[".*"\]/, wider))
  assert.equal((await broker.request('/api/v4/configuration_reload', { method: 'POST' })).status, 200)
  const logNow = await post(broker, '/configuration/log', logOutside)
  assert.equal(logNow.status, 200, logNow.text)
})

const connector = (path: string): string => `connectors.disk_log.writer { filepath = "${path}" }\n`

test('no setting lets messages write a file that the configuration includes, whichever of both comes first', async () => {
  const { broker, allowed, config } = await stage()
  const own = await readFile(config, 'utf8')
  const included = `${own}include "${join(allowed, 'more.conf')}"\n`
  const refusal = /connectors\.disk_log\.writer\.filepath: .*the configuration includes .*more/
  await writeFile(join(allowed, 'more.conf'), '# nothing yet\n')
  // Together, also by a name that is derived from the one of the setting.
  for (const name of ['more.conf', 'more.jsonl']) {
    const { status, json } = await post(broker, '/config_update', included + connector(join(allowed, name)))
    assert.deepEqual([status, json.code], [400, 108], name)
    assert.match(json.message, refusal)
  }
  // The include first, then the file of the action.
  const accepted = await post(broker, '/config_update', included)
  assert.equal(accepted.status, 200, accepted.text)
  const body = { name: 'writer', type: 'disk_log', filepath: join(allowed, 'more.conf') }
  const made = await broker.request('/api/v5/connectors', { method: 'POST', body })
  assert.equal(made.status, 400, made.text)
  assert.match(made.text, /the configuration includes/)
  // A file of another name is allowed, and the include of its file is refused later.
  const other = { ...body, filepath: join(allowed, 'lines.jsonl') }
  const ownLines = await broker.request('/api/v5/connectors', { method: 'POST', body: other })
  assert.equal(ownLines.status, 201, ownLines.text)
  await writeFile(join(allowed, 'lines-shard1.jsonl'), '# nothing yet\n')
  await writeFile(config, `${own}include "${join(allowed, 'lines-shard1.jsonl')}"\n`)
  const reloaded = await broker.request('/api/v4/configuration_reload', { method: 'POST' })
  assert.equal(reloaded.status, 400, reloaded.text)
  assert.match(reloaded.text, /the configuration includes .*lines-shard1/)
})
