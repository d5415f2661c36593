// A snapshot of the running broker, table by table.

import { type TableName, tableNames, type TableRecord, kindOfTable } from '../../backup/index.ts'
import type { StoredRecord } from '../../records/index.ts'
import type { Store } from '../../storage/index.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'

export type BrokerSnapshot = Readonly<Record<TableName, Iterable<TableRecord> | AsyncIterable<TableRecord>>>

/**
 * Taken at once: later changes are not part of it. Retained messages are read while the reader proceeds, and must be
 * read to their end or ended. Reading them may throw StorageFailure.
 */
export function takeBrokerSnapshot({
  store,
  accessRecords,
}: {
  readonly store: Pick<Store, 'read'>
  readonly accessRecords: AccessRecords
}): BrokerSnapshot {
  // Retained messages are read from a snapshot of the store, which starts with the first step.
  const retained = store.read({ kind: 'retained' })[Symbol.asyncIterator]()
  const first = retained.next()
  // If the reader never reads it, a failure must not end the process.
  first.catch(() => {})
  const moment: Partial<Record<TableName, BrokerSnapshot[TableName]>> = {}
  for (const table of tableNames) {
    const kind = kindOfTable[table]
    moment[table] = kind === 'retained' ? readUntilChanged(first, retained) : [...accessRecords.listAll(kind)]
  }
  return moment as BrokerSnapshot
}

async function* readUntilChanged(
  first: Promise<IteratorResult<StoredRecord>>,
  retained: AsyncIterator<StoredRecord>,
): AsyncGenerator<TableRecord> {
  const nowMs = Date.now()
  try {
    for (let next = await first; next.done !== true; next = await retained.next()) {
      const record = next.value
      if (record.kind === 'retained' && (record.message.expiresAtMs ?? Infinity) > nowMs) yield record
    }
  } finally {
    await retained.return?.()
  }
}
