// A damaged database never prevents the start of the broker: good records are served, the rest is quarantined, and an alarm is raised.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import type { StoredRecord } from '../../src/records/index.ts'
import { openLevelStore, type StorageAlarm, type Store } from '../../src/storage/index.ts'
import { LevelStage } from './level-stage.ts'
import { put, readEverything } from './read-all.ts'
import { oneOfEachKind, queued, session } from './sample-records.ts'

/** Each open turns the previous log into a table. */
const openings = 4
const batchesPerOpening = 8
const recordsPerBatch = 40
/** A block of a table holds 4 KiB. */
const recordsPerBlock = 40

const model = mkdtempSync(join(tmpdir(), 'godwit-damage-'))
const expected = new Map<string, StoredRecord>()

type Left = 'closed' | 'killed'
const harms = { removed: remove, truncated: truncate, emptied: empty, 'flipped in the middle': flip }

type FileKind = 'CURRENT' | 'MANIFEST' | 'table' | 'log'

before(async () => {
  const directory = join(model, 'closed')
  const options = { directory, sync: 'never', syncIntervalMs: 1_000, onAlarm: fail } as const
  for (let opening = 0; opening < openings; opening++) {
    const store = await openLevelStore(options)
    for (let batch = 0; batch < batchesPerOpening; batch++) {
      const records: StoredRecord[] = Array.from({ length: recordsPerBatch }, (_, index) => {
        const number = (opening * batchesPerOpening + batch) * recordsPerBatch + index
        return queued(`client-${number % 3}`, number, `payload ${number} `.repeat(10))
      })
      records.push(...oneOfEachKind('client-1').filter(({ kind }) => kind !== 'queued'))
      records.push(session('client-0'), session('client-2'), session(`${opening}-${batch}`))
      await store.commit(put(...records))
      for (const record of records) expected.set(nameOf(record), record)
    }
    // A kill leaves exactly these files.
    if (opening === openings - 1) cpSync(directory, join(model, 'killed'), { recursive: true })
    await store.close()
  }
})

after(() => rmSync(model, { recursive: true, force: true }))

test('a table that was being written during a kill is not damage', async (context) => {
  const stage = stageOf(context, 'killed')
  const table = readdirSync(stage.directory).find((name) => name.endsWith('.ldb'))
  const bytes = readFileSync(join(stage.directory, table ?? ''))
  writeFileSync(join(stage.directory, '000999.ldb'), bytes.subarray(0, bytes.length / 2))
  assert.equal((await recordsServed(stage)).size, expected.size)
  assert.deepEqual(stage.alarms, [])
})

for (const left of ['closed', 'killed'] as const) {
  describe(`a database that was ${left}`, () => {
    test('is opened completely and without an alarm if it is not damaged', async (context) => {
      const stage = stageOf(context, left)
      assert.equal((await recordsServed(stage)).size, expected.size)
      assert.deepEqual(stage.alarms, [])
      assert.deepEqual(readdirSync(dirname(stage.directory)), ['messages'])
    })

    for (const file of ['CURRENT', 'MANIFEST'] as const) {
      for (const [harmed, harm] of Object.entries(harms)) {
        test(`serves all records if ${file} was ${harmed}`, async (context) => {
          const stage = stageOf(context, left)
          harm(fileOf(stage, file))
          assert.equal((await recordsServed(stage)).size, expected.size)
          assertReported(stage, 'database-damaged')
          if (harm === remove && file === 'CURRENT') assert.match(stage.alarms[0]?.text ?? '', /CURRENT is missing/)
        })
      }
    }

    for (const [harmed, harm] of Object.entries(harms)) {
      test(`serves the other records if a table was ${harmed}`, async (context) => {
        const stage = stageOf(context, left)
        harm(fileOf(stage, 'table'))
        assert.ok((await recordsServed(stage)).size >= expected.size / 2)
        assertReported(stage, 'database-damaged')
      })
    }

    test('loses only the flipped block of a table', async (context) => {
      const stage = stageOf(context, left)
      flip(fileOf(stage, 'table'))
      const served = await recordsServed(stage)
      assert.ok(
        served.size < expected.size && served.size >= expected.size - recordsPerBlock,
        `${served.size} are left`,
      )
    })

    for (const [harmed, harm] of Object.entries(harms)) {
      test(`serves the other records if the log was ${harmed}`, async (context) => {
        const stage = stageOf(context, left)
        harm(fileOf(stage, 'log'))
        assert.ok((await recordsServed(stage)).size >= expected.size / 2)
        // After a kill, a log that ends early is an unfinished write.
        if (left === 'closed' || harm === remove || harm === flip) assertReported(stage, 'database-damaged')
      })
    }

    test('starts empty if no part of it can be read', async (context) => {
      const stage = stageOf(context, left)
      for (const name of readdirSync(stage.directory)) writeFileSync(join(stage.directory, name), 'nonsense')
      assert.equal((await recordsServed(stage)).size, 0)
      assertReported(stage, 'database-damaged')
    })

    test('is sound after a repair: the next open reports nothing', async (context) => {
      const stage = stageOf(context, left)
      flip(fileOf(stage, 'table'))
      const served = await recordsServed(stage)
      stage.alarms.length = 0
      const store = await stage.open()
      await store.commit(put(queued('new', 1)))
      await store.close()
      assert.equal((await recordsServed(stage)).size, served.size + 1)
      assert.deepEqual(stage.alarms, [])
    })
  })
}

