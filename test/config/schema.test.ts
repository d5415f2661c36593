import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { formatConfigError, loadConfig, type Warning } from '../../src/config/index.ts'
import { walkSchema } from '../../src/config/check/walk-schema.ts'
import { parseHocon } from '../../src/config/hocon/parse-hocon.ts'
import { root } from '../../src/config/settings/root.ts'
import { supportedKeys, ignoredKeys } from './accepted-keys.ts'

function warningsOf(text: string): readonly Warning[] {
  const loaded = loadConfig({ text, file: 'test.conf', overrides: [], readFile: () => ({ text: 'a key' }) })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  return loaded.warnings.filter((warning) => warning.key !== 'listeners')
}

describe('every documented key of NanoMQ and Godwit is accepted', () => {
  for (const line of supportedKeys) {
    test(`without a warning: ${line}`, () => assert.deepEqual(warningsOf(line).map(formatConfigError), []))
  }
  for (const [line, warned] of ignoredKeys) {
    test(`with one warning: ${line.slice(0, 80)}`, () => {
      const warnings = warningsOf(line)
      assert.deepEqual(
        warnings.map((warning) => warning.key),
        [warned],
      )
      assert.equal(warnings[0].line, 1)
    })
  }
})

const settings = [...walkSchema(root)].flatMap(({ key, node }) =>
  node.kind === 'setting' ? [{ key, node: node }] : [],
)

describe('every setting', () => {
  test('has a unique key', () => {
    const keys = settings.map(({ key }) => key)
    assert.equal(new Set(keys).size, keys.length)
    assert.ok(keys.length > 300)
  })

  test('has a description in sentences', () => {
    for (const { key, node } of settings) assert.match(node.description, /^\S.*\.$/s, key)
  })

  test('has a default that is read as the same value when it is written to a file', () => {
    for (const { key, node } of settings) {
      const shown = node.type.show(node.default)
      const parsed = parseHocon(`value = ${shown}`, { file: 'shown' })
      assert.ok('value' in parsed, `${key}: ${shown}`)
      if (key === 'auth.password.<username>') continue // A password has no default.
      const read = node.type.read(parsed.value.entries.get('value')!)
      assert.deepEqual(read, { value: node.default }, `${key}: ${shown}`)
    }
  })

  test('refuses values of another type', () => {
    for (const { key, node } of settings) {
      const parsed = parseHocon('value = [[{ x = "\\u0001" }]]', { file: 'shown' })
      assert.ok('value' in parsed)
      assert.ok('problem' in node.type.read(parsed.value.entries.get('value')!), key)
    }
  })

  /** Exceptions: a word, a file name without a directory, and the list of directories, which only the local configuration can change. */
  const notPaths = new Set([
    'node.security_profile',
    'log.file',
    'node.allowed_directories',
    'actions.http.<name>.parameters.path',
    'modules.psk_file',
  ])

  test('that names a file or a directory has the type of a path, so the API checks it', () => {
    const found = settings.filter(({ key }) => /(file|dir|path|directory|directories|libs|uds_addr)$/.test(key))
    for (const { key, node } of found) {
      if (notPaths.has(key)) continue
      const written = parseHocon(key.endsWith('libs') ? 'v = [{ path = "/x/y" }]' : 'v = "/x/y"', { file: 'shown' })
      assert.ok('value' in written)
      const read = node.type.read(written.value.entries.get('v')!)
      assert.ok('value' in read, key)
      assert.deepEqual(
        node.type.listPaths?.(read.value).map(({ path }) => path),
        ['/x/y'],
        key,
      )
    }
    assert.ok(found.length > 20)
    const local = settings.filter(({ node }) => node.isLocal).map(({ key }) => key)
    assert.deepEqual(local, ['node.allowed_directories', 'plugins.allow_install', 'plugins.allowed_sha256'])
  })
})
