// Pages of a hundred thousand credentials.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { openAccessRecords } from '../../src/node/records/stored-access-records.ts'
import { ShadowedCredentials } from '../../src/node/records/shadowed-credentials.ts'
import { CredentialLists, ScramHasher } from '../../src/api/credentials/credential-lists.ts'
import type { CredentialRecord } from '../../src/records/index.ts'
import { openMemoryStore } from '../../src/storage/index.ts'

test('each page of 100,000 credentials is correct, and the event loop runs while the page is computed', async () => {
  const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => undefined })
  const hashed = {
    algorithm: 'plain',
    saltPosition: 'prefix',
    salt: new Uint8Array(0),
    hash: new Uint8Array(0),
  } as const
  const put = Array.from({ length: 100_000 }, (_, index): CredentialRecord => {
    const createdAtMs = records.createMomentMs()
    return { kind: 'credential', by: 'username', id: `u${index}`, isSuperuser: false, createdAtMs, ...hashed }
  })
  await records.change({ put, delete: [] })
  const loaded = loadConfig({ overrides: [] })
  assert.ok('config' in loaded)
  const log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {}, trace() {} }
  const shadowedCredentials = new ShadowedCredentials({ records, log, configured: [] })
  const dependencies = { configuration: loaded, shadowedCredentials, scramHasher: new ScramHasher() }
  const credentials = new CredentialLists({ accessRecords: records, ...dependencies })
  let turns = 0
  const timer = setInterval(() => turns++, 0)
  const page = await credentials.list('username', { id: undefined, like: undefined, page: { page: 50_000, limit: 2 } })
  assert.deepEqual([page.items.map(({ id }) => id), page.count], [['u1', 'u0'], 100_000])
  const middle = await credentials.list('username', {
    id: undefined,
    like: undefined,
    page: { page: 25_000, limit: 2 },
  })
  assert.deepEqual(
    middle.items.map(({ id }) => id),
    ['u50001', 'u50000'],
  )
  const some = await credentials.list('username', { id: undefined, like: '9999', page: { page: 1, limit: 3 } })
  assert.deepEqual([some.items.map(({ id }) => id), some.count], [['u99999', 'u99998', 'u99997'], 19])
  clearInterval(timer)
  assert.ok(turns > 0)
})
