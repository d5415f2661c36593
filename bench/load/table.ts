// Prints tables: texts are aligned left, numbers right.

/** `rows` have as many cells as `heads`. */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column].length)))
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  ')
  console.log([line(heads), ...rows.map(line)].join('\n'))
}

/** 1234567.8 with 0 digits is `1,234,568`; undefined is a dash. */
export function number(value: number | undefined, digits = 0): string {
  if (value === undefined || Number.isNaN(value)) return '-'
  return value.toLocaleString('en-GB', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? sorted[middle]
    : sorted.length === 0
      ? undefined
      : (sorted[middle - 1] + sorted[middle]) / 2
}
