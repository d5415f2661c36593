// One machine's broker, from the outside in: a data directory that is ours alone, a log, ports that are free, and then
// the threads that do the work. Each step either gives what the next one needs or the one sentence that says why not.

import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { AccessSettings } from '../access/index.ts'
import { formatFault, type GodwitConfig, type Warning } from '../config/index.ts'
import { type ShardStart, shardEntry } from '../shard/index.ts'
import { createCounterTable, createLogger, type Logger } from '../telemetry/index.ts'
import { defaultDataDirectory, type Installation, prepareDataDirectory } from './data-directory.ts'
import { settleAccessSecret } from './access-secret.ts'
import { accessSettingsOf } from './access-settings.ts'
import { type DirectoryLock, lockDirectory } from './directory-lock.ts'
import { type ListenerAddress, resolveListeners } from './listener-addresses.ts'
import { memoryBytes, roomForConnections } from './machine-limits.ts'
import { settleNodeName } from './node-name.ts'
import { defaultRestartPolicy, type RestartPolicy, WatchedShard } from './watched-shard.ts'

export interface NodeOptions {
  readonly config: GodwitConfig
  /** What the configuration's reader wants to be known; goes to the log. */
  readonly warnings: readonly Warning[]
  readonly installation: Installation
  /** The thread to run as a shard; tests have their own. */
  readonly shardEntry?: URL
  readonly restarts?: RestartPolicy
  /** How long the shards may take to stop; less than the ten seconds that the node has. */
  readonly shardStopMs?: number
}

export interface RunningNode {
  readonly name: string
  /** Absolute. */
  readonly dataDirectory: string
  readonly listeners: readonly ListenerAddress[]
  readonly log: Logger
  /** Shared counters of all shards, for `readCounters`. */
  readonly counters: SharedArrayBuffer
  /** Resolves with a sentence when the node cannot go on by itself: then `stop` it and end the process with 1. */
  readonly broken: Promise<string>
  /** Clients get DISCONNECT 0x8B, the store is closed, the data directory is free. At most 10 seconds. */
  stop(): Promise<void>
}

export type NodeStart = { readonly node: RunningNode } | { readonly problem: string }

/** Of the ten seconds that a stop may take, so much is for the shards. */
const defaultShardStopMs = 8_000
/** This engine: one shard whatever `node.shards` says. More of them need links between them. */
const shardsThatRun = 1

/** Starts the node. A problem is a sentence for the operator; then nothing is left running. */
export async function startNode(options: NodeOptions): Promise<NodeStart> {
  // Whatever is written from here on is for this account alone.
  process.umask(0o077)
  const directory = await prepareDataDirectory(dataDirectoryOf(options))
  if ('problem' in directory) return directory
  const locked = await lockDirectory(directory.path)
  if ('problem' in locked) return locked
  const started = await startInDirectory(options, directory.path, locked.lock)
  if ('problem' in started) await locked.lock.release()
  else if (directory.isOpenToOthers) warnOpenDirectory(started.node)
  return started
}

function dataDirectoryOf({ config, installation }: NodeOptions): string {
  const account = { userId: process.getuid?.(), homeDirectory: homedir() }
  return config.node.dataDir ?? defaultDataDirectory(installation, account)
}

function warnOpenDirectory(node: RunningNode): void {
  node.log.warn('other accounts may look into the data directory', {
    directory: node.dataDirectory,
    remedy: `chmod 700 ${node.dataDirectory}`,
  })
}

async function startInDirectory(options: NodeOptions, directory: string, lock: DirectoryLock): Promise<NodeStart> {
  const { config } = options
  const logging = await openLog(config, directory)
  if ('problem' in logging) return logging
  const { log } = logging
  for (const warning of options.warnings) log.warn('configuration', { warning: formatFault(warning) })
  const started = await startOnLog(options, { directory, lock, log })
  if ('problem' in started) await log.close()
  return started
}

