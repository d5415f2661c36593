import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import {
  compareConfigs,
  formatConfigError,
  loadConfig,
  writeExampleFile,
  writeJsonSchema,
  writeReferencePage,
  type GodwitConfig,
} from '../../src/config/index.ts'
import { walkSchema } from '../../src/config/check/walk-schema.ts'
import { ignoredSettings } from '../../src/config/settings/ignored-settings.ts'
import { root } from '../../src/config/settings/root.ts'

function load(text: string): GodwitConfig {
  const loaded = loadConfig({ text, overrides: [] })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  return loaded.config
}

const fileOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('etc/godwit.conf', () => {
  test('is generated from the settings (npm run generate)', () => {
    assert.equal(fileOf('etc/godwit.conf'), writeExampleFile())
  })

  test('is equal to the default configuration', () => {
    assert.deepEqual(compareConfigs(load(''), load(writeExampleFile())), [])
  })

  test('is equal to the default configuration if every commented setting is enabled', () => {
    const lines = writeExampleFile().split('\n')
    // Any setting of these listeners creates the listener.
    const opening = /^#listeners\.(?:ssl|ws|wss|quic)\./
    const settings = lines.filter((line) => /^#[a-z]/.test(line) && !opening.test(line)).map((line) => line.slice(1))
    assert.ok(settings.length > 40)
    assert.deepEqual(compareConfigs(load(''), load(settings.join('\n'))), [])
  })

  test('contains every setting that has an effect', () => {
    const text = writeExampleFile()
    for (const { key, node, ignored } of walkSchema(root)) {
      const isExpected = node.kind === 'setting' && ignored === undefined && !key.includes('<')
      assert.equal(text.includes(`\n#${key} = `), isExpected, key)
    }
  })
})

describe('docs/CONFIGURATION.md', () => {
  test('is generated from the settings (npm run generate)', () => {
    assert.equal(fileOf('docs/CONFIGURATION.md'), writeReferencePage())
  })

  test('describes every setting', () => {
    const page = writeReferencePage()
    for (const { key, node } of walkSchema(root)) {
      const isCheckedByOtherTest = key.startsWith('listeners.') && key.includes('<')
      if (node.kind === 'setting' && !isCheckedByOtherTest) assert.ok(page.includes(`\n| \`${key}\` | `), key)
    }
  })

  test('lists every ignored setting with the reason', () => {
    const page = writeReferencePage()
    for (const [key, reason] of Object.entries(ignoredSettings))
      assert.ok(page.includes(`- \`${key}\`: ${reason}.`), key)
  })

  test('has rows of five cells', () => {
    for (const line of writeReferencePage().split('\n')) {
      if (line.startsWith('| `')) assert.equal(line.split(/(?<!\\)\|/).length, 7, line)
    }
  })
})

describe('the JSON Schema', () => {
  interface Schema {
    readonly properties?: Readonly<Record<string, Schema>>
    readonly additionalProperties?: boolean | Schema
    readonly writeOnly?: boolean
    readonly default?: unknown
  }
  const schema = JSON.parse(writeJsonSchema()) as Schema

  test('has every setting, marks secrets and contains no secret', () => {
    for (const { key, node } of walkSchema(root)) {
      if (node.kind !== 'setting') continue
      let place: Schema | undefined = schema
      for (const part of key.split('.')) {
        const others: boolean | Schema | undefined = place?.additionalProperties
        place = part.startsWith('<') && typeof others === 'object' ? others : place?.properties?.[part]
      }
      assert.ok(place !== undefined, key)
      assert.equal(place.writeOnly ?? false, node.isSecret, key)
      if (node.isSecret) assert.equal(place.default, undefined)
    }
  })

  test('refuses unknown keys in the same sections as the check', () => {
    assert.equal(schema.additionalProperties, false)
    assert.equal(schema.properties!['mqtt'].additionalProperties, false)
    assert.equal(schema.properties!['dds'].additionalProperties, true)
  })
})
