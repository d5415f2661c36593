import type { Position } from './hocon/values.ts'

/** One thing that is wrong with a configuration, and what to do about it. Line 0: not in a file. */
export interface ConfigError {
  readonly file: string
  readonly line: number
  readonly column: number
  /** Dotted key of the setting; empty where the fault is in no setting. */
  readonly key: string
  readonly message: string
  /** What to do; may be empty. */
  readonly hint: string
}

/** Something that is accepted but will not do what its writer may expect. */
export type Warning = ConfigError

const maxKeyLength = 200

export function configErrorAt(at: Position, key: string, message: string, hint = ''): ConfigError {
  const shownKey = key.length > maxKeyLength ? `${key.slice(0, maxKeyLength)}...` : key
  return { file: at.file, line: at.line, column: at.column, key: shownKey, message, hint }
}

/**
 * The fault on one line: place, setting, what is wrong, what to do. Whatever came from outside is escaped, so a key
 * with a line break or a terminal's control sequence in it stays on the line.
 */
export function formatConfigError(fault: ConfigError): string {
  const place = fault.line === 0 ? fault.file : `${fault.file}:${fault.line}:${fault.column}`
  const subject = fault.key === '' ? '' : `${fault.key}: `
  const hint = fault.hint === '' ? '' : `; ${fault.hint}`
  return escapeControls(`${place}: ${subject}${fault.message}${hint}`)
}

/** A value for a message: quoted, short, on one line. */
export function quoteForMessage(text: string): string {
  const longest = 60
  const shown = text.length > longest ? `${text.slice(0, longest)}...` : text
  return escapeControls(`"${shown}"`)
}

// Control characters of both sets, line and paragraph separators, marks that turn the direction of writing, and halves
// of surrogate pairs.
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

function escapeControls(text: string): string {
  return text.replace(unprintable, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}
