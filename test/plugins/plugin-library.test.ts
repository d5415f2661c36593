import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type LibraryPlugin, PluginLibrary, type PluginRefusal } from '../../src/plugins/index.ts'
import { inPieces, type PackageText, packPlugin } from './plugin-packages.ts'

const reservedNames: ReadonlySet<string> = new Set(['order'])

async function createFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-library-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function openLibrary(folder: string): Promise<PluginLibrary> {
  const opened = await PluginLibrary.open(folder, reservedNames)
  assert.ok('library' in opened, JSON.stringify(opened))
  return opened.library
}

interface InstallOptions {
  readonly isUpgrade?: boolean
  readonly allowedSha256?: readonly string[]
}

async function install(
  library: PluginLibrary,
  packed: Buffer,
  { isUpgrade = false, allowedSha256 }: InstallOptions = {},
): Promise<LibraryPlugin | PluginRefusal> {
  const unpacked = await library.unpack(inPieces(packed), 1_000_000)
  if ('reason' in unpacked) return unpacked
  const prepared = await library.prepare(unpacked, { isUpgrade, allowedSha256, nowMs: 1 })
  return 'reason' in prepared ? prepared : prepared.commit(prepared.before?.record.isEnabled ?? false)
}

const named = (name: string, version = '1.0.0', fields: PackageText = {}): Buffer =>
  packPlugin({ name, version, ...fields })

function listNames(library: PluginLibrary): readonly string[] {
  return library.list().map(({ record }) => `${record.name}-${record.version}`)
}

function expectRefusal(outcome: LibraryPlugin | PluginRefusal, reason: string, why: RegExp): void {
  assert.ok('reason' in outcome, 'it was accepted')
  assert.equal(outcome.reason, reason)
  assert.match(outcome.problem, why)
}

test('an installed plugin is there after the library is opened again, with its configuration, order and state', async (t) => {
  const folder = await createFolder(t)
  const library = await openLibrary(folder)
  for (const name of ['a', 'b', 'c']) await install(library, named(name))
  await library.setEnabled('b', true)
  await library.setConfig('b', { url: 'http://x' })
  assert.equal(await library.move('c', { at: 'before', name: 'b' }, []), undefined)
  assert.equal((await library.move('c', { at: 'after', name: 'c' }, []))?.reason, 'BAD_POSITION')
  assert.equal((await library.move('c', { at: 'rear' }, ['c']))?.reason, 'MOVE_FAILED')
  assert.equal((await library.move('c', { at: 'after', name: 'b' }, ['b']))?.reason, 'MOVE_FAILED')
  const again = await openLibrary(folder)
  assert.deepEqual(listNames(again), ['a-1.0.0', 'c-1.0.0', 'b-1.0.0'])
  const found = again.find('b-1.0.0')
  assert.equal(found?.record.isEnabled, true)
  assert.deepEqual(found.record.config, { url: 'http://x' })
  assert.deepEqual(found.record.manifest.hooks, ['message.publish'])
  assert.equal(await again.findDamage(found), undefined)
  assert.equal(statSync(join(folder, 'installed.json')).mode & 0o777, 0o600, 'it has secrets')
  assert.deepEqual(readdirSync(folder).toSorted(), [
    'a-1.0.0',
    'a-1.0.0.tgz',
    'b-1.0.0',
    'b-1.0.0.tgz',
    'c-1.0.0',
    'c-1.0.0.tgz',
    'installed.json',
  ])
})

test('an installed name is refused, and an upgrade keeps configuration, order and state', async (t) => {
  const folder = await createFolder(t)
  const library = await openLibrary(folder)
  for (const name of ['a', 'b', 'c']) await install(library, named(name))
  await library.setEnabled('b', true)
  await library.setConfig('b', { kept: 1 })
  expectRefusal(await install(library, named('b', '2.0.0')), 'ALREADY_INSTALLED', /version 1\.0\.0 of b is installed/)
  expectRefusal(await install(library, named('b'), { isUpgrade: true }), 'ALREADY_INSTALLED', /b-1\.0\.0 is installed/)
  const upgraded = await install(library, named('b', '2.0.0'), { isUpgrade: true })
  assert.ok('record' in upgraded)
  assert.equal(upgraded.record.isEnabled, true)
  assert.deepEqual(upgraded.record.config, { kept: 1 })
  assert.deepEqual(listNames(library), ['a-1.0.0', 'b-2.0.0', 'c-1.0.0'])
  assert.deepEqual(
    readdirSync(folder)
      .filter((name) => name.startsWith('b-'))
      .toSorted(),
    ['b-2.0.0', 'b-2.0.0.tgz'],
  )
})

test('two plugins whose versioned names are equal are not both installed', async (t) => {
  const library = await openLibrary(await createFolder(t))
  await install(library, named('a', '1.0.0-2.0.0'))
  expectRefusal(
    await install(library, named('a-1.0.0', '2.0.0')),
    'ALREADY_INSTALLED',
    /a-1\.0\.0-2\.0\.0 is installed/,
  )
  assert.deepEqual(listNames(library), ['a-1.0.0-2.0.0'])
})

