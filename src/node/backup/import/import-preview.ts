// Computes what the tables of an archive would change, without changing it.

import { createHash } from 'node:crypto'
import { formatRecordName, type TableName, tableNames, type TableRecord, writeRow } from '../../../backup/index.ts'
import {
  type TableChange,
  maxConflictsReported,
  previewRecord,
  recordConflict,
  createEmptyCounts,
} from './import-tables.ts'
import type { AccessRecords } from '../../records/stored-access-records.ts'
import type { BackedUpPlugins } from '../snapshot.ts'
import { ScanBudget } from '../../records/record-scan.ts'

/** Takes every record of an archive, and compares it with the current one. */
export class ImportPreview {
  readonly #records: AccessRecords
  readonly #plugins: Pick<BackedUpPlugins, 'previewRecord'>
  readonly #changes = new Map<TableName, ReturnType<typeof createEmptyCounts>>()
  /** Digests of the contents of retained messages, by the digest of the topic. */
  readonly #retained = new Map<number, number>()

  constructor(records: AccessRecords, plugins: Pick<BackedUpPlugins, 'previewRecord'>) {
    this.#records = records
    this.#plugins = plugins
  }

  take(table: TableName, record: TableRecord): void {
    if (record.kind === 'retained') {
      this.#retained.set(computeDigest(record.message.topic), computeDigest(writeRow(table, record)))
      this.#ensureChange(table)
      return
    }
    const change = this.#ensureChange(table)
    const fate =
      record.kind === 'plugin' ? this.#plugins.previewRecord(record) : previewRecord(this.#records, table, record)
    change[fate]++
    if (fate === 'updates') recordConflict(change, record)
  }

  /** `retained`: the current retained messages. */
  async conclude(retained: Iterable<TableRecord> | AsyncIterable<TableRecord>): Promise<readonly TableChange[]> {
    const change = this.#changes.get('retained-messages')
    if (change !== undefined) await this.#compareRetained(change, retained)
    return tableNames.flatMap((table) => this.#changes.get(table) ?? [])
  }

  async #compareRetained(
    change: ReturnType<typeof createEmptyCounts>,
    retained: Iterable<TableRecord> | AsyncIterable<TableRecord>,
  ): Promise<void> {
    const budget = new ScanBudget()
    for await (const record of retained) {
      if (budget.isExhausted()) await budget.pause()
      const digest = this.#retained.get(computeDigest(formatRecordName(record)))
      if (digest === undefined) continue
      const isSame = digest === computeDigest(writeRow('retained-messages', record))
      change[isSame ? 'unchanged' : 'updates']++
      if (!isSame && change.conflicts.length < maxConflictsReported) recordConflict(change, record)
    }
    change.inserts = this.#retained.size - change.updates - change.unchanged
  }

  #ensureChange(table: TableName): ReturnType<typeof createEmptyCounts> {
    let change = this.#changes.get(table)
    if (change === undefined) {
      change = createEmptyCounts(table)
      this.#changes.set(table, change)
    }
    return change
  }
}

/** 48 bits of a digest: the probability of a collision among a million texts is below one percent. */
export function computeDigest(text: string): number {
  return createHash('sha1').update(text).digest().readUIntBE(0, 6)
}
