// A log line as a person at a terminal reads it:
//
//   08:15:03.127 WARN  a client was refused  clientId="sensor 7" address=10.0.0.7

import { escapeShell } from './json-log.ts'

/** `jsonLine` as the log writes it. What does not look like one is given back as it is. */
export function terminalLine(jsonLine: string): string {
  const entry = parseEntry(jsonLine)
  if (entry === undefined) return jsonLine
  const { time, level, event, ...fields } = entry
  const clock = String(time).slice(11, 23)
  const words = Object.entries(fields).map(([name, value]) => `${name}=${readable(value)}`)
  return escapeShell(
    `${clock} ${String(level).toUpperCase().padEnd(5)} ${[readableText(String(event)), ...words].join('  ')}\n`,
  )
}

function parseEntry(jsonLine: string): Record<string, unknown> | undefined {
  const entry: unknown = JSON.parse(jsonLine)
  return typeof entry === 'object' && entry !== null ? { ...entry } : undefined
}

function readable(value: unknown): string {
  if (typeof value !== 'string') return String(value)
  const text = readableText(value)
  return /^[\w.:/@%+-]+$/.test(text) ? text : JSON.stringify(text)
}

/** Nothing that a client sent may move the cursor, colour the screen or begin a new line. */
const controlCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

function readableText(text: string): string {
  return text.replace(controlCharacters, '\u{fffd}')
}
