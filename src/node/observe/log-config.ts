// Log targets of the running node.

import { isAbsolute, join } from 'node:path'
import type { GodwitConfig } from '../../config/index.ts'
import type { LogLevel, Logger, LogTargets } from '../../telemetry/index.ts'
import { directoryErrorText } from '../data-dir/data-directory.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'

/** By default, or with a relative directory, log files are in the data directory. */
export function logTargetsOf({ level: _level, dir, ...rest }: GodwitConfig['log'], dataDirectory: string): LogTargets {
  const directory = dir === undefined ? join(dataDirectory, 'log') : isAbsolute(dir) ? dir : join(dataDirectory, dir)
  return { ...rest, dir: directory }
}

/** Connections are `info`: shown on a terminal by default, and not written to log files. */
export function logLevelOf(
  { level, to }: Pick<GodwitConfig['log'], 'level' | 'to'>,
  isTerminal = process.stderr.isTTY,
): LogLevel {
  return level ?? (isTerminal && to.includes('console') ? 'info' : 'warn')
}

export function problemOfLog({ dir, file }: LogTargets, error: unknown): Problem {
  return { problem: `log.dir: cannot write ${file} in ${dir}: ${directoryErrorText(error)}; choose another directory` }
}

/** Of `log`. A file is opened again only if one of its settings has changed. */
export function logConsumer(log: Logger, dataDirectory: string, atStart: GodwitConfig): ConfigConsumer {
  let taken = JSON.stringify(logTargetsOf(atStart.log, dataDirectory))
  return {
    owns: (key) => key.startsWith('log.'),
    apply: async (config) => {
      const targets = logTargetsOf(config.log, dataDirectory)
      const wanted = JSON.stringify(targets)
      try {
        if (wanted !== taken) await log.changeTargets(targets)
      } catch (error) {
        return problemOfLog(targets, error)
      }
      taken = wanted
      log.changeLevel(logLevelOf(config.log))
      return undefined
    },
  }
}
