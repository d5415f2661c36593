import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tellCrashStory } from './crash-story.ts'

test('a broker that is killed 25 times under load loses nothing that it acknowledged, and QoS 2 arrives once', async (t) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'godwit-crash-'))
  t.after(() => rmSync(dataDirectory, { recursive: true, force: true }))
  const seed = Number(process.env['GODWIT_CRASH_SEED'] ?? 1)
  t.diagnostic(`seed ${seed}; another with GODWIT_CRASH_SEED, more crashes with npm run crash`)
  const { faults, acknowledged } = await tellCrashStory({ seed, rounds: 25, dataDirectory })
  assert.deepEqual(faults, [])
  assert.ok(acknowledged > 1_000, `${acknowledged} messages are too few to tell anything`)
})
