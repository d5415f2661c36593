// Values of payloads: the numbers in a payload, and the differences between two payloads.

/** Numbers of one payload that are offered for a plot. */
const maxPaths = 50
const maxDepth = 5
/** Longer payloads are compared as a whole: the comparison takes time with the square of it. */
const maxLines = 400

/** Numbers by their paths: `temperature`, `rooms.0.humidity`; '' is the payload itself. */
export function parseNumbers(text: string): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  const plain = Number(text)
  if (text.trim() !== '' && Number.isFinite(plain)) numbers.set('', plain)
  else collect(parseJson(text), '', numbers, 0)
  return numbers
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function collect(value: unknown, path: string, numbers: Map<string, number>, depth: number): void {
  if (numbers.size >= maxPaths) return
  if (typeof value === 'number') numbers.set(path, value)
  if (typeof value !== 'object' || value === null || depth === maxDepth) return
  for (const [key, inner] of Object.entries(value))
    collect(inner, path === '' ? key : `${path}.${key}`, numbers, depth + 1)
}

export interface ChangedLine {
  readonly change: 'same' | 'added' | 'removed'
  readonly text: string
}

/** The lines of both texts in one list: what was removed stands before what was added in its place. */
export function compareLines(before: string, after: string): readonly ChangedLine[] {
  const old = before.split('\n')
  const now = after.split('\n')
  if (Math.max(old.length, now.length) > maxLines)
    return [...old.map((text) => ({ change: 'removed', text }) as const), ...now.map(toAddedLine)]
  const common = computeCommonLengths(old, now)
  const lines: ChangedLine[] = []
  let from = 0
  let to = 0
  while (from < old.length || to < now.length) {
    if (from < old.length && to < now.length && old[from] === now[to]) {
      lines.push({ change: 'same', text: now[to] ?? '' })
      from += 1
      to += 1
    } else if (
      from < old.length &&
      (to === now.length || readCell(common, from + 1, to) >= readCell(common, from, to + 1))
    ) {
      lines.push({ change: 'removed', text: old[from] ?? '' })
      from += 1
    } else {
      lines.push(toAddedLine(now[to] ?? ''))
      to += 1
    }
  }
  return lines
}

const toAddedLine = (text: string): ChangedLine => ({ change: 'added', text })

const readCell = (table: readonly Uint16Array[], row: number, column: number): number => table[row]?.[column] ?? 0

/** For each pair of places the length of the longest common subsequence from there on. */
function computeCommonLengths(old: readonly string[], now: readonly string[]): readonly Uint16Array[] {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1))
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const length =
        old[row] === now[column]
          ? readCell(table, row + 1, column + 1) + 1
          : Math.max(readCell(table, row + 1, column), readCell(table, row, column + 1))
      table[row]?.fill(length, column, column + 1)
    }
  }
  return table
}
