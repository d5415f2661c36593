import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { runCrashScenario, type CrashScenarioEnd, type CrashScenarioOptions } from '../crash/crash-scenario.ts'
import { PowerLoss } from './power-loss.ts'
import { testLength, longTest } from '../test-length.ts'

const rounds = testLength({ daily: 3, long: 10 })

test('a broker whose machine repeatedly loses power loses nothing that it acknowledged', async (t) => {
  const { end, takenBytes } = await checkPowerLoss(t, rounds, {})
  assert.deepEqual(end.faults, [])
  assert.ok(end.acknowledged > rounds * 50, `${end.acknowledged} messages are too few for a result`)
  assert.ok(takenBytes > 0, 'the power took nothing: it was never really cut')
})

// Shows that the test above would fail for a broker that does not sync.
longTest('the check detects a broker that does not sync', async (t) => {
  const { end } = await checkPowerLoss(t, 3, { set: ['storage.sync=never'], timeoutMs: 3_000 })
  assert.notDeepEqual(end.faults, [])
})

async function checkPowerLoss(
  t: TestContext,
  rounds: number,
  options: Partial<CrashScenarioOptions>,
): Promise<{ end: CrashScenarioEnd; takenBytes: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-power-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const dataDirectory = join(folder, 'data')
  const power = new PowerLoss(folder, dataDirectory)
  const { environment } = power
  const end = await runCrashScenario({
    seed: 1,
    rounds,
    dataDirectory,
    environment,
    ...options,
    afterKill: () => power.fail(),
  })
  return { end, takenBytes: power.takenBytes }
}
