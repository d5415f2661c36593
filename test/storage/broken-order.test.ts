// LevelDB ends the process when it merges tables and a key is not greater than the key before it. Its blocks have checksums
// against that, which its binding does not verify.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeQueuedKey } from '../../src/storage/encoding/record-keys.ts'
import { LevelStage } from './level-stage.ts'
import { put, readAll } from './read-all.ts'
import { queued } from './sample-records.ts'

const count = 320

test('a flipped bit that breaks the order of keys loses its block, and does not end the process', async (context) => {
  const stage = new LevelStage(context)
  const records = Array.from({ length: count }, (_, sequence) => queued('client', sequence, noise(sequence, 200)))
  const store = await stage.open()
  await store.commit(put(...records))
  await store.close()
  await (await stage.open()).close()
  flipOneKey(stage.directory)
  const reopened = await stage.open()
  const found = await readAll(reopened, { kind: 'queued' })
  await reopened.close()
  assert.ok(found.length < count && found.length >= count - 20, `${found.length} of ${count} are left`)
  assert.match(stage.alarms[0]?.text ?? '', /fails its checksums.*Lost: 1 of \d+ blocks/)
})

/**
 * Every sixteenth key of a block is stored completely: one in the middle gets a first byte above all others.
 */
function flipOneKey(directory: string): void {
  const name = readdirSync(directory).find((file) => file.endsWith('.ldb'))
  assert.ok(name !== undefined)
  const path = join(directory, name)
  const table = readFileSync(path)
  const life = 1
  const sequences = Array.from({ length: count / 2 }, (_, index) => index + count / 4)
  const at = sequences.map((sequence) => table.indexOf(encodeQueuedKey(life, sequence))).find((found) => found > 0)
  assert.ok(at !== undefined, 'a key is stored completely')
  table[at] = (table[at] ?? 0) | 0x80
  writeFileSync(path, table)
}

/** Text that does not compress: most bit flips in a compressed block are detected by its format. */
function noise(seed: number, length: number): string {
  let state = seed * 2_654_435_761 + 1
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return String.fromCharCode(33 + (state >>> 25))
  }).join('')
}
