// Formats a log line for a terminal:
//
//   08:15:03.127 WARN  a client was refused  clientId="sensor 7" address=10.0.0.7

import { escapeShell } from './json-log.ts'

/** Formats a JSON line of the log. Other text is returned unchanged. */
export function formatTerminalLine(jsonLine: string): string {
  const entry = parseEntry(jsonLine)
  if (entry === undefined) return jsonLine
  const { time, level, event, ...fields } = entry
  const clock = String(time).slice(11, 23)
  const words = Object.entries(fields).map(([name, value]) => `${name}=${formatFieldValue(value)}`)
  return escapeShell(
    `${clock} ${String(level).toUpperCase().padEnd(5)} ${[replaceControlCharacters(String(event)), ...words].join('  ')}\n`,
  )
}

function parseEntry(jsonLine: string): Record<string, unknown> | undefined {
  const entry: unknown = JSON.parse(jsonLine)
  return typeof entry === 'object' && entry !== null ? { ...entry } : undefined
}

function formatFieldValue(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  const text = replaceControlCharacters(value)
  return /^[\w.:/@%+-]+$/.test(text) ? text : JSON.stringify(text)
}

/** Escapes control characters: text from a client must not move the cursor, color the screen or begin a new line. */
const controlCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

function replaceControlCharacters(text: string): string {
  return text.replace(controlCharacters, '\u{fffd}')
}
