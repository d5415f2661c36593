import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { brokerOptions, fastStart } from '../e2e/godwit-process.ts'
import { runCrashScenario } from './crash-scenario.ts'
import { longTest, testLength } from '../test-length.ts'

/** By number of shards. */
const rounds = { 1: testLength({ daily: 2, long: 10 }), 3: testLength({ daily: 2, long: 4 }) }
/** Each pair of 1 to 3 shards, in both directions. The daily run starts with 3, 1, 2 and 3 shards. */
const changingShards = [3, 1, 2, 3, 2, 1]
const changingRounds = testLength({ daily: 3, long: 12 })

// Daily: three shards, below.
longTest(
  'a broker that is killed repeatedly under load loses nothing that it acknowledged, and QoS 2 arrives once',
  (t) => crashRepeatedly(t, { shards: [1], rounds: rounds[1], leastPerRound: 40 }),
)

test('a broker of 3 shards that is killed repeatedly under load loses nothing either', (t) =>
  crashRepeatedly(t, { shards: [3], rounds: rounds[3], leastPerRound: 30 }))

test('a broker that has another number of shards after each kill loses nothing, and QoS 2 arrives once', (t) =>
  crashRepeatedly(t, { shards: changingShards, rounds: changingRounds, leastPerRound: 30 }))

async function crashRepeatedly(
  t: TestContext,
  { shards, rounds, leastPerRound }: { shards: readonly number[]; rounds: number; leastPerRound: number },
): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'godwit-crash-'))
  t.after(() => rmSync(dataDirectory, { recursive: true, force: true }))
  const seed = Number(process.env['GODWIT_CRASH_SEED'] ?? 1)
  t.diagnostic(`seed ${seed}; another with GODWIT_CRASH_SEED, more crashes with npm run crash`)
  const set = ['http_server.password="a-password-for-tests"']
  const environment = { ...process.env, ...fastStart }
  const { faults, acknowledged } = await runCrashScenario({
    seed,
    rounds,
    dataDirectory,
    shards,
    set,
    environment,
    nodeOptions: brokerOptions,
  })
  assert.deepEqual(faults, [])
  assert.ok(acknowledged > leastPerRound * rounds, `${acknowledged} messages are too few for a result`)
}
