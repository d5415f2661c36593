// The error for SQL that cannot be compiled: place, line with a caret, and a hint.

import { findPosition } from '../../values/index.ts'

/**
 * SQL that is not a rule. `message` has up to four lines: place and summary, the line of SQL, a caret below the
 * character, and a hint.
 */
export class RuleCompileError extends Error {
  override readonly name = 'RuleCompileError'
  readonly line: number
  readonly column: number
  /** The error in one line, without its position. */
  readonly summary: string
  /** Hint about the remedy. Empty if there is nothing to suggest. */
  readonly hint: string

  constructor(sql: string, at: number, summary: string, hint = '') {
    const { line, column } = findPosition(sql, at)
    super(
      `line ${line}, column ${column}: ${summary}\n${formatExcerpt(sql, at)}${hint === '' ? '' : `\nhint: ${hint}`}`,
    )
    this.line = line
    this.column = column
    this.summary = summary
    this.hint = hint
  }
}

/** Characters shown on each side of the error. */
const shownBefore = 60
const shownAfter = 40

/** Returns the part of the line around `at`, and a line with a caret below the character. */
function formatExcerpt(sql: string, at: number): string {
  const lineStart = sql.lastIndexOf('\n', at - 1) + 1
  const nextBreak = sql.indexOf('\n', at)
  const before = Array.from(sql.slice(lineStart, at))
  const after = Array.from(sql.slice(at, nextBreak === -1 ? undefined : nextBreak))
  const left = before.length > shownBefore ? ['…', ...before.slice(-shownBefore)] : before
  const right = after.length > shownAfter ? [...after.slice(0, shownAfter), '…'] : after
  const shown = [...left, ...right].map((character) => (character < ' ' || character === '\u007f' ? ' ' : character))
  return `${shown.join('').trimEnd()}\n${' '.repeat(left.length)}^`
}
