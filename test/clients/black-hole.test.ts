// Services that vanish without a reset while the broker acknowledges messages, and is killed amid it. Longer: npm run black-hole.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isLong } from '../test-length.ts'
import { runBlackHole } from './black-hole/run-black-hole.ts'

const durationMs = 30_000
const perSecond = 150
/** They differ in what they send, not in what keeps it until it is acknowledged. The others are killed in tests of their own. */
const sinks = isLong ? ['http', 'postgresql', 'kafka'] : ['http']

// At the same time: they wait for silent services.
describe('in a black hole', { concurrency: true }, () => {
  for (const sink of sinks) {
    test(`${sink}: nothing that is acknowledged is lost, and what the broker says of it is right`, async (t) => {
      const end = await runBlackHole(t, { sink, durationMs, perSecond, log: (line) => t.diagnostic(line) })
      assert.deepEqual(end.faults, [])
      assert.ok(end.acknowledged > durationMs / 100, `${end.acknowledged} messages are too few to tell anything`)
    })
  }
})
