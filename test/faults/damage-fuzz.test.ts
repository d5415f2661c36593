// Files of a store are damaged in every way: undamaged records are served, and no acknowledged record is lost without an
// alarm. `npm run fuzz:damage` tests more stores, and all files with all damages.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { Random } from '../simulator/random.ts'
import { testLength } from '../test-length.ts'
import { filesOf, createStore, checkDamage } from './damage-fuzz/damage-round.ts'
import { damages } from './damage-fuzz/damages.ts'

const roundsPerStore = 20

for (let seed = 1; seed <= testLength({ daily: 1, long: 4 }); seed++) {
  test(`store ${seed}, damaged ${roundsPerStore} times: it opens, serves the stored data, and an alarm reports every loss`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'godwit-damage-fuzz-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const left = await createStore(folder, seed)
    const random = new Random(seed)
    const files = filesOf(left)
    const kinds = Object.keys(damages)
    let losses = 0
    for (let round = 0; round < roundsPerStore; round++) {
      const file = files[random.between(0, files.length - 1)] ?? ''
      const kind = kinds[random.between(0, kinds.length - 1)] ?? ''
      const { faults, lost, restored } = await checkDamage(left, file, kind, round)
      assert.deepEqual(faults, [], `${basename(file)}, ${kind}`)
      if (lost + restored > 0) losses += 1
    }
    assert.ok(losses > 0, 'no damage has cost anything: it was never really damaged')
  })
}
