// A shorter run of `npm run fuzz:broker`. The daily run has a number of sessions and does not compare memory: after
// 10 s a broker is not warm yet, and its memory still grows by a sixth. The long run takes a minute, and two idle periods of 50 s.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endWith, temporaryFolder } from '../e2e/godwit-process.ts'
import { isLong } from '../test-length.ts'
import { fuzzBroker } from './fuzz-broker.ts'
import { startFuzzedBroker } from './fuzzed-broker.ts'

const length = isLong ? { seconds: 60 } : { sessions: 900 }

/** With a setting of malloc, a broker does not execute itself again, which takes a third of the time of a start. The long run compares memory. */
const environment = isLong ? process.env : { ...process.env, MALLOC_ARENA_MAX: '4' }

export function testFuzzing({ shards, seed }: { readonly shards: number; readonly seed: number }): void {
  test(`mutated sessions over TCP and WebSocket end no shard of ${shards}, and a healthy client is served throughout`, async (t) => {
    const { broker, ports } = await startFuzzedBroker(await temporaryFolder(t), shards, environment)
    endWith(t, broker)
    const outcome = await fuzzBroker({ broker, ports, seed, length, report: (line) => t.diagnostic(line) })
    assert.ok(outcome.sessions > 500, `only ${outcome.sessions} sessions were played: they prove little`)
    assert.equal(await broker.stop(), 0)
  })
}
