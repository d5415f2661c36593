// Errors in version 5 of the API.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../src/contract/index.ts'
import type { BackupOperations } from '../../src/management/index.ts'
import { backupHandlers } from '../../src/management/handlers/v5/backup.ts'
import { bodyOfError, ApiError, refuse, refuseFor } from '../../src/management/api-error.ts'

const caller: Caller = {
  name: 'admin',
  by: 'account',
  role: 'administrator',
  namespace: undefined,
  address: '',
  login: undefined,
}

test('the error of a partly failed import names the parts that failed', async () => {
  const parts = { global: 'bans: the disk is full' }
  const message = 'some parts were not restored'
  const backup = { nodeName: 'here', import: async () => ({ symbol: 'BAD_REQUEST', message, parts }) as const }
  const { import_backup: handle } = backupHandlers(backup as unknown as BackupOperations)
  const refused = await handle({ params: {}, query: {}, body: { filename: 'a.tar.gz' }, caller })
  assert.ok(refused instanceof ApiError)
  assert.equal(refused.status, 400)
  const body = JSON.parse(bodyOfError(refused, '/api/v5/data/import?x=1'))
  assert.deepEqual(body, { code: 108, reason: 'BAD_REQUEST', message, parts })
})

test('errors of version 4 have no field `reason`; errors of version 5 always have it', () => {
  const one = refuse('userNotFound', 'nobody')
  assert.equal(bodyOfError(one, '/api/v4/users/x'), '{"code":105,"message":"nobody"}')
  assert.equal(bodyOfError(one, '/auth_username'), '{"code":105,"message":"nobody"}')
  assert.equal(bodyOfError(one, '/api/v5'), '{"code":105,"reason":"USER_NOT_FOUND","message":"nobody"}')
  for (const [refused, status, reason] of [
    [refuse('notJson', ''), 400, 'BAD_REQUEST'],
    [refuse('unknownError', '', 404), 404, 'NOT_FOUND'],
    [refuse('rpcError', '', 503), 503, 'SERVICE_UNAVAILABLE'],
    [refuse('unknownError', ''), 500, 'INTERNAL_ERROR'],
    [refuse('tokenExpired', ''), 401, 'TOKEN_TIME_OUT'],
    [refuse('wrongCredentials', '', 403), 403, 'FORBIDDEN'],
    [refuseFor('CONFLICT', ''), 409, 'CONFLICT'],
  ] as const)
    assert.deepEqual([refused.status, refused.reason], [status, reason])
})
