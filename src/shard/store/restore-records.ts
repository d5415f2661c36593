// Reads the stored records and passes them to the core, before clients are accepted.

import type { AccessControl } from '../../access/index.ts'
import type { BrokerCore } from '../../core/index.ts'
import type { AccessRecord, RecordKind, StoredRecord } from '../../records/index.ts'
import { accessKinds, readAllQueueBounds, type Store } from '../../storage/index.ts'
import type { CrashMarker, CrashCandidate } from './crash-marker.ts'

/** Sessions come before the records that belong to one. */
const restoredKinds: readonly RecordKind[] = [
  'fact',
  'session',
  'subscription',
  'incoming',
  'outgoing',
  'will',
  'retained',
  'forwarded',
  'handoff',
]

/** Restores the state of the core. `mark` has the record that is being restored, in case it makes the shard fail. */
export async function restoreBroker(
  store: Store,
  core: BrokerCore,
  { nowMs, mark }: { readonly nowMs: number; readonly mark: CrashMarker | undefined },
): Promise<void> {
  // Client IDs may be long, so all records of a session share one copy.
  const release = store.shareClientIds()
  for (const kind of restoredKinds) {
    for await (const record of store.read({ kind })) {
      runMarked(mark, findCrashCandidate(record), () => core.handle({ kind: 'restore', records: [record] }, nowMs))
    }
  }
  for await (const bounds of readAllQueueBounds(store)) {
    const { clientId } = bounds
    runMarked(mark, { kind: 'session', clientId }, () => core.handle({ kind: 'restore-queue', ...bounds }, nowMs))
  }
  for await (const counts of store.countPayloadReferences()) {
    core.handle({ kind: 'payloads-counted', counts, isEnd: false }, nowMs)
  }
  core.handle({ kind: 'payloads-counted', counts: [], isEnd: true }, nowMs)
  release()
}

/** Runs `work` with a crash marker. If `work` throws, the crash marker keeps the suspect. */
function runMarked(mark: CrashMarker | undefined, suspect: CrashCandidate | undefined, work: () => void): void {
  if (mark === undefined || suspect === undefined) work()
  else mark.runMarked(suspect, work)
}

/** Returns the session or retained message that is quarantined if the record makes the shard fail; undefined: the broker needs the record. */
function findCrashCandidate(record: StoredRecord): CrashCandidate | undefined {
  if (record.kind === 'retained') return { kind: 'retained', topic: record.message.topic }
  return 'clientId' in record && record.clientId !== undefined
    ? { kind: 'session', clientId: record.clientId }
    : undefined
}

/** Restores the access records. Called before clients are accepted. */
export async function restoreAccess(store: Store, access: Pick<AccessControl, 'applyRecords'>): Promise<void> {
  for (const kind of accessKinds) {
    const put: AccessRecord[] = []
    for await (const record of store.read({ kind })) if (record.kind === kind) put.push(record)
    access.applyRecords({ put, delete: [] })
  }
}

/** Returns the last stored time; 0 if there is none. */
export async function readClock(store: Store): Promise<number> {
  for await (const record of store.read({ kind: 'fact' })) {
    if (record.kind === 'fact' && record.name === 'clock') return Number(record.value)
  }
  return 0
}