test('tables that an old manifest does not name are served, too', async (context) => {
  const stage = new LevelStage(context)
  const store = await stage.open()
  const manifest = fileOf(stage, 'MANIFEST')
  const early = readFileSync(manifest)
  // Enough commits for a table, until the manifest names it and its log is deleted: before that, the logs have all records, and
  // there is no damage.
  const logs = (): number => readdirSync(stage.directory).filter((name) => name.endsWith('.log')).length
  let count = 0
  for (; count < 150 || readFileSync(manifest).length === early.length || logs() > 1; count++) {
    assert.ok(count < 5_000, 'LevelDB has written no table')
    await store.commit(put(queued('client', count, 'x'.repeat(100_000))))
  }
  await replaceByKilled(stage, store)
  assert.ok(fileOf(stage, 'table') !== undefined)
  writeFileSync(manifest, early)
  const reopened = await stage.open()
  assert.equal((await readEverything(reopened)).length, count)
  assertReported(stage, 'database-damaged')
})

test('if batches are missing in the middle of the log, their numbers are reported once', async (context) => {
  const stage = new LevelStage(context)
  const store = await stage.open()
  for (let number = 0; number < 200; number++) await store.commit(put(queued('client', number, 'x'.repeat(1_000))))
  await replaceByKilled(stage, store)
  flip(fileOf(stage, 'log'))
  const reopened = await stage.open()
  const found = await readEverything(reopened)
  const missing = stage.alarms.find(({ alarm }) => alarm === 'batches-missing')?.text ?? ''
  const [, first, last] = /missing \((\d+) to (\d+) of 200\)/.exec(missing) ?? []
  const lost = Number(last) - Number(first) + 1
  assert.ok(lost > 0 && lost < 40, missing)
  assert.equal(found.length, 200 - lost)
  await reopened.close()
  stage.alarms.length = 0
  await stage.open()
  assert.deepEqual(stage.alarms, [])
})

/**
 * Closes the store and restores its files of an earlier time: as after a kill at that time.
 */
async function replaceByKilled(stage: LevelStage, store: Store): Promise<void> {
  const killed = `${stage.directory}-killed`
  cpSync(stage.directory, killed, { recursive: true })
  await store.close()
  rmSync(stage.directory, { recursive: true })
  cpSync(killed, stage.directory, { recursive: true })
  rmSync(killed, { recursive: true })
}

function stageOf(context: TestContext, left: Left): LevelStage {
  const stage = new LevelStage(context)
  cpSync(join(model, left), stage.directory, { recursive: true })
  return stage
}

/** The records of a store, each checked to be one that was put. Closes the store. */
async function recordsServed(stage: LevelStage): Promise<Map<string, StoredRecord>> {
  const store = await stage.open()
  const served = new Map<string, StoredRecord>()
  for (const record of await readEverything(store)) {
    const name = nameOf(record)
    served.set(name, record)
    if (expected.has(name)) assert.deepEqual(record, expected.get(name))
    else assert.equal(name, 'queued new 1', 'no record that was never put')
  }
  await store.close()
  return served
}

function assertReported(stage: LevelStage, alarm: string): void {
  assert.ok(
    stage.alarms.some((raised) => raised.alarm === alarm),
    'an alarm is raised',
  )
  const setAside = readdirSync(dirname(stage.directory)).filter((name) => name.endsWith('.damaged'))
  assert.ok(setAside.length > 0, 'the damaged files are quarantined')
}

function nameOf(record: StoredRecord): string {
  const { kind } = record
  switch (kind) {
    case 'queued':
      return `${kind} ${record.clientId} ${record.sequence}`
    case 'session':
      return `${kind} ${record.clientId}`
    case 'outgoing':
      return `${kind} ${record.packetId}`
    default:
      return kind
  }
}

function fileOf(stage: LevelStage, file: FileKind): string {
  const patterns = { CURRENT: /^CURRENT$/, MANIFEST: /^MANIFEST/, table: /\.ldb$/, log: /\.log$/ }
  const names = readdirSync(stage.directory).filter((name) => patterns[file].test(name))
  const largest = names
    .map((name) => join(stage.directory, name))
    .sort((a, b) => statSync(b).size - statSync(a).size)[0]
  assert.ok(largest !== undefined, `there is a ${file}`)
  return largest
}

function fail({ text }: StorageAlarm): void {
  assert.fail(text)
}

function remove(path: string): void {
  rmSync(path)
}

function truncate(path: string): void {
  truncateSync(path, Math.floor(statSync(path).size / 2))
}

function empty(path: string): void {
  truncateSync(path, 0)
}

/** Inverts a few bytes in the middle. */
function flip(path: string): void {
  const bytes = readFileSync(path)
  const middle = Math.floor(bytes.length / 2)
  for (let at = middle; at < Math.min(middle + 3, bytes.length); at++) bytes[at] = (bytes[at] ?? 0) ^ 0xff
  writeFileSync(path, bytes)
}
