// Looks at every record of a database that was pieced together: what can be read, what cannot, and which sessions have
// lost a record that names them.

import type { RecordKind } from '../../records/index.ts'
import { DamagedRecord, RecordTooNew } from '../byte-reader.ts'
import type { LevelDatabase } from '../level-database.ts'
import { rangeOfKind, recordKinds } from '../record-keys.ts'
import { readRecord } from '../record-values.ts'
import { type LostSessionOptions, recoverLostSessions } from './lost-sessions.ts'

/** What an examination found, in words for the operator. */
export interface IntegrityReport {
  /** `3 session, 120 queued, ...` */
  readonly contents: string
  /** What was not readable or not whole. */
  readonly losses: readonly string[]
}

/**
 * Examines a database that nobody else uses, and mends its sessions. Other bad records stay: whoever reads them sets them
 * aside.
 */
export async function checkIntegrity(database: LevelDatabase, options: LostSessionOptions): Promise<IntegrityReport> {
  const { livesRestored, livesLost } = await recoverLostSessions(database, options, { isThorough: true })
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
      if (tryRead(() => readRecord(key, value, '')) === undefined) bad += 1
      else good += 1
    }
  }
  return { good, bad }
}

/** What `read` returns; undefined if the record is bad. */
function tryRead<Thing>(read: () => Thing): Thing | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
