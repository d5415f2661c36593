import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { tellCrashStory } from './crash-story.ts'

for (const { shards, rounds, least } of [
  { shards: 1, rounds: 25, least: 1_000 },
  { shards: 3, rounds: 10, least: 400 },
]) {
  const who = shards === 1 ? 'a broker' : `a broker of ${shards} shards`
  test(`${who} that is killed ${rounds} times under load loses nothing that it acknowledged, and QoS 2 arrives once`, async (t) => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'godwit-crash-'))
    t.after(() => rmSync(dataDirectory, { recursive: true, force: true }))
    const seed = Number(process.env['GODWIT_CRASH_SEED'] ?? 1)
    t.diagnostic(`seed ${seed}; another with GODWIT_CRASH_SEED, more crashes with npm run crash`)
    const set = [`node.shards=${shards}`]
    const { faults, acknowledged } = await tellCrashStory({ seed, rounds, dataDirectory, set })
    assert.deepEqual(faults, [])
    assert.ok(acknowledged > least, `${acknowledged} messages are too few to tell anything`)
  })
}
