// A snapshot of the running broker, table by table.

import {
  type PluginBackupRecord,
  type TableName,
  tableNames,
  type TableRecord,
  kindOfTable,
} from '../../backup/index.ts'
import type { StoredRecord } from '../../records/index.ts'
import type { Store } from '../../storage/index.ts'
import type { AccessRecords } from '../records/stored-access-records.ts'

export type BrokerSnapshot = Readonly<Record<TableName, Iterable<TableRecord> | AsyncIterable<TableRecord>>>

/** The plugins of the node, as backups use them. */
export interface BackedUpPlugins {
  /** Whether imports may install plugins. */
  readonly allowsInstall: boolean
  /** In the order of their hooks. An archive is read when its record is. */
  exportRecords(): AsyncIterable<PluginBackupRecord>
  /** Returns the effect of a record; a problem is a sentence: nothing was changed. */
  importRecord(record: PluginBackupRecord): Promise<'inserts' | 'updates' | 'unchanged' | { readonly problem: string }>
  previewRecord(record: PluginBackupRecord): 'inserts' | 'updates' | 'unchanged'
  /** `names` first, as far as they are installed. */
  restoreOrder(names: readonly string[]): Promise<void>
}

/**
 * Taken at once: later changes are not part of it. Retained messages are read while the reader proceeds, and must be
 * read to their end or ended. Reading them may throw StorageFailure.
 */
export function takeBrokerSnapshot({
  store,
  accessRecords,
  plugins,
}: {
  readonly store: Pick<Store, 'read'>
  readonly accessRecords: AccessRecords
  readonly plugins: BackedUpPlugins
}): BrokerSnapshot {
  // Retained messages are read from a snapshot of the store, which starts with the first step.
  const retained = store.read({ kind: 'retained' })[Symbol.asyncIterator]()
  const first = retained.next()
  // If the reader never reads it, a failure must not end the process.
  first.catch(() => {})
  const moment: Partial<Record<TableName, BrokerSnapshot[TableName]>> = {}
  for (const table of tableNames) {
    const kind = kindOfTable[table]
    if (kind === 'retained') moment[table] = readUntilChanged(first, retained)
    else moment[table] = kind === 'plugin' ? plugins.exportRecords() : [...accessRecords.listAll(kind)]
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
