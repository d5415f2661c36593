// The table of ignored settings and the schema agree: no entry is stale, and no open section is without a reason.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { walkSchema } from '../../src/config/check/walk-schema.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { ignoredSettings, markIgnored } from '../../src/config/settings/ignored-settings.ts'
import { root } from '../../src/config/settings/root.ts'

const places = [...walkSchema(root)]

test('each entry of the table of ignored settings is a key of the schema', () => {
  const stale = Object.keys(ignoredSettings).filter((pattern) => !places.some(({ key }) => isMatch(pattern, key)))
  assert.deepEqual(stale, [])
})

test('a section whose contents are not checked is ignored, with a reason', () => {
  const open = places.filter(({ node }) => node.kind === 'section' && node.isOpen)
  assert.ok(open.length > 0)
  for (const { key, ignored } of open) assert.notEqual(ignored, undefined, key)
})

test('the reason of a section applies to everything below it, and to nothing else', () => {
  for (const { key, ignored } of places)
    if (key.startsWith('sqlite')) assert.equal(ignored, ignoredSettings['sqlite'], key)
  assert.equal(places.find(({ key }) => key === 'bridges.mqtt.<name>.tcp.nodelay')?.ignored, undefined)
})

test('a part of the schema without ignored settings stays the same object', () => {
  const { listeners } = root.entries
  assert.equal(markIgnored(listeners, 'listeners'), listeners)
})

test('an ignored setting is reported once, with its position and the reason', () => {
  const text = 'mqtt.batch_resend = true\nsqlite { enable = true, disk_cache_size = 5 }'
  const loaded = loadConfig({ text, file: 'a.conf', overrides: [] })
  assert.ok('config' in loaded)
  assert.deepEqual(
    loaded.warnings.map(({ line, key, message, hint }) => ({ line, key, message, hint })),
    [
      { line: 1, key: 'mqtt.batch_resend', message: reasonText('mqtt.batch_resend'), hint: '' },
      { line: 2, key: 'sqlite', message: reasonText('sqlite'), hint: 'these are ignored: enable, disk_cache_size' },
    ],
  )
})

function reasonText(key: string): string {
  return `accepted without effect: ${ignoredSettings[key]}`
}

function isMatch(pattern: string, key: string): boolean {
  const levels = key.split('.')
  const wanted = pattern.split('.')
  return wanted.length === levels.length && wanted.every((level, index) => level === '*' || level === levels[index])
}
