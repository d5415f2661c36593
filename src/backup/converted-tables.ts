// Tables of an archive that were made from files of other brokers.

import { InvalidArchive } from './invalid-archive.ts'
import { memberOfTable, readRow, type TableName, type TableRecord, writeRow } from './tables.ts'

/** By name, as in an archive. */
export type ConvertedMembers = ReadonlyMap<
  string,
  { readonly content: Buffer; readonly count: number; readonly table: TableName }
>

/** What an archive may not have is left out and told in `left`. */
export function membersOf(tables: Partial<Record<TableName, TableRecord[]>>, left: string[]): ConvertedMembers {
  const members = new Map<string, { content: Buffer; count: number; table: TableName }>()
  for (const [name, records] of Object.entries(tables)) {
    const table = name as TableName
    const lines = records.map((record) => writeRow(table, record)).filter((line) => isReadable(table, line))
    if (lines.length < records.length) left.push(`${table}: ${records.length - lines.length} records cannot be here`)
    if (lines.length === 0) continue
    members.set(memberOfTable(table), { content: Buffer.from(lines.join('')), count: lines.length, table })
  }
  return members
}

function isReadable(table: TableName, line: string): boolean {
  try {
    readRow(table, line)
    return true
  } catch (error) {
    if (!(error instanceof InvalidArchive)) throw error
    return false
  }
}
