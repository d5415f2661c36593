// Source texts in error messages: positions in SQL and schemas, and quoted parts of them.

/** A position in a source text. Lines and columns start at 1; a column is one character. */
export interface SourcePosition {
  readonly line: number
  readonly column: number
}

/** Returns line and column of the character at offset `at`. */
export function findPosition(source: string, at: number): SourcePosition {
  let line = 1
  let lineStart = 0
  for (let end = source.indexOf('\n'); end !== -1 && end < at; end = source.indexOf('\n', end + 1)) {
    line++
    lineStart = end + 1
  }
  return { line, column: Array.from(source.slice(lineStart, at)).length + 1 }
}

/** Returns `text` for a message: in quotes, at most 40 characters, control characters replaced. */
export function quoteText(text: string): string {
  const characters = Array.from(text.slice(0, 100))
  const shown = characters.length > 40 ? `${characters.slice(0, 40).join('')}…` : characters.join('')
  // oxlint-disable-next-line no-control-regex -- control characters are what must not reach a terminal
  return `'${shown.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')}'`
}
