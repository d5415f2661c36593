// Creates tables of an archive from files of other brokers.

import { InvalidArchive } from './invalid-archive.ts'
import { memberOfTable, readRow, type TableName, type TableRecord, writeRow } from './tables.ts'

/** Members of an archive, by name. */
export type ConvertedMembers = ReadonlyMap<
  string,
  { readonly content: Buffer; readonly count: number; readonly table: TableName }
>

/** Returns the tables as members of an archive. Records that are not valid in an archive are omitted, and counted in `skipped`. */
export function membersOf(tables: Partial<Record<TableName, TableRecord[]>>, skipped: string[]): ConvertedMembers {
  const members = new Map<string, { content: Buffer; count: number; table: TableName }>()
  for (const [name, records] of Object.entries(tables)) {
    const table = name as TableName
    const lines = records.map((record) => writeRow(table, record)).filter((line) => isReadable(table, line))
    if (lines.length < records.length)
      skipped.push(`${table}: ${records.length - lines.length} records are not valid in an archive`)
    if (lines.length === 0) continue
    members.set(memberOfTable(table), { content: Buffer.from(lines.join('')), count: lines.length, table })
  }
  return members
}

/** A line that cannot be read back would make the whole archive invalid. */
function isReadable(table: TableName, line: string): boolean {
  try {
    readRow(table, line)
    return true
  } catch (error) {
    if (!(error instanceof InvalidArchive)) throw error
    return false
  }
}
