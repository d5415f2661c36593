// A new version starts with the data of every older one.

import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { RecordKind, StoredRecord } from '../../src/records/index.ts'
import { LevelStage } from './level-stage.ts'
import { accessKinds, allKinds, put, readEverything } from './read-all.ts'
import { queued } from './sample-records.ts'

const fixtures = join(import.meta.dirname, 'fixtures')
const versions = readdirSync(fixtures)
  .filter((name) => /^v\d+$/.test(name))
  .sort((a, b) => numberOf(a) - numberOf(b))

describe('the data directory of an older version', () => {
  test('exists for every version that a release has written', () => {
    assert.deepEqual(versions, ['v1', 'v2', 'v3', 'v4', 'v5', 'v6', 'v7', 'v8', 'v9', 'v10'])
  })

  for (const version of versions) {
    test(`${version} returns every record of every kind, and accepts new ones`, async (context) => {
      const stage = new LevelStage(context)
      cpSync(join(fixtures, version, 'messages'), stage.directory, { recursive: true })
      const expected = recordsIn(join(fixtures, version, 'records.json'))
      assert.deepEqual(new Set(expected.map(({ kind }) => kind)), new Set(kindsOf(version)))
      const store = await stage.open()
      assert.deepEqual(inOrder(await readEverything(store)), inOrder(expected))
      await store.commit(put(queued('new', 1)))
      await store.close()
      const reopened = await stage.open()
      assert.deepEqual(inOrder(await readEverything(reopened)), inOrder([...expected, queued('new', 1)]))
      assert.deepEqual(stage.alarms, [])
    })
  }
})

/** The first version with records of a kind; the other kinds exist since the first. */
const since: ReadonlyMap<RecordKind, string> = new Map([
  ...['forwarded' as const, ...accessKinds].map((kind) => [kind, 'v2'] as const),
  ['account', 'v4'],
  ['api-key', 'v4'],
  ['namespace', 'v5'],
  ['handoff', 'v7'],
  ['gateway-user', 'v10'],
])

function numberOf(version: string): number {
  return Number(version.slice(1))
}

/** The kinds of that version. */
function kindsOf(version: string): readonly RecordKind[] {
  return allKinds.filter((kind) => numberOf(since.get(kind) ?? 'v1') <= numberOf(version))
}

/** The fields that older versions did not store. */
const accountDefaults = { description: '' }
const messageDefaults = { publisherMountpoint: '' }

function recordsIn(file: string): StoredRecord[] {
  return (JSON.parse(readFileSync(file, 'utf8'), withNewNames) as StoredRecord[]).map(withDefaults)
}

/** Kinds and fields that had other names when the fixtures were written. The bytes on disk contain no names. */
const newNames: Readonly<Record<string, string>> = { body: 'payload', moving: 'handoff' }

function withNewNames(key: string, value: unknown): unknown {
  if (key === 'kind') return newNames[String(value)] ?? value
  if (typeof value !== 'object' || value === null || !('dealt' in value)) return value
  const { dealt, ...others } = value
  return { ...others, assignments: dealt }
}

function withDefaults(record: StoredRecord): StoredRecord {
  if (record.kind === 'account') return { ...accountDefaults, ...record }
  if (!('message' in record) || typeof record.message === 'number') return record
  return { ...record, message: { ...messageDefaults, ...record.message } }
}

/** As JSON with sorted names, so that the order of fields and records has no effect. */
function inOrder(records: readonly StoredRecord[]): string[] {
  return records.map((record) => JSON.stringify(record, withSortedNames)).sort()
}

function withSortedNames(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
