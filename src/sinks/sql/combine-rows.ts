// Combines consecutive INSERT statements that differ only in their values into one statement with several rows: one round trip
// instead of one per row.

import type { SqlStatement, SqlValue } from './sql-entry.ts'

/** The protocols of PostgreSQL and MySQL have 16 bits for the number of bound values. */
const maxValues = 65_535
const maxRows = 1_024

/** An INSERT with one row: `INSERT INTO t (a, b) VALUES` + `(` + values + `)` + `ON CONFLICT DO NOTHING`. */
interface SingleRowInsert {
  /** Text before the row. */
  readonly head: string
  /** The texts around the values of the row, with its parentheses: one more than values. */
  readonly row: readonly string[]
  /** Text after the row. */
  readonly tail: string
}

/** The last combined texts are cached, because the batches of an action have the same texts. */
export class RowCombiner {
  #texts: readonly string[] = []
  #insert: SingleRowInsert | undefined
  /** By their number of rows. */
  readonly #combined = new Map<number, readonly string[]>()
  readonly #batchSize: number

  /** `batchSize`: maximum number of statements that are combined. */
  constructor(batchSize: number) {
    this.#batchSize = batchSize
  }

  /**
   * Returns statements with the same effect, in the same order. A full batch becomes one statement, if it fits: one round trip
   * without a transaction. In others the number of rows of a statement is a power of two, so that databases see few different
   * texts: each is prepared once.
   */
  combine(statements: readonly SqlStatement[]): readonly SqlStatement[] {
    const combined: SqlStatement[] = []
    let from = 0
    while (from < statements.length) {
      let end = from + 1
      while (end < statements.length && hasSameTexts(statements[from], statements[end])) end++
      const isAll = from === 0 && end === statements.length
      combined.push(...this.#combineEqual(isAll ? statements : statements.slice(from, end)))
      from = end
    }
    return combined
  }

  /** The statements have the same texts. */
  #combineEqual(statements: readonly SqlStatement[]): readonly SqlStatement[] {
    const [{ texts, values }] = statements
    if (statements.length === 1) return statements
    if (texts !== this.#texts) {
      this.#texts = texts
      this.#insert = readInsert(texts)
      this.#combined.clear()
    }
    const insert = this.#insert
    if (insert === undefined) return statements
    const limit = Math.min(maxRows, Math.floor(maxValues / Math.max(1, values.length)))
    const combined: SqlStatement[] = []
    let from = 0
    while (from < statements.length) {
      const left = statements.length - from
      const isFullBatch = left === this.#batchSize && left <= limit
      const rows = isFullBatch ? left : 2 ** Math.floor(Math.log2(Math.min(limit, left)))
      let textsOfRows = this.#combined.get(rows)
      if (textsOfRows === undefined) this.#combined.set(rows, (textsOfRows = buildTexts(insert, rows)))
      combined.push({ texts: textsOfRows, values: collectValues(statements, from, from + rows) })
      from += rows
    }
    return combined
  }
}

function collectValues(statements: readonly SqlStatement[], from: number, end: number): readonly SqlValue[] {
  const all: SqlValue[] = []
  for (let at = from; at < end; at++) for (const value of statements[at].values) all.push(value)
  return all
}

function hasSameTexts({ texts: one }: SqlStatement, { texts: other }: SqlStatement): boolean {
  return one === other || (one.length === other.length && one.every((text, at) => text === other[at]))
}

function buildTexts({ head, row, tail }: SingleRowInsert, rows: number): readonly string[] {
  const texts = [head]
  for (let at = 0; at < rows; at++) {
    texts[texts.length - 1] += `${at === 0 ? '' : ', '}${row[0]}`
    texts.push(...row.slice(1))
  }
  texts[texts.length - 1] += tail
  return texts
}

/**
 * Comments, several statements and escapes are not read. Subqueries are not combined: each of the rows would see the table
 * without the rows before it.
 */
const notCombined = /--|\/\*|[;\\$]|\b(?:select|table)\b/i
const headPattern = /^\s*INSERT\b.*?\bVALUES\s*(?=\()/is

/** Undefined: the statement is not an INSERT of one row whose values are all in the row. */
export function readInsert(texts: readonly string[]): SingleRowInsert | undefined {
  const [first = ''] = texts
  if (texts.some((text) => notCombined.test(text))) return undefined
  const head = headPattern.exec(first)?.[0]
  if (head === undefined) return undefined
  const inner = [first.slice(head.length), ...texts.slice(1)]
  let depth = 0
  for (const [at, text] of inner.entries()) {
    const end = findRowEnd(text, depth)
    if (end === undefined) return undefined
    depth = end.depth
    if (depth > 0) continue
    const tail = text.slice(end.at)
    // Values after the row would have to be the same in all rows. A comma begins another row.
    if (at < inner.length - 1 || tail.trimStart().startsWith(',')) return undefined
    return { head, row: [...inner.slice(0, at), text.slice(0, end.at)], tail }
  }
  return undefined
}

/**
 * Follows the parentheses of `text`. Returns where the row ends, with depth 0, or the depth at the end of the text; undefined
 * if a quoted text does not end within it.
 */
function findRowEnd(text: string, depth: number): { readonly at: number; readonly depth: number } | undefined {
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === "'" || character === '"' || character === '`') quote = character
    else if (character === '(') depth++
    else if (character === ')' && --depth === 0) return { at: at + 1, depth }
  }
  return quote === '' ? { at: text.length, depth } : undefined
}
