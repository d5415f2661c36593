// What is kept of the broker at one moment, table by table, while it goes on.

import { type TableName, tableNames, type TableRecord, kindOfTable } from '../../backup/index.ts'
import type { StoredRecord } from '../../records/index.ts'
import type { Store } from '../../storage/index.ts'
import type { AccessRecords } from '../records/access-records.ts'

export type BrokerSnapshot = Readonly<Record<TableName, Iterable<TableRecord> | AsyncIterable<TableRecord>>>

/**
 * Taken at once: from here on changes are no part of it. Retained messages are read as the reader goes on, and must be
 * read to their end or ended. Their reading may throw StorageFailure.
 */
export function takeBrokerSnapshot({
  store,
  accessRecords,
}: {
  readonly store: Pick<Store, 'read'>
  readonly accessRecords: AccessRecords
}): BrokerSnapshot {
  // What is retained is read from a moment of the store that begins with the first step.
  const retained = store.read({ kind: 'retained' })[Symbol.asyncIterator]()
  const first = retained.next()
  // Whoever never comes to read it is not to bring the process down with it.
  first.catch(() => {})
  const moment: Partial<Record<TableName, BrokerSnapshot[TableName]>> = {}
  for (const table of tableNames) {
    const kind = kindOfTable[table]
    moment[table] = kind === 'retained' ? untilChanged(first, retained) : [...accessRecords.all(kind)]
  }
  return moment as BrokerSnapshot
}

async function* untilChanged(
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
