// A short run of `npm run fuzz:api`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testLength } from '../test-length.ts'
import { administrator, startBrokerWithApi } from './api.ts'
import { fuzzApi, fuzzedSettings } from './fuzz/fuzz-api.ts'

test('no request makes the API fail, ends the broker or delays a healthy client', async (t) => {
  const broker = await startBrokerWithApi(t, { set: [...fuzzedSettings, 'node.shards=2'] })
  // V8 returns memory of the start during the run, so only the memory of an idle broker is compared.
  const options = {
    broker,
    administrator,
    seed: 1,
    requests: testLength({ daily: 1_000, long: 5_000 }),
    restSeconds: 45,
  }
  const { faults, statuses } = await fuzzApi({ ...options, report: (line) => t.diagnostic(line) })
  assert.deepEqual(faults, [])
  assert.ok((statuses.get(200) ?? 0) > 100, 'too few requests succeeded for this test to be meaningful')
  assert.equal(await broker.process.stop(), 0)
})
