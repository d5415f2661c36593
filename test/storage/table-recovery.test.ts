// A table without its footer or its index is read block by block.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, truncateSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { checkTable, hasIndex } from '../../src/storage/damage/table-check.ts'
import { recoverTable } from '../../src/storage/damage/table-recovery.ts'
import { LevelStage } from './level-stage.ts'
import { put, readAll, readEverything } from './read-all.ts'
import { queued, session, subscription } from './sample-records.ts'

const footerBytes = 48
const count = 3_000

/** The damage to a table, and whether all its data blocks survive. */
const harms: readonly [string, (path: string) => void, boolean][] = [
  ['truncated', (path) => truncateSync(path, statSync(path).size - footerBytes), true],
  ['overwritten', (path) => overwrite(path, statSync(path).size - footerBytes), true],
  ['lost with the index', (path) => overwrite(path, indexOffset(path)), true],
  ['lost with half of the table', (path) => truncateSync(path, Math.floor(statSync(path).size / 2)), false],
]

for (const payload of ['compressible', 'random'] as const) {
  for (const [name, harm, isWhole] of harms) {
    test(`the footer of a table with ${payload} records is ${name}: the remaining blocks are served`, async (t) => {
      const stage = new LevelStage(t)
      const records = [
        session('offline', 1),
        subscription('offline', 'a/#'),
        ...Array.from({ length: count }, (_, index) => queued('offline', index + 1, payloadOf(payload, index))),
      ]
      await fillTable(stage, ...records)
      const [table = ''] = tables(stage)
      assert.ok(await hasIndex(table))
      harm(table)
      assert.ok(!(await hasIndex(table)), 'which is detected without reading the table')
      const served = await readEverything(await stage.open())
      const text = alarmText(stage, 'database-damaged')
      if (isWhole) {
        assert.deepEqual(served, [records[0], records[1], ...records.slice(2)])
        assert.match(text, /the index of \d+\.ldb \(\d+ blocks were read without it; no block is missing\)/)
      } else {
        assert.ok(served.length > count / 3 && served.length < count, `${served.length} records are served`)
        assert.deepEqual(served, records.slice(0, served.length))
        assert.match(text, /the blocks after them are lost/)
      }
      assert.ok(readdirSync(dirname(stage.directory)).includes('messages.1.damaged'))
    })
  }
}

test('records that were read without an index do not replace newer ones, and deleted records stay deleted', async (t) => {
  const stage = new LevelStage(t)
  await fillTable(stage, queued('client', 1, 'old'), queued('client', 2, 'old'), queued('client', 3, 'old'))
  const store = await stage.open()
  await store.commit(put(queued('client', 2, 'new')))
  await store.commit([{ change: 'delete', key: { kind: 'queued', clientId: 'client', sequence: 3 } }])
  await store.close()
  await (await stage.open()).close()
  const [older, newer] = tables(stage)
  assert.ok(older !== undefined && newer !== undefined)
  const expected = [queued('client', 1, 'old'), queued('client', 2, 'new')]
  for (const path of [older, newer]) truncateSync(path, statSync(path).size - footerBytes)
  const reopened = await stage.open()
  assert.deepEqual(await readAll(reopened, { kind: 'queued' }), expected)
})

test('a payload that looks like a block of records is not read as a block, also after a damaged block', async (t) => {
  const forgery = new LevelStage(t)
  await fillTable(forgery, ...Array.from({ length: 100 }, (_, index) => queued('forged', index, 'forged')))
  const forged = readFileSync(tables(forgery)[0] ?? '')
  const stage = new LevelStage(t)
  const carrier = queued('client', 5, 'carrier')
  if (typeof carrier.message !== 'number') carrier.message.payload = Buffer.concat([randomBytes(9), forged])
  await fillTable(stage, ...filling(0), carrier, ...filling(6))
  const [path] = tables(stage)
  assert.ok(path !== undefined)
  const table = readFileSync(path)
  assert.ok(recoverTable(forged) !== undefined && table.includes(forged.subarray(0, 500)))
  table[100] = (table[100] ?? 0) ^ 1
  writeFileSync(path, table.subarray(0, -footerBytes))
  assert.deepEqual(await readEverything(await stage.open()), [])
})

test('a rebuilt table is sound, and a file that is not a table gives none', async (t) => {
  const stage = new LevelStage(t)
  await fillTable(stage, ...Array.from({ length: count }, (_, index) => queued('client', index)))
  const [path] = tables(stage)
  assert.ok(path !== undefined)
  const recovered = recoverTable(readFileSync(path).subarray(0, -footerBytes))
  writeFileSync(path, recovered?.content ?? '')
  assert.deepEqual(await checkTable(path), { state: 'valid' })
  for (const bytes of [0, 1, 47, 5_000]) {
    assert.equal(recoverTable(Buffer.alloc(bytes)), undefined)
    assert.equal(recoverTable(Buffer.alloc(bytes, 0xff)), undefined)
    assert.equal(recoverTable(randomBytes(bytes)), undefined)
  }
})

function filling(from: number): ReturnType<typeof queued>[] {
  return Array.from({ length: 4 }, (_, index) => queued('client', from + index, payloadOf('random', index, 3_000)))
}

/** A store whose only table has these records. */
async function fillTable(stage: LevelStage, ...records: Parameters<typeof put>): Promise<void> {
  const store = await stage.open()
  await store.commit(put(...records))
  await store.close()
  // The open turns the log into a table.
  await (await stage.open()).close()
}

/** From the oldest. */
function tables({ directory }: LevelStage): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.ldb'))
    .toSorted()
    .map((name) => join(directory, name))
}

function alarmText({ alarms }: LevelStage, name: string): string {
  return alarms.find(({ alarm }) => alarm === name)?.text ?? ''
}

function overwrite(path: string, from: number): void {
  const bytes = readFileSync(path)
  bytes.fill(0, from)
  writeFileSync(path, bytes)
}

/** The offset in the second handle of the footer. */
function indexOffset(path: string): number {
  const footer = readFileSync(path).subarray(-footerBytes)
  const numbers: number[] = []
  for (let at = 0; numbers.length < 3;) {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = footer[at++] ?? 0
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    numbers.push(value)
  }
  return numbers[2] ?? 0
}

function payloadOf(kind: 'compressible' | 'random', seed: number, bytes = 60): string {
  return kind === 'compressible' ? `payload ${seed} `.repeat(10) : randomBytes(bytes, seed).toString('latin1')
}

/** Returns the same values for the same seed. */
function randomBytes(length: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(length)
  let state = (seed + 1) * 2_654_435_761
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[at] = state >>> 24
  }
  return bytes
}
