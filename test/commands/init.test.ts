// The command init, and the variables that name files and directories.

import assert from 'node:assert/strict'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { runProgram } from '../../src/cli/program.ts'
import { Terminal } from '../../src/cli/terminal/terminal.ts'
import { loadConfig } from '../../src/config/index.ts'
import { readConfiguration } from '../../src/node/configuration/read-configuration.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'

async function run(words: readonly string[], root: string, environment: Record<string, string> = {}) {
  const written = { output: '', errors: '' }
  const terminal = new Terminal(
    { write: (text) => (written.output += text) },
    { write: (text) => (written.errors += text) },
  )
  const installation = { root: `${root}/`, isCheckout: false, systemConfig: join(root, 'system', 'godwit.conf') }
  const code = await runProgram(words, { version: '0', installation, environment }, terminal)
  return { code, ...written }
}

const places: [string, (root: string) => [words: string[], environment: Record<string, string>, file: string]][] = [
  ['--config', (root) => [['--config', join(root, 'mine.conf')], {}, 'mine.conf']],
  ['--data', (root) => [['--data', join(root, 'data')], {}, 'data/godwit.conf']],
  ['GODWIT_CONFIG', (root) => [[], { GODWIT_CONFIG: join(root, 'other.conf') }, 'other.conf']],
  ['GODWIT_DATA', (root) => [[], { GODWIT_DATA: join(root, 'kept'), GODWIT_CONFIG: ' ' }, 'kept/godwit.conf']],
]
for (const [name, placeIn] of places) {
  test(`init writes the file that ${name} names, which changes nothing, and never overwrites it`, async (t) => {
    const root = await temporaryFolder(t)
    const [words, environment, file] = placeIn(root)
    const first = await run(['init', ...words], root, environment)
    assert.equal(first.code, 0, first.errors)
    const text = await readFile(join(root, file), 'utf8')
    assert.deepEqual('errors' in loadConfig({ text, overrides: [] }), false)
    assert.ok(!text.includes('do not edit'))
    await writeFile(join(root, file), 'mqtt.receive_maximum = 5\n')
    const again = await run(['init', ...words], root, environment)
    assert.equal(again.code, 1)
    assert.match(again.errors, /exists already and was not changed/)
    assert.equal(await readFile(join(root, file), 'utf8'), 'mqtt.receive_maximum = 5\n')
  })
}

async function read(t: TestContext, files: Readonly<Record<string, number>>, file?: string) {
  const root = await temporaryFolder(t)
  for (const [path, maximum] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true })
    await writeFile(join(root, path), `mqtt.receive_maximum = ${maximum}\n`)
  }
  const installation = { root, isCheckout: false, systemConfig: join(root, 'system/godwit.conf') }
  const found = readConfiguration({
    file: file === undefined ? undefined : join(root, file),
    dataDirectory: join(root, 'data'),
    overrides: [],
    environment: {},
    installation,
  })
  assert.ok('config' in found, JSON.stringify(found))
  return { file: found.file?.slice(root.length + 1), maximum: found.config.core.receiveMaximum }
}

test('the configuration file is that of --config, else of the data directory, else of the system, else of the package', async (t) => {
  const all = { 'mine.conf': 1, 'data/godwit.conf': 2, 'system/godwit.conf': 3, 'etc/godwit.conf': 4 }
  assert.deepEqual(await read(t, all, 'mine.conf'), { file: 'mine.conf', maximum: 1 })
  assert.deepEqual(await read(t, all), { file: 'data/godwit.conf', maximum: 2 })
  const { 'data/godwit.conf': _, ...withoutOwn } = all
  assert.deepEqual(await read(t, withoutOwn), { file: 'system/godwit.conf', maximum: 3 })
  assert.deepEqual(await read(t, { 'etc/godwit.conf': 4 }), { file: 'etc/godwit.conf', maximum: 4 })
})

test('an unreadable configuration file of the system is an error, unless the data directory has one', async (t) => {
  const root = await temporaryFolder(t)
  const [systemConfig, dataDirectory] = [join(root, 'system.conf'), join(root, 'data')]
  await mkdir(join(root, 'etc'))
  await writeFile(join(root, 'etc/godwit.conf'), '')
  // As with a directory of root, the system does not say whether the file exists.
  await symlink(systemConfig, systemConfig)
  const installation = { root, isCheckout: false, systemConfig }
  const request = { file: undefined, dataDirectory, overrides: [], environment: {}, installation }
  const refused = readConfiguration(request)
  assert.ok('problem' in refused)
  assert.match(refused.problem, /^configuration \S+system\.conf: .*; name another with --config FILE$/)
  await mkdir(dataDirectory)
  await writeFile(join(dataDirectory, 'godwit.conf'), 'mqtt.receive_maximum = 6\n')
  const found = readConfiguration(request)
  assert.ok('config' in found)
  assert.equal(found.config.core.receiveMaximum, 6)
})
