// Visits every record of a repaired database: counts readable and unreadable records, and finds sessions that lost a
// record.

import type { RecordKind } from '../../records/index.ts'
import { DamagedRecord, RecordTooNew } from '../encoding/record-byte-reader.ts'
import type { LevelDatabase } from '../database/level-database.ts'
import { createKindRange, recordKinds } from '../encoding/record-keys.ts'
import { readRecord } from '../encoding/record-values.ts'
import { type LostSessionOptions, recoverLostSessions } from './lost-sessions.ts'

/** Results of the check, as text for administrators. */
export interface IntegrityReport {
  /** `3 session, 120 queued, ...` */
  readonly contents: string
  /** Unreadable or incomplete parts. */
  readonly losses: readonly string[]
}

/**
 * Checks a database that nothing else uses, and repairs its sessions. Other damaged records remain, until a read
 * moves them to quarantine.
 */
export async function checkIntegrity(database: LevelDatabase, options: LostSessionOptions): Promise<IntegrityReport> {
  const { restoredGenerations, unknownGenerations } = await recoverLostSessions(database, options, { isThorough: true })
  const losses: string[] = []
  const contents: string[] = []
  for (const kind of recordKinds) {
    const { good, bad } = await countRecords(database, kind)
    if (good > 0) contents.push(`${good} ${kind}`)
    if (bad > 0) losses.push(`${bad} ${kind}`)
  }
  if (restoredGenerations > 0) losses.push(`the generation records of ${restoredGenerations} sessions (restored)`)
  if (unknownGenerations > 0) losses.push(`the client IDs of ${unknownGenerations} sessions`)
  return { contents: contents.join(', '), losses }
}

async function countRecords(database: LevelDatabase, kind: RecordKind): Promise<{ good: number; bad: number }> {
  let good = 0
  let bad = 0
  for await (const slice of database.readSlices(createKindRange(kind))) {
    for (const [key, value] of slice) {
      if (tryRead(() => readRecord(key, value, '')) === undefined) bad += 1
      else good += 1
    }
  }
  return { good, bad }
}

/** Returns the result of `read`; undefined if the record is damaged. */
function tryRead<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
