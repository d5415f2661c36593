// Services that vanish without a reset while the broker acknowledges messages, and is killed amid it. Longer: npm run black-hole.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runBlackHole } from './black-hole/run-black-hole.ts'

const durationMs = 30_000
const perSecond = 150

// At the same time: they wait for silent services.
describe('in a black hole', { concurrency: true }, () => {
  for (const sink of ['http', 'postgresql', 'kafka']) {
    test(`${sink}: nothing that is acknowledged is lost, and what the broker says of it is right`, async (t) => {
      const end = await runBlackHole(t, { sink, durationMs, perSecond, log: (line) => t.diagnostic(line) })
      assert.deepEqual(end.faults, [])
      assert.ok(end.acknowledged > durationMs / 100, `${end.acknowledged} messages are too few to tell anything`)
    })
  }
})
