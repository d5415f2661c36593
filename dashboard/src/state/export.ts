// Files that the page makes for its reader.

/** Value of a table cell. */
export type CellValue = string | number | boolean | null | undefined

/** [RFC4180] A cell that a spreadsheet would take as a formula begins with an apostrophe. */
export function writeCsv(rows: readonly (readonly CellValue[])[]): string {
  return rows.map((row) => `${row.map(formatCsvCell).join(',')}\r\n`).join('')
}

function formatCsvCell(value: CellValue): string {
  const text = String(value ?? '')
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function saveFile(name: string, type: string, content: string | Blob): void {
  const url = URL.createObjectURL(typeof content === 'string' ? new Blob([content], { type }) : content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
