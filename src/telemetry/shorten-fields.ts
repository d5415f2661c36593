// Cuts long values of a log line: a client ID may have 65,535 bytes, and a line for people must not.

import type { LogFields } from './log.ts'

/** Characters that stay of a long value. */
const keptCharacters = 1_024
/** A cut value with its note, such as `… (65535 characters)`, is shorter: it is not cut again. */
const maxValueCharacters = keptCharacters + 32

/** Returns `fields` itself if no value is too long, which is nearly always so. */
export function shortenFields(fields: LogFields): LogFields {
  for (const name in fields) {
    if (isTooLong(fields[name]))
      return Object.fromEntries(
        Object.entries(fields).map(([key, value]) => [key, isTooLong(value) ? shortenText(value) : value]),
      )
  }
  return fields
}

function isTooLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > maxValueCharacters
}

function shortenText(value: string): string {
  return `${value.slice(0, keptCharacters)}… (${value.length} characters)`
}
