// Sessions that end at the end of the garbage collection of another session.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../src/storage/database/entry-database.ts'
import { PayloadGc } from '../../src/storage/payloads/payload-gc.ts'
import type { Generation } from '../../src/storage/encoding/record-keys.ts'

const first = 1 as Generation
const second = 2 as Generation
/** More promise jobs than a collection has after its last write. */
const steps = 12

for (let step = 0; step < steps; step++) {
  test(`a session that ends ${step} promise jobs after the collection of another is collected, too`, async () => {
    const swept: Generation[] = []
    const sweep = new PayloadGc(
      emptyDatabase(),
      { isCounted: () => false, onReleased: () => assert.fail(), onSwept: noteSwept },
      () => assert.fail(),
    )
    function noteSwept(life: Generation): void {
      swept.push(life)
      if (life === first) void after(step).then(() => sweep.add(second))
    }
    sweep.add(first)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(swept, [first, second])
    await sweep.stop()
  })
}

async function after(count: number): Promise<void> {
  for (let step = 0; step < count; step++) await Promise.resolve()
}

/** It responds at once: only promise jobs run in between. */
function emptyDatabase(): Database {
  const database: Pick<Database, 'readSlices' | 'write'> = {
    readSlices: () => (async function* () {})(),
    write: () => Promise.resolve(),
  }
  return database as Database
}
