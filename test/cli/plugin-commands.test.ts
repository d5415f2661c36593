// `godwit plugins` with a running broker, and with its data directory while it does not run.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { packPlugin } from '../plugins/plugin-packages.ts'
import { runHere } from './run-here.ts'

interface Row {
  readonly name: string
  readonly rel_vsn?: string
  readonly version?: string
  readonly enabled: boolean
}

async function list(data: string): Promise<readonly string[]> {
  const { output, errors, code } = await runHere(['plugins', 'list', '--json', '--data', data])
  assert.equal(code, 0, errors)
  return (JSON.parse(output) as readonly Row[]).map(
    ({ name, rel_vsn: running, version = running, enabled }) =>
      `${name} ${version} ${enabled ? 'enabled' : 'disabled'}`,
  )
}

test('plugins are installed, changed and uninstalled, whether the broker runs or not', async (t) => {
  const data = await temporaryFolder(t)
  const files = await temporaryFolder(t)
  const pack = (name: string, version: string): string => {
    const path = join(files, `${name}-${version}.tgz`)
    writeFileSync(path, packPlugin({ name, version }))
    return path
  }
  const run = async (...words: readonly string[]): Promise<string> => {
    const { output, errors, code } = await runHere(['plugins', ...words, '--data', data])
    return `${code} ${output}${errors}`
  }
  const change = async (): Promise<void> => {
    assert.match(
      await run('install', pack('a', '1.0.0')),
      /^0 a 1\.0\.0 is installed; start it with: godwit plugins enable a\n$/,
    )
    assert.match(await run('install', pack('a', '1.1.0')), /^1 godwit: version 1\.0\.0 of a is installed/)
    assert.match(await run('install', '--upgrade', pack('a', '1.1.0')), /^0 a 1\.1\.0 is installed/)
    assert.match(await run('install', pack('b', '1.0.0')), /^0 /)
    assert.match(await run('move', 'b', 'before:a'), /^0 b is moved\n$/)
    assert.match(await run('move', 'b', 'middle'), /^1 godwit: the position .*middle/)
    assert.match(await run('allow', 'a'), /^0 no version of a was refused/)
    assert.match(await run('uninstall', 'nobody'), /^1 godwit: there is no plugin "nobody"/)
    assert.match(await run('install', join(files, 'missing.tgz')), /^1 godwit: .*missing\.tgz/)
    assert.deepEqual(await list(data), ['b 1.0.0 disabled', 'a 1.1.0 disabled'])
  }
  await change()
  assert.match(await run('enable', 'a'), /^0 a starts with the broker\n$/)
  assert.match(await run('reload', 'a'), /^1 godwit: no broker runs/)
  assert.deepEqual(await list(data), ['b 1.0.0 disabled', 'a 1.1.0 enabled'])
  assert.match(await run('disable', 'a'), /^0 a does not start with the broker\n$/)
  const audit = readFileSync(join(data, 'audit', 'audit.jsonl'), 'utf8')
  assert.match(audit, /"operation":"install_plugin".*"sha256":"[0-9a-f]{64}"/)
  const broker = await startBroker(t, { dataDirectory: data })
  assert.deepEqual(await list(data), ['b 1.0.0 disabled', 'a 1.1.0 disabled'])
  assert.match(await run('uninstall', 'a'), /^0 a is uninstalled\n$/)
  assert.match(await run('uninstall', 'b'), /^0 /)
  await change()
  assert.match(await run('reload', 'a'), /^1 godwit: the plugin "a" is not loaded \(code 111\)/)
  await broker.process.stop()
  assert.deepEqual(await list(data), ['b 1.0.0 disabled', 'a 1.1.0 disabled'])
})

test('an archive that plugins.allowed_sha256 does not list is refused on the machine as well', async (t) => {
  const data = await temporaryFolder(t)
  const path = join(data, 'a.tgz')
  writeFileSync(path, packPlugin())
  writeFileSync(join(data, 'godwit.conf'), `plugins.allowed_sha256 = ["${'0'.repeat(64)}"]\n`)
  const { code, errors } = await runHere(['plugins', 'install', path, '--data', data])
  assert.equal(code, 1)
  assert.match(errors, /plugins\.allowed_sha256 does not list/)
  assert.deepEqual(await list(data), [])
})
