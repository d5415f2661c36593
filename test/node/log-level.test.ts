// The default log level.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveLogLevel } from '../../src/node/observe/log-config.ts'

test('the default log level is info on a terminal, which shows connections, and warn for log files', () => {
  assert.equal(resolveLogLevel({ level: undefined, to: ['console'] }, true), 'info')
  assert.equal(resolveLogLevel({ level: undefined, to: ['console'] }, false), 'warn')
  assert.equal(resolveLogLevel({ level: undefined, to: ['file'] }, true), 'warn')
  assert.equal(resolveLogLevel({ level: 'error', to: ['console'] }, true), 'error')
})