function own(permissions: readonly string[]): PackageText {
  return { godwit: { api: 1, hooks: ['message.publish'], permissions } }
}

test('a version with more permissions is refused until they are allowed', async (t) => {
  const folder = await createFolder(t)
  const library = await openLibrary(folder)
  await install(library, named('a', '1.0.0', own(['fs:read:/a'])))
  const wider = named('a', '2.0.0', own(['net', 'fs:read:/a/b']))
  expectRefusal(await install(library, wider, { isUpgrade: true }), 'FORBIDDEN', /more permissions \(net\)/)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes('2.0.0')),
    [],
    'nothing of it stays',
  )
  const again = await openLibrary(folder)
  assert.deepEqual(await again.allowPermissions('a'), ['net'])
  assert.deepEqual(await again.allowPermissions('a'), [], 'once')
  assert.ok('record' in (await install(again, wider, { isUpgrade: true })))
  const widest = named('a', '3.0.0', own(['net', 'fs:write:/a']))
  expectRefusal(await install(again, widest, { isUpgrade: true }), 'FORBIDDEN', /fs:write:\/a/)
})

test('only archives whose SHA-256 is allowed are installed', async (t) => {
  const folder = await createFolder(t)
  const library = await openLibrary(folder)
  const packed = named('a')
  const allowedSha256 = ['0'.repeat(64)]
  expectRefusal(await install(library, packed, { allowedSha256 }), 'FORBIDDEN', /does not list/)
  assert.deepEqual(readdirSync(folder), [])
  const first = await install(library, packed)
  assert.ok('record' in first)
  await library.remove('a')
  assert.ok('record' in (await install(library, packed, { allowedSha256: [first.record.sha256] })))
})

test('a removed plugin leaves nothing', async (t) => {
  const folder = await createFolder(t)
  const library = await openLibrary(folder)
  await install(library, named('a'))
  await library.remove('a')
  assert.deepEqual(readdirSync(folder), ['installed.json'])
  assert.deepEqual((await openLibrary(folder)).list(), [])
})

test('a directory that was changed since the installation is noticed', async (t) => {
  const folder = await createFolder(t)
  const library = await openLibrary(folder)
  const plugin = await install(library, named('a'))
  assert.ok('record' in plugin)
  assert.equal(await library.findDamage(plugin), undefined)
  writeFileSync(join(plugin.directory, 'index.js'), 'export default () => ({ stolen: true })')
  assert.match((await library.findDamage(plugin)) ?? '', /were changed after the installation/)
  await rm(plugin.directory, { recursive: true })
  assert.match((await library.findDamage(plugin)) ?? '', /cannot be read/)
})

test('what a crash left is deleted at the next start, and nothing else', async (t) => {
  const folder = await createFolder(t)
  const library = await openLibrary(folder)
  await install(library, named('a'))
  const unpacked = await library.unpack(inPieces(named('b')), 1_000_000)
  assert.ok('manifest' in unpacked)
  await library.prepare(unpacked, { isUpgrade: false, allowedSha256: undefined, nowMs: 1 })
  assert.ok('manifest' in (await library.unpack(inPieces(named('c')), 1_000_000)))
  writeFileSync(join(folder, 'installed.json.new'), '{')
  mkdirSync(join(folder, 'notes'))
  const again = await openLibrary(folder)
  assert.deepEqual(listNames(again), ['a-1.0.0'])
  assert.deepEqual(readdirSync(folder).toSorted(), [
    'a-1.0.0',
    'a-1.0.0.tgz',
    'installed.json',
    'installed.json.new',
    'notes',
  ])
  await again.setEnabled('a', true)
  assert.equal((await openLibrary(folder)).find('a')?.record.isEnabled, true)
})

test('a damaged list, or one of a newer version, is refused and deletes nothing', async (t) => {
  const folder = await createFolder(t)
  await install(await openLibrary(folder), named('a'))
  const path = join(folder, 'installed.json')
  const text = readFileSync(path, 'utf8')
  for (const [changed, why] of [
    [text.slice(0, 100), /is damaged/],
    [text.replace('"isEnabled": false', '"isEnabled": true'), /is damaged/],
    [text.replace('"format": 1', '"format": 2'), /a newer version has written/],
    ['null', /is damaged/],
  ] as const) {
    writeFileSync(path, changed)
    const opened = await PluginLibrary.open(folder, reservedNames)
    assert.ok('problem' in opened)
    assert.match(opened.problem, why)
  }
  assert.deepEqual(readdirSync(folder).toSorted(), ['a-1.0.0', 'a-1.0.0.tgz', 'installed.json'])
})

test('a new plugin has the defaults of its schema as configuration', async (t) => {
  const library = await openLibrary(await createFolder(t))
  const schema = { type: 'object', properties: { rate: { type: 'integer', default: 5 } } }
  const godwit = { api: 1, hooks: ['message.publish'], config: 'config.schema.json' }
  const plugin = await install(library, packPlugin({ godwit }, { 'config.schema.json': JSON.stringify(schema) }))
  assert.ok('record' in plugin)
  assert.deepEqual(plugin.record.config, { rate: 5 })
  assert.equal(plugin.record.schema, JSON.stringify(schema))
})
