import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { formatFault, loadConfig, type ConfigSources, type GodwitConfig } from '../../src/config/index.ts'
import { defaultCoreSettings, type CoreSettings } from '../../src/core/index.ts'

function load(sources: Partial<ConfigSources> = {}): GodwitConfig {
  const loaded = loadConfig({ overrides: [], ...sources })
  if ('faults' in loaded) assert.fail(loaded.faults.map(formatFault).join('\n'))
  return loaded.config
}

describe('a configuration of nothing', () => {
  test('gives the core the defaults that the core names itself', () => {
    const settings: CoreSettings = load().core
    assert.deepEqual(settings, defaultCoreSettings)
  })

  test('has one listener: tcp on port 1883, on addresses that the profile decides', () => {
    const listener = { kind: 'tcp', name: 'default', host: undefined, port: 1_883, maxConnections: undefined }
    assert.deepEqual(load().listeners, [listener])
  })
})

test('an override wins over the file, the file over the default', () => {
  const config = load({
    text: 'mqtt { max_inflight_window = 7, receive_maximum = 8 }',
    overrides: ['mqtt.receive_maximum=9'],
  })
  assert.equal(config.core.maxInflightMessages, 7)
  assert.equal(config.core.receiveMaximum, 9)
})
