// How much is logged where nothing is said.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logLevelOf } from '../../src/node/observe/log-config.ts'

test('connections are seen on a terminal, and a log file is spared', () => {
  assert.equal(logLevelOf({ level: undefined, to: ['console'] }, true), 'info')
  assert.equal(logLevelOf({ level: undefined, to: ['console'] }, false), 'warn')
  assert.equal(logLevelOf({ level: undefined, to: ['file'] }, true), 'warn')
  assert.equal(logLevelOf({ level: 'error', to: ['console'] }, true), 'error')
})
