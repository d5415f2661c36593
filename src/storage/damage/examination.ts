// Looks at every record of a database that was pieced together: what can be read, what cannot, and which sessions have
// lost the record of their life. A session record carries the client id, so its life is found again; what belongs to no
// session is left to the sweep.

import type { RecordKind } from '../../core/index.ts'
import { DamagedRecord, RecordTooNew } from '../byte-reader.ts'
import { encodeGrave, encodeLife } from '../change-encoder.ts'
import type { LevelDatabase, LevelEntry } from '../level-database.ts'
import { OperationList } from '../operation-list.ts'
import { lifeOfKey, rangeOfKind, recordKinds, sessionKinds } from '../record-keys.ts'
import { readLife, readRecord } from '../record-values.ts'
import type { Life } from '../record-keys.ts'

/** What an examination found, in words for the operator. */
export interface Examination {
  /** `3 session, 120 queued, ...` */
  readonly contents: string
  /** What was not readable or not whole. */
  readonly losses: readonly string[]
}

/**
 * Examines a database that nobody else uses, and mends the lives of its sessions. Bad records stay: whoever reads them
 * sets them aside.
 */
export async function examine(database: LevelDatabase): Promise<Examination> {
  const { livesRestored, livesLost } = await mendLives(database)
  const losses: string[] = []
  const contents: string[] = []
  for (const kind of recordKinds) {
    const { good, bad } = await countRecords(database, kind)
    if (good > 0) contents.push(`${good} ${kind}`)
    if (bad > 0) losses.push(`${bad} ${kind}`)
  }
  if (livesRestored > 0) losses.push(`the keys of ${livesRestored} sessions (found again)`)
  if (livesLost > 0) losses.push(`the keys of ${livesLost} sessions`)
  return { contents: contents.join(', '), losses }
}

async function countRecords(database: LevelDatabase, kind: RecordKind): Promise<{ good: number; bad: number }> {
  let good = 0
  let bad = 0
  for await (const slice of database.slices(rangeOfKind(kind))) {
    for (const [key, value] of slice) {
      if (attempt(() => readRecord(key, value, '')) === undefined) bad += 1
      else good += 1
    }
  }
  return { good, bad }
}

async function mendLives(database: LevelDatabase): Promise<{ livesRestored: number; livesLost: number }> {
  const clientIds = new Set<string>()
  const known = new Set<Life>()
  await forEach(database, 'life', ([key, value]) => {
    clientIds.add(key.toString('utf8', 1))
    known.add(readLife(key, value))
  })
  await forEach(database, 'grave', ([key]) => known.add(lifeOfKey(key)))
  const operations = new OperationList()
  let livesRestored = 0
  await forEach(database, 'session', ([key, value]) => {
    const life = lifeOfKey(key)
    const record = readRecord(key, value, '')
    if (record.kind !== 'session' || known.has(life) || clientIds.has(record.clientId)) return
    encodeLife(operations, record.clientId, life)
    known.add(life)
    clientIds.add(record.clientId)
    livesRestored += 1
  })
  const before = known.size
  for (const kind of sessionKinds) {
    await forEach(database, kind, ([key]) => {
      const life = lifeOfKey(key)
      if (known.has(life)) return
      encodeGrave(operations, life)
      known.add(life)
    })
  }
  await database.write(operations, true)
  return { livesRestored, livesLost: known.size - before }
}

async function forEach(
  database: LevelDatabase,
  kind: Parameters<typeof rangeOfKind>[0],
  look: (entry: LevelEntry) => void,
): Promise<void> {
  for await (const slice of database.slices(rangeOfKind(kind))) {
    for (const entry of slice) attempt(() => look(entry))
  }
}

/** What `read` returns; undefined if the record is bad. */
function attempt<Thing>(read: () => Thing): Thing | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
