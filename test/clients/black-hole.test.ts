// Packets to services are dropped without a reset while the broker acknowledges messages and is killed. Longer: npm run black-hole.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isLong, testLength } from '../test-length.ts'
import { runBlackHole } from './black-hole/run-black-hole.ts'

const durationMs = 30_000
const perSecond = testLength({ daily: 50, long: 150 })
/** A fifteenth of what is published on a machine that is not busy. */
const fewest = (durationMs * perSecond) / 15_000
/** A selection, because all sinks have the same queue. Other tests kill the other services. */
const sinks = isLong ? ['http', 'postgresql', 'kafka'] : ['http']

// Concurrently, because the tests wait for services that do not respond.
describe('a service whose packets are dropped', { concurrency: true }, () => {
  for (const sink of sinks) {
    test(`${sink}: no acknowledged message is lost, and state and metrics of the action are correct`, async (t) => {
      const end = await runBlackHole(t, { sink, durationMs, perSecond, log: (line) => t.diagnostic(line) })
      assert.deepEqual(end.faults, [])
      assert.ok(end.acknowledged > fewest, `${end.acknowledged} acknowledged messages are too few for this test`)
    })
  }
})
