// Encodes values as SQL literals of ClickHouse.

import type { SqlValue } from '../sql/sql-entry.ts'

/** Returns the bytes of the literal as Latin-1 characters, so that binary data is unchanged. */
export function formatClickhouseLiteral(value: SqlValue | undefined): string {
  if (value === undefined || value === null) return 'NULL'
  if (typeof value === 'boolean') return value ? '1' : '0'
  if (typeof value === 'number') return String(value)
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  const text = bytes
    .toString('latin1')
    .replaceAll(/['\\\0]/g, (character) => (character === '\0' ? '\\0' : `\\${character}`))
  return `'${text}'`
}
