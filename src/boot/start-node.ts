// Starts a node in steps: the data directory with its lock, the log, the plan of all parts (plan-parts.ts), and the parts (start-parts.ts).
// Each step returns what the next one needs, or an error text.

import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { formatConfigError, type GodwitConfig, maskUrlSecrets } from '../config/index.ts'
import {
  resolveDefaultDataDirectory,
  type DirectoryLock,
  isDiskFull,
  lockDirectory,
  resolveLogLevel,
  resolveLogTargets,
  prepareDataDirectory,
  toLogProblem,
  releaseReserve,
} from '../node/index.ts'
import { createLogger, type Logger } from '../telemetry/index.ts'
import { denyAddresses } from '../transports/index.ts'
import { planParts } from './plan-parts.ts'
import type { NodeOptions, NodeStart, RunningNode } from './running-node.ts'
import { startParts } from './start-parts.ts'

/**
 * Starts the node. A problem is a sentence for administrators; then nothing is left running. On a full disk the start frees the
 * space that earlier starts have reserved, and the node then runs as if the disk had become full later.
 */
export async function startNode(options: NodeOptions): Promise<NodeStart> {
  // Only the system user of the broker can open new files.
  process.umask(0o077)
  denyAddresses(options.config.node.deniedAddresses)
  const started = await tryToStart(options)
  if ('node' in started || started.isDiskFull !== true) return started
  return (await releaseReserve(resolve(resolveDataDirectory(options)))) ? tryToStart(options) : started
}

async function tryToStart(options: NodeOptions): Promise<NodeStart> {
  try {
    return await startOnce(options)
  } catch (error) {
    if (!isDiskFull(error)) throw error
    const { message } = error as Error
    return {
      problem: `data directory ${resolveDataDirectory(options)}: the disk is full (${message})`,
      isDiskFull: true,
    }
  }
}

async function startOnce(options: NodeOptions): Promise<NodeStart> {
  const directory = await prepareDataDirectory(resolveDataDirectory(options))
  if ('problem' in directory) return directory
  const locked = await lockDirectory(directory.path)
  if ('problem' in locked) return locked
  const started = await releaseOnFailure(locked.lock, () => startInDirectory(options, directory.path, locked.lock))
  if ('problem' in started) {
    await locked.lock.release()
    return started
  }
  const { node } = started
  if (directory.isOpenToOthers) warnOpenDirectory(node)
  if (locked.wasLeftBehind)
    node.log.warn('previous run did not stop cleanly', {
      directory: directory.path,
    })
  return started
}

/** A failed start leaves no lock, because the process may try again. */
async function releaseOnFailure<Result>(lock: DirectoryLock, start: () => Promise<Result>): Promise<Result> {
  try {
    return await start()
  } catch (error) {
    await lock.release()
    throw error
  }
}

function resolveDataDirectory({ config, installation }: NodeOptions): string {
  const account = { userId: process.getuid?.(), homeDirectory: homedir() }
  return config.node.dataDir ?? resolveDefaultDataDirectory(installation, account)
}

function warnOpenDirectory(node: RunningNode): void {
  node.log.warn('data directory readable by other accounts', {
    directory: node.dataDirectory,
    remedy: `chmod 700 ${node.dataDirectory}`,
  })
}

async function startInDirectory(options: NodeOptions, directory: string, lock: DirectoryLock): Promise<NodeStart> {
  const { config } = options
  const logging = await openLog(config, directory)
  if ('problem' in logging) return logging
  const { log } = logging
  for (const warning of options.warnings) log.warn('configuration', { warning: formatConfigError(warning) })
  try {
    const planned = await planParts(options, { directory, lock, log })
    const started = 'problem' in planned ? planned : await startParts(options, planned)
    if ('problem' in started) await log.close()
    return started
  } catch (error) {
    await log.close()
    throw error
  }
}

type Logging = { readonly log: Logger } | { readonly problem: string }

async function openLog({ log }: GodwitConfig, dataDirectory: string): Promise<Logging> {
  const targets = resolveLogTargets(log, dataDirectory)
  try {
    return { log: await createLogger({ ...targets, level: resolveLogLevel(log), maskText: maskUrlSecrets }) }
  } catch (error) {
    return toLogProblem(targets, error)
  }
}
