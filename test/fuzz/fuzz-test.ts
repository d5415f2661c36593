// What `npm run fuzz:broker` does for half an hour, shorter. The test files run beside each other: together they are two
// minutes of fuzzing, and two rests of 50 s. After 10 s a broker is not warm yet: its memory still grew by a sixth.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endWith, temporaryFolder } from '../e2e/godwit-process.ts'
import { fuzzBroker } from './fuzz-broker.ts'
import { startFuzzedBroker } from './fuzzed-broker.ts'

const seconds = 60

export function testFuzzing({ shards, seed }: { readonly shards: number; readonly seed: number }): void {
  test(`mutated sessions over TCP and WebSocket end no shard of ${shards}, and a healthy client is served throughout`, async (t) => {
    const { broker, ports } = await startFuzzedBroker(await temporaryFolder(t), shards)
    endWith(t, broker)
    const outcome = await fuzzBroker({ broker, ports, seed, seconds, tell: (line) => t.diagnostic(line) })
    assert.ok(outcome.sessions > 500, `only ${outcome.sessions} sessions were played: they prove little`)
    assert.equal(await broker.stop(), 0)
  })
}