async function startOnLog(
  options: NodeOptions,
  ground: Pick<Foundation, 'directory' | 'lock' | 'log'>,
): Promise<NodeStart> {
  const { config } = options
  const name = await settleNodeName(ground.directory, config.node.name)
  const admission = accessSettingsOf(config, await settleAccessSecret(ground.directory))
  if ('problem' in admission) return admission
  const resolved = await resolveListeners(config)
  return 'problem' in resolved ? resolved : startShards(options, { ...ground, name, ...admission, ...resolved })
}

type Logging = { readonly log: Logger } | { readonly problem: string }

async function openLog(config: GodwitConfig, dataDirectory: string): Promise<Logging> {
  const { dir } = config.log
  const logDirectory = dir === undefined ? join(dataDirectory, 'log') : isAbsolute(dir) ? dir : join(dataDirectory, dir)
  try {
    return { log: await createLogger({ ...config.log, dir: logDirectory }) }
  } catch (error) {
    const { message } = error as Error
    return {
      problem: `log.dir: cannot write ${config.log.file} in ${logDirectory}: ${message}; choose another directory`,
    }
  }
}

interface Foundation {
  readonly directory: string
  readonly lock: DirectoryLock
  readonly log: Logger
  readonly name: string
  readonly access: AccessSettings
  readonly listeners: readonly ListenerAddress[]
}

async function startShards(options: NodeOptions, foundation: Foundation): Promise<NodeStart> {
  const { config } = options
  const { log, listeners, directory } = foundation
  if ((config.node.shards ?? 1) > shardsThatRun) {
    log.warn('one shard runs: several come with a later version', { 'node.shards': config.node.shards })
  }
  const counters = createCounterTable(shardsThatRun)
  const plans = await planShards(config, foundation, counters)
  const { promise: broken, resolve: giveUp } = Promise.withResolvers<string>()
  const shards = plans.map((start) => watchShard(options, start, log, giveUp))
  const outcomes = await Promise.all(shards.map((shard) => shard.start()))
  const failed = outcomes.find((outcome) => !outcome.ready)
  const stop = async (): Promise<void> => {
    await Promise.all(shards.map((shard) => shard.stop(options.shardStopMs ?? defaultShardStopMs)))
    await foundation.lock.release()
    await log.close()
  }
  if (failed !== undefined && !failed.ready) {
    await stop()
    return { problem: failed.message }
  }
  return { node: { name: foundation.name, dataDirectory: directory, listeners, log, counters, broken, stop } }
}

function watchShard(options: NodeOptions, start: ShardStart, log: Logger, giveUp: (why: string) => void): WatchedShard {
  return new WatchedShard({
    entry: options.shardEntry ?? shardEntry,
    start,
    log,
    restarts: options.restarts ?? defaultRestartPolicy,
    maxHeapMb: Math.max(512, Math.floor((memoryBytes() * 0.75) / shardsThatRun / 1_048_576)),
    onGivenUp: giveUp,
  })
}

async function planShards(
  config: GodwitConfig,
  { directory, access, listeners }: Foundation,
  counters: SharedArrayBuffer,
): Promise<ShardStart[]> {
  const room = Math.min(config.limits.maxConnections ?? Number.POSITIVE_INFINITY, await roomForConnections())
  const maxUnsentBytes = config.maxUnsentBytesTotal ?? memoryBytes() / 8
  return Array.from({ length: shardsThatRun }, (_, shardNumber) => ({
    shardNumber,
    dataDirectory: directory,
    listeners: listeners.map((listener) => ({ ...listener, sharesPort: shardsThatRun > 1 })),
    core: config.core,
    storage: config.storage,
    access,
    maxPropertyBytes: config.maxPropertyBytes,
    maxUnsentBytesTotal: Math.floor(maxUnsentBytes / shardsThatRun),
    maxConnections: Math.floor(room / shardsThatRun),
    counters,
    logLevel: config.log.level,
  }))
}
