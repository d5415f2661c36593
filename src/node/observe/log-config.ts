// Log targets of the running node.

import { access, constants, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { GodwitConfig } from '../../config/index.ts'
import type { LogLevel, Logger, LogTargets } from '../../telemetry/index.ts'
import { describeDirectoryError, tryDirectory } from '../data-dir/data-directory.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

/** By default, or with a relative directory, log files are in the data directory. */
export function resolveLogTargets(
  { level: _level, dir, ...rest }: GodwitConfig['log'],
  dataDirectory: string,
): LogTargets {
  const directory =
    dir === undefined ? join(dataDirectory, dataEntries.log) : isAbsolute(dir) ? dir : join(dataDirectory, dir)
  return { ...rest, dir: directory }
}

/** Connections are `info`: shown on a terminal by default, and not written to log files. */
export function resolveLogLevel(
  { level, to }: Pick<GodwitConfig['log'], 'level' | 'to'>,
  isTerminal = process.stderr.isTTY,
): LogLevel {
  return level ?? (isTerminal && to.includes('console') ? 'info' : 'warn')
}

export function toLogProblem({ dir, file }: LogTargets, error: unknown): Problem {
  return {
    problem: `log.dir: cannot write ${file} in ${dir}: ${describeDirectoryError(error)}; choose another directory`,
  }
}

/**
 * Returns why the log file cannot be written, without creating it. `dataDirectory` undefined: it is not configured, so
 * only an absolute `log.dir` can be checked.
 */
export async function findLogFileProblem(
  { log }: GodwitConfig,
  dataDirectory: string | undefined,
): Promise<Problem | undefined> {
  const isKnown = dataDirectory !== undefined || (log.dir !== undefined && isAbsolute(log.dir))
  if (!isKnown || !log.to.includes('file')) return undefined
  const targets = resolveLogTargets(log, dataDirectory ?? '/')
  try {
    await tryDirectory(targets.dir)
    await tryFile(join(targets.dir, targets.file))
    return undefined
  } catch (error) {
    return toLogProblem(targets, error)
  }
}

/** A missing file is created at the start. */
async function tryFile(path: string): Promise<void> {
  try {
    if (!(await stat(path)).isFile()) throw new Error(`${path} is not a file`)
    await access(path, constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Returns the consumer of the section `log`. The log file is opened again only if one of its settings has changed. */
export function createLogConsumer(log: Logger, dataDirectory: string, atStart: GodwitConfig): ConfigConsumer {
  let taken = JSON.stringify(resolveLogTargets(atStart.log, dataDirectory))
  return {
    canApply: (key) => key.startsWith('log.'),
    apply: async (config) => {
      const targets = resolveLogTargets(config.log, dataDirectory)
      const wanted = JSON.stringify(targets)
      try {
        if (wanted !== taken) await log.changeTargets(targets)
      } catch (error) {
        return toLogProblem(targets, error)
      }
      taken = wanted
      log.changeLevel(resolveLogLevel(config.log))
      return undefined
    },
  }
}
