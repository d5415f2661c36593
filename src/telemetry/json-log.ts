// Writes log lines as JSON, with pino. No other file imports pino.

import { pino, stdTimeFunctions } from 'pino'
import type { Log, LogFields, LogLevel } from './log.ts'
import { shortenFields } from './shorten-fields.ts'

export interface LineLog extends Log {
  /** Writes a line. The main thread calls it for the lines of shards, which have their own level. */
  write(level: LogLevel, event: string, fields: LogFields | undefined): void
  /** Sets the lowest level that is written. */
  changeLevel(level: LogLevel): void
}

/**
 * Returns a log that calls `writeLine` with one JSON object and a line end for each event: `time` (ISO 8601), `level`, `event` and the
 * fields. An event is always one line: line breaks in values are escaped.
 */
export function createJsonLog(level: LogLevel, writeLine: (line: string) => void): LineLog {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => writeLine(escapeUnsafe(line)) },
  )
  const write = (lineLevel: LogLevel, event: string, fields: LogFields | undefined): void => {
    logger[lineLevel](fields === undefined ? { event } : { event, ...shortenFields(fields) })
  }
  return {
    write,
    changeLevel: (changed) => void (logger.level = changed),
    debug: (event, fields) => write('debug', event, fields),
    info: (event, fields) => write('info', event, fields),
    warn: (event, fields) => write('warn', event, fields),
    error: (event, fields) => write('error', event, fields),
  }
}

/**
 * Characters that JSON does not escape although they control a terminal or change the reading direction: DEL, the C1 controls, the
 * Unicode line ends and the bidirectional marks. The pattern also has the characters that start a command in double quotes, if a shell runs a log file as a
 * script: a backtick, `$(`, `${` and `$[`. In JSON all of them occur only in strings, where the escape has the same meaning.
 */
const unsafeCharacters = /[`\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]|\$(?=[({[])/g

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Escapes the characters that start a command in a shell, as `escapeUnsafe` does. */
export function escapeShell(text: string): string {
  return text.replace(/`|\$(?=[({[])/g, escapeCharacter)
}

/** Escapes unsafe characters in a text that is JSON. */
export function escapeUnsafe(line: string): string {
  return line.replace(unsafeCharacters, escapeCharacter)
}
