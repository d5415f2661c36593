// The default log level.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logLevelOf } from '../../src/node/observe/log-config.ts'

test('the default log level is info on a terminal, which shows connections, and warn for log files', () => {
  assert.equal(logLevelOf({ level: undefined, to: ['console'] }, true), 'info')
  assert.equal(logLevelOf({ level: undefined, to: ['console'] }, false), 'warn')
  assert.equal(logLevelOf({ level: undefined, to: ['file'] }, true), 'warn')
  assert.equal(logLevelOf({ level: 'error', to: ['console'] }, true), 'error')
})
