// Reads what was kept and gives it to the core, before any client is let in.

import type { AccessControl } from '../access/index.ts'
import type { AccessRecord, BrokerCore, RecordKind, StoredRecord } from '../core/index.ts'
import { accessKinds, readAllQueueBounds, type Store } from '../storage/index.ts'

/** Sessions come first: everything else belongs to one. */
const restoredKinds: readonly RecordKind[] = [
  'session',
  'subscription',
  'incoming',
  'outgoing',
  'will',
  'retained',
  'forwarded',
]
const sliceRecords = 1_000

export async function restoreBroker(store: Store, core: BrokerCore, nowMs: number): Promise<void> {
  for (const kind of restoredKinds) await restoreKind(store, core, { kind, nowMs })
  for await (const bounds of readAllQueueBounds(store)) core.handle({ kind: 'restore-queue', ...bounds }, nowMs)
  for await (const counts of store.countBodyReferences()) {
    core.handle({ kind: 'bodies-counted', counts, isEnd: false }, nowMs)
  }
  core.handle({ kind: 'bodies-counted', counts: [], isEnd: true }, nowMs)
}

async function restoreKind(store: Store, core: BrokerCore, what: { kind: RecordKind; nowMs: number }): Promise<void> {
  let slice: StoredRecord[] = []
  for await (const record of store.read({ kind: what.kind })) {
    slice.push(record)
    if (slice.length < sliceRecords) continue
    core.handle({ kind: 'restore', records: slice }, what.nowMs)
    slice = []
  }
  core.handle({ kind: 'restore', records: slice }, what.nowMs)
}

/** Before anything rests on it: who may come in is known before anybody is let in. */
export async function restoreAccess(store: Store, access: Pick<AccessControl, 'applyRecords'>): Promise<void> {
  for (const kind of accessKinds) {
    const put: AccessRecord[] = []
    for await (const record of store.read({ kind })) if (record.kind === kind) put.push(record)
    access.applyRecords({ put, delete: [] })
  }
}

/** The last time that is known from before, 0 where none is. */
export async function readClock(store: Store): Promise<number> {
  for await (const record of store.read({ kind: 'fact' })) {
    if (record.kind === 'fact' && record.name === 'clock') return Number(record.value)
  }
  return 0
}
