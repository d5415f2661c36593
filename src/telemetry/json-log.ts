// The one place that knows pino: log lines as JSON.

import { pino, stdTimeFunctions } from 'pino'
import type { Log, LogFields, LogLevel } from './log.ts'
import { shortFields } from './short-fields.ts'

export interface LineLog extends Log {
  /** A line of any level: for lines that come from elsewhere. */
  write(level: LogLevel, event: string, fields: LogFields | undefined): void
  /** Less grave lines are not written from now on. */
  changeLevel(level: LogLevel): void
}

/**
 * A log whose lines go to `writeLine`, one JSON object with a line end each: `time` (ISO 8601), `level`, `event`, and
 * the fields. Whatever a value holds, it is one line.
 */
export function createJsonLog(level: LogLevel, writeLine: (line: string) => void): LineLog {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => writeLine(escapeInvisible(line)) },
  )
  const write = (lineLevel: LogLevel, event: string, fields: LogFields | undefined): void => {
    logger[lineLevel](fields === undefined ? { event } : { event, ...shortFields(fields) })
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
 * JSON leaves some characters as they are that steer a terminal or turn the reading direction: DEL and the C1 controls,
 * the Unicode line ends, the bidirectional marks. A shell that runs a log file as a script substitutes commands inside
 * double quotes after a backtick or `$(`, `${`, `$[`. All of them can stand only inside strings, where their escape means
 * the same.
 */
const invisibleCharacters = /[`\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]|\$(?=[({[])/g

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** The characters that let a shell substitute a command, as in `escapeUnseen`. */
export function escapeShell(text: string): string {
  return text.replace(/`|\$(?=[({[])/g, escapeOf)
}

/** Escapes invisible characters in a text that is JSON already. */
export function escapeInvisible(line: string): string {
  return line.replace(invisibleCharacters, escapeOf)
}
