import { maskUrlSecrets } from '../secrets/url-secrets.ts'
import type { Position } from './config-values.ts'

/** An error in a configuration with its remedy. Line 0: not in a file. */
export interface ConfigError {
  readonly file: string
  readonly line: number
  readonly column: number
  /** Dotted key of the setting; empty if the error is in no setting. */
  readonly key: string
  readonly message: string
  /** The remedy; may be empty. */
  readonly hint: string
}

/** A setting that is accepted but may not do what is expected. */
export type Warning = ConfigError

const maxKeyLength = 200

export function createConfigError(at: Position, key: string, message: string, hint = ''): ConfigError {
  const shownKey = key.length > maxKeyLength ? `${key.slice(0, maxKeyLength)}...` : key
  return {
    file: at.file,
    line: at.line,
    column: at.column,
    key: shownKey,
    message: maskUrlSecrets(message),
    hint: maskUrlSecrets(hint),
  }
}

/**
 * Formats an error as one line: position, setting, problem, remedy. External text is escaped, so line breaks and
 * control sequences in it have no effect.
 */
export function formatConfigError(error: ConfigError): string {
  const place = error.line === 0 ? error.file : `${error.file}:${error.line}:${error.column}`
  const subject = error.key === '' ? '' : `${error.key}: `
  const hint = error.hint === '' ? '' : `; ${error.hint}`
  return escapeControls(`${place}: ${subject}${error.message}${hint}`)
}

/** Quotes a value for a message: short, on one line. */
export function quoteForMessage(text: string): string {
  const longest = 60
  const safe = maskUrlSecrets(text)
  const shown = safe.length > longest ? `${safe.slice(0, longest)}...` : safe
  return escapeControls(`"${shown}"`)
}

// Control characters, line and paragraph separators, marks that change the writing direction, and lone surrogates.
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

function escapeControls(text: string): string {
  return text.replace(unprintable, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}
