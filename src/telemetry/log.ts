// The interface of the log. `logger.ts` decides to which files and terminals the lines are written.

/** The levels, from the least to the most severe. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof logLevels)[number]

/** Fields of an event, by name. They may contain values that clients chose: every writer escapes them. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** Writes log lines. `event` is a constant text, so that it can be searched for; values that differ are in `fields`. */
export interface Log {
  debug(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

/** Returns whether a line of `level` is written if `threshold` is configured. */
export function isLogged(level: LogLevel, threshold: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(threshold)
}
