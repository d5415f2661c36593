// Values as ClickHouse reads them in SQL.

import type { SqlValue } from '../sql/sql-entry.ts'

/** The bytes of the literal as characters of Latin-1, so that bytes that are no text stay as they are. */
export function clickhouseLiteral(value: SqlValue | undefined): string {
  if (value === undefined || value === null) return 'NULL'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number') return String(value)
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  const text = bytes
    .toString('latin1')
    .replaceAll(/['\\\0]/g, (character) => (character === '\0' ? '\\0' : `\\${character}`))
  return `'${text}'`
}
