// Checks the parts of a queue that are read from disk. Sequence numbers on disk are consecutive, except for gaps that the
// session knows of. A part with another gap is not used: moving `diskFrom` past an existing record would hide it until the
// next start.
//
//   part n:   17 18 21 22     a gap at 19         -> read again without an earlier snapshot (`part` undefined)
//   re-read:  17 18 19 20     no gap              -> the first read was wrong: reported by an event
//   re-read:  17 18 21 22     the same gap        -> 19 and 20 are damaged or deleted: accepted

import type { StoredRecord } from '../../records/index.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { PersistentQueue, Session } from '../state/sessions/session.ts'

export interface LoadedPart {
  readonly records: readonly StoredRecord[]
  readonly isEnd: boolean
  /** The next sequence number when the part was requested. */
  readonly upTo: number
}

/** Returns true if existing records are missing from the part. It must not be used; the next request reads it again. */
export function mustReadAgain(
  outputs: OutputLists,
  session: Session,
  stored: PersistentQueue,
  part: LoadedPart,
): boolean {
  const lacks = findFirstLacking(stored, part)
  const { reads } = stored
  if (!reads.isReadAgain) {
    // The part number stays: a smaller part could end before the gap and would look as if nothing were missing.
    reads.isReadAgain = lacks !== undefined
    return reads.isReadAgain
  }
  reads.isReadAgain = false
  reads.partNumber = 0
  if (lacks !== undefined) recordGapsBelow(stored, lacks.end)
  else
    outputs.events.push({
      event: 'queue-records-skipped',
      clientId: session.clientId,
      fromSequence: stored.diskFrom,
    })
  return false
}

/** Records below `sequence` may be deleted although earlier ones exist. */
export function recordGapsBelow({ reads }: PersistentQueue, sequence: number): void {
  reads.gapsBelow = Math.max(reads.gapsBelow, sequence)
}

/** Returns the first gap of a part that the session does not know of; `end` is the sequence number after the gap. */
function findFirstLacking(stored: PersistentQueue, { records, isEnd, upTo }: LoadedPart): { end: number } | undefined {
  // Messages in memory are not taken from the part.
  const last = Math.min(upTo, stored.reads.tailInMemory?.[0]?.sequence ?? Infinity)
  let next = stored.diskFrom
  for (const record of records) {
    if (record.kind !== 'queued' || record.sequence < next) continue
    if (isLacking(stored, next, Math.min(record.sequence, last))) return { end: record.sequence }
    next = record.sequence + 1
  }
  return isEnd && isLacking(stored, next, last) ? { end: last } : undefined
}

/** Returns whether records from `next` to `end` (exclusive) are missing that are not known gaps. */
function isLacking({ reads }: PersistentQueue, next: number, end: number): boolean {
  return next < end && end > reads.gapsBelow
}
