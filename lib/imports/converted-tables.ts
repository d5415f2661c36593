// Creates tables of an archive from files of other brokers.

import { InvalidArchive, quoteText } from '../../src/archives/index.ts'
import {
  toTableMember,
  formatRecordName,
  readRow,
  type TableName,
  type TableRecord,
  writeRow,
} from '../../src/backup/index.ts'

/** Members of an archive, by name. */
export type ConvertedMembers = ReadonlyMap<
  string,
  { readonly content: Buffer; readonly count: number; readonly table: TableName }
>

/**
 * Returns the tables as members of an archive. Records that are not valid in an archive are omitted, and named in `skipped`. Throws
 * InvalidArchive if such a record restricts clients: without it, they would be allowed more.
 */
export function toMembers(tables: Partial<Record<TableName, TableRecord[]>>, skipped: string[]): ConvertedMembers {
  const members = new Map<string, { content: Buffer; count: number; table: TableName }>()
  for (const [name, records] of Object.entries(tables)) {
    const table = name as TableName
    const lines: string[] = []
    for (const record of records) {
      const line = writeRow(table, record)
      const problem = findProblem(table, line)
      if (problem === undefined) lines.push(line)
      else if (isRestriction(record))
        throw new InvalidArchive(`${table}: ${quoteText(formatRecordName(record))} ${problem}`)
      else skipped.push(`${table}: ${quoteText(formatRecordName(record))} ${problem}`)
    }
    if (lines.length === 0) continue
    members.set(toTableMember(table), { content: Buffer.from(lines.join('')), count: lines.length, table })
  }
  return members
}

const isRestriction = (record: TableRecord): boolean =>
  record.kind === 'ban' || (record.kind === 'rule' && record.permit === 'deny')

/** A line that cannot be read back would make the whole archive invalid. */
function findProblem(table: TableName, line: string): string | undefined {
  try {
    readRow(table, line)
    return undefined
  } catch (error) {
    if (!(error instanceof InvalidArchive)) throw error
    return error.message
  }
}
