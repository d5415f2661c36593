import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decidingHooks,
  defaultPluginSettings,
  hookNames,
  notifyingHooks,
  pluginApiVersion,
} from '../../src/plugins/index.ts'

test('a hook either decides or reports', () => {
  assert.equal(new Set(hookNames).size, hookNames.length)
  assert.deepEqual([...decidingHooks, ...notifyingHooks].toSorted(), hookNames.toSorted())
  assert.equal(pluginApiVersion, 1)
})

test('a plugin has limits by default', () => {
  const { timeoutMs, maxHeapBytes, maxMemoryBytes, maxPending, onFailure } = defaultPluginSettings
  assert.deepEqual(
    [timeoutMs, maxHeapBytes, maxMemoryBytes, maxPending, onFailure],
    [1_000, 2 ** 27, 2 ** 28, 1_000, 'ignore'],
  )
})
