// A check on what is read of a queue. Sequences on disk follow one another, but for gaps that the session knows of. A part with
// another gap is not taken: moving `diskFrom` past a record that is there would hide it until the next start.
//
//   part n: 17 18 21 22     a gap at 19          -> asked again, by itself (`part` undefined: no earlier reading is relied on)
//   alone:  17 18 19 20     no gap               -> the reader was wrong: told by an event
//   alone:  17 18 21 22     the same gap         -> 19 and 20 are damaged or gone: taken

import type { StoredRecord } from '../../records/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { PersistentQueue, Session } from '../state/sessions/session.ts'

export interface LoadedPart {
  readonly records: readonly StoredRecord[]
  readonly isEnd: boolean
  /** The sequence that was next when the part was asked for. */
  readonly upTo: number
}

/** True: the part lacks records that must be there. It is not to be used, and the next question reads it again. */
export function mustReadAgain(
  state: BrokerState,
  session: Session,
  stored: PersistentQueue,
  part: LoadedPart,
): boolean {
  const lacks = firstLacking(stored, part)
  if (!stored.isReadAgain) {
    stored.isReadAgain = lacks !== undefined
    if (stored.isReadAgain) stored.partNumber = 0
    return stored.isReadAgain
  }
  stored.isReadAgain = false
  stored.partNumber = 0
  if (lacks !== undefined) noteGapsBelow(stored, lacks.end)
  else state.events.push({ event: 'queue-records-skipped', clientId: session.clientId, fromSequence: stored.diskFrom })
  return false
}

/** Records below have gone, though some before them may be there. */
export function noteGapsBelow(stored: PersistentQueue, sequence: number): void {
  stored.gapsBelow = Math.max(stored.gapsBelow, sequence)
}

/** The first gap of a part that the session does not know of; `end`: where the part goes on behind it. */
function firstLacking(stored: PersistentQueue, { records, isEnd, upTo }: LoadedPart): { end: number } | undefined {
  // What is in memory is not taken from the part.
  const last = Math.min(upTo, stored.tailInMemory?.[0]?.sequence ?? Infinity)
  let next = stored.diskFrom
  for (const record of records) {
    if (record.kind !== 'queued' || record.sequence < next) continue
    if (isLacking(stored, next, Math.min(record.sequence, last))) return { end: record.sequence }
    next = record.sequence + 1
  }
  return isEnd && isLacking(stored, next, last) ? { end: last } : undefined
}

/** Records from `next` on to below `end` are missing, and not all of these are known to be gaps. */
function isLacking({ gapsBelow }: PersistentQueue, next: number, end: number): boolean {
  return next < end && end > gapsBelow
}
