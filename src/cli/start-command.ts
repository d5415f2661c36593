// `godwit start`: runs the broker in the foreground until it is stopped.

import { type ConfigError, formatConfigError, type GodwitConfig } from '../config/index.ts'
import {
  type ConfigurationReading,
  type Installation,
  type ListenerAddress,
  readConfiguration,
  resolveShardCount,
} from '../node/index.ts'
import type { NodeStart, RunningNode } from '../boot/index.ts'
import { startIdleGc, computeTraffic } from '../shard/index.ts'
import { readCounters } from '../telemetry/index.ts'
import { join } from 'node:path'
import { formatBanner, formatPasswordLine } from './banner.ts'
import type { TrialAccess } from './trial-command.ts'
import { type ServiceManager, createServiceManager } from './service-manager.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'

export interface StartOptions {
  readonly config: string | undefined
  readonly data: string | undefined
  /** `KEY=VALUE` each. */
  readonly set: readonly string[]
}

export interface Program {
  readonly version: string
  readonly installation: Installation
  /** Environment variables: GODWIT_CONFIG and GODWIT_DATA replace --config and --data. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

type Loaded = Exclude<ConfigurationReading, { readonly problem: string } | { readonly errors: readonly ConfigError[] }>

type Configured = Loaded | { readonly problems: readonly string[]; readonly exitCode: number }

interface StartContext {
  readonly options: StartOptions
  readonly program: Program
  readonly terminal: Terminal
  readonly signals: Signals
  readonly service: ServiceManager
}

/** Runs the node until a signal, a request or a failure. Resolves with the exit code when the node has stopped. */
export async function runStartCommand(options: StartOptions, program: Program, terminal: Terminal): Promise<number> {
  const configured = configure(options, program)
  if ('problems' in configured) {
    terminal.fail(...configured.problems)
    return configured.exitCode
  }
  setThreadPoolSize(configured.config)
  const signals = new Signals()
  exitOnInternalErrors(signals, terminal)
  const service = createServiceManager(program.environment ?? {}, (problem) => terminal.fail(problem))
  // The main thread handles no messages, but its garbage collection uses all processors and slows down the shards.
  startIdleGc({
    readTraffic: () => (signals.node === undefined ? 0 : sumTraffic(signals.node)),
    readClientBytes: () => 0,
    forget: () => {},
  })
  const context = { options, program, terminal, signals, service }
  let result: NodeResult = await runNode(configured, context)
  let previous = configured
  while (result.end === 'restart') {
    const changed = configure(options, program)
    const next = 'problems' in changed ? previous : changed
    terminal.show('restarting\n')
    const shortage = describeThreadShortage(next.config)
    if (shortage !== undefined) terminal.fail(shortage)
    result = await runNode(next, context)
    if (result.end === 'problem' && next !== previous) {
      // A broker with the previous configuration is better than none.
      terminal.fail(`${result.problem}; the previous configuration stays in use`)
      result = await runNode(previous, context)
    } else previous = next
  }
  return result.end === 'stopped' ? exitCodes.done : terminal.fail(result.problem)
}

/** Returns the traffic of all shards since this start of the node. */
function sumTraffic({ counters }: RunningNode): number {
  const sums = readCounters(counters)
  return computeTraffic((name) => sums[name])
}

/** Result of one run of the node. */
type NodeResult =
  | { readonly end: 'stopped' }
  | { readonly end: 'restart' }
  | { readonly end: 'problem'; readonly problem: string }

/** Time between two attempts to start on a full disk. */
const diskPauseMs = 2_000

/** Starts the node, when there is space for its files, and runs it until it stops. Resolves when the node has stopped. */
async function runNode(configured: Loaded, context: StartContext): Promise<NodeResult> {
  const { options, program, terminal, signals, service } = context
  const findRestartProblem = (): string | undefined => {
    const read = configure(options, program)
    return 'problems' in read ? read.problems.join('; ') : undefined
  }
  // Read only when the configuration is valid.
  const { startNode } = await import('../boot/index.ts')
  const start = (): Promise<NodeStart> =>
    startNode({ ...configured, sources: configured, ...program, findRestartProblem })
  let started = await start()
  if ('problem' in started && started.isDiskFull === true)
    terminal.fail(`${started.problem}; the broker starts when there is space`)
  while ('problem' in started && started.isDiskFull === true) {
    service.notifyWaiting('waiting for space on the disk')
    if (await signals.waitForStop(diskPauseMs)) return { end: 'stopped' }
    started = await start()
  }
  if ('problem' in started) return { end: 'problem', problem: started.problem }
  const { node } = started
  // Signals, requests and the service manager come first: nothing that is only shown may keep them from working.
  signals.node = node
  signals.onReload = () => void reload(node)
  const ended = runUntilStopped(node, context)
  service.notifyServing()
  showStart(node, configured, context)
  const result = await ended
  signals.onReload = () => {}
  return result
}

/** Shows and logs the start. An error in a text is logged and changes nothing. */
function showStart(node: RunningNode, { config, file }: Loaded, { program, terminal }: StartContext): void {
  const { management, log, name, dataDirectory, listeners } = node
  const onProblem = (part: string, error: unknown): void => {
    log.error('start text not shown', { part, error: error instanceof Error ? error.stack : String(error) })
  }
  const isShipped = file !== undefined && file === join(program.installation.root, 'etc', 'godwit.conf')
  const configFile = isShipped && !program.installation.isCheckout ? `${file} (defaults of the package)` : file
  const { version } = program
  const profile = config.node.securityProfile
  const toTrialAccess = ({ isLoopback }: ListenerAddress): TrialAccess => ({
    allowsAnonymous: config.auth.allowAnonymous ?? (profile === 'legacy' || isLoopback),
    deniesByDefault: config.auth.acl.noMatch === 'deny',
  })
  const facts = { version, profile, configFile, name, dataDirectory, listeners, management, toTrialAccess }
  const problem = terminal.show(formatBanner(facts, onProblem))
  if (problem !== undefined) onProblem('banner', problem)
  showFirstPassword(node, terminal)
  log.info('node started', {
    version,
    node: name,
    profile,
    configuration: file ?? 'built-in defaults',
    listeners: listeners.map(({ kind, host, port }) => `${kind} ${host}:${port}`).join(', '),
  })
}

/** It is shown once, so it depends on no other text. If stdout and stderr are closed, the log names the remedy. */
function showFirstPassword({ management: { newPassword }, log }: RunningNode, terminal: Terminal): void {
  if (newPassword === undefined) return
  const { username } = newPassword
  const onLost = (): void => log.warn('first password not shown', { username, remedy: 'godwit ctl admins reset' })
  try {
    terminal.printImportant(formatPasswordLine(newPassword), onLost)
  } catch {
    // Logged, with the remedy; the node serves.
    onLost()
  }
}

/** Threads of the pool for everything except synced writes: a synced write of LevelDB blocks one thread of the pool for each shard. */
const otherPoolThreads = 8

/**
 * Sets the number of threads of the pool of libuv, which reads the environment variable at its first use. Modules and configuration
 * are read without the pool, so it has not been used yet.
 */
function setThreadPoolSize(config: GodwitConfig): void {
  const needed = countNeededThreads(config)
  if (!(readPoolThreads() >= needed)) process.env['UV_THREADPOOL_SIZE'] = String(needed)
}

const countNeededThreads = (config: GodwitConfig): number => resolveShardCount(config) + otherPoolThreads
const readPoolThreads = (): number => Number(process.env['UV_THREADPOOL_SIZE'] ?? 0)

/**
 * Returns a warning if the pool has too few threads for the shards after a restart of the node. The pool cannot grow, so the shards
 * wait for each other's writes.
 */
function describeThreadShortage(config: GodwitConfig): string | undefined {
  const needed = countNeededThreads(config)
  if (readPoolThreads() >= needed) return undefined
  return `node.shards: ${resolveShardCount(config)} shards share ${readPoolThreads()} threads for file access, and need ${needed}: stop the process and start it again`
}

async function runUntilStopped(node: RunningNode, { signals, terminal, service }: StartContext): Promise<NodeResult> {
  const broken = node.broken.then((problem): NodeResult => ({ end: 'problem', problem }))
  const stopped = signals.stopped.then((): NodeResult => ({ end: 'stopped' }))
  const shutdownRequested = node.shutdownRequested.then((request): NodeResult => ({
    end: request === 'stop' ? 'stopped' : request,
  }))
  const result = await Promise.race([stopped, broken, shutdownRequested])
  if (result.end === 'stopped') service.notifyStopping()
  if (result.end !== 'problem') terminal.show('stopping: disconnecting clients and closing the store\n')
  node.log.info('node stopping', { why: result.end === 'problem' ? result.problem : result.end })
  await node.stop()
  return result
}

function configure(options: StartOptions, { installation }: Program): Configured {
  const request = { file: options.config, dataDirectory: options.data, overrides: options.set }
  const read = readConfiguration({ ...request, environment: process.env, installation })
  if ('problem' in read) return { problems: [read.problem], exitCode: exitCodes.failed }
  if ('errors' in read) return { problems: read.errors.map(formatConfigError), exitCode: toExitCode(read.errors) }
  return read
}

/** Errors in a file are a failure. If all errors are on the command line, it is a usage error. */
function toExitCode(errors: readonly ConfigError[]): number {
  return errors.every((error) => error.file === '--set') ? exitCodes.wrongUsage : exitCodes.failed
}

/** Handles SIGHUP: applies the configuration files. If the files have an error, nothing changes. */
async function reload(node: RunningNode): Promise<void> {
  node.reloadFiles()
  const outcome = await node.reloadConfiguration()
  if (outcome.isDone) return
  for (const problem of outcome.message.split('\n')) {
    node.log.error('configuration not loaded', { problem })
  }
}

/**
 * Ctrl-C under `npm start` sends two signals to this process, from the terminal and from npm. Signals within this time are one request
 * to stop; a later signal ends the process at once.
 */
const repeatedSignalMs = 1_000

/** Handles the signals of this process from its start, so that a signal during the start of the node is not lost. */
class Signals {
  /** Resolves at the first SIGTERM or SIGINT. */
  readonly stopped: Promise<undefined>
  onReload: () => void
  /** The node that runs, or that ran last; undefined: none has started yet. */
  node: RunningNode | undefined

  constructor() {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.stopped = promise
    this.onReload = () => {}
    this.node = undefined
    let stopRequestedAtMs: number | undefined
    const stop = (): void => {
      const nowMs = performance.now()
      stopRequestedAtMs ??= nowMs
      resolve(undefined)
      if (nowMs - stopRequestedAtMs > repeatedSignalMs) process.exit(exitCodes.failed)
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
    process.on('SIGHUP', () => this.onReload())
  }

  /** Resolves at a request to stop, or after the time. */
  async waitForStop(timeMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const passed = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), timeMs)))
    const isStopped = await Promise.race([passed, this.stopped.then(() => true)])
    clearTimeout(timer)
    return isStopped
  }
}

/** Maximum time for the log to be written when an internal error ends the process. */
const logCloseMs = 2_000

/**
 * Internal error on the main thread, from the start of the process on: its state may be invalid, so the process reports it and exits.
 * Without this, a node whose main thread has lost its way would serve clients but follow no signal.
 */
function exitOnInternalErrors(signals: Signals, terminal: Terminal): void {
  const end = (error: unknown): void => {
    if (signals.node?.reportLibraryFailure(error) === true) return
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    const log = signals.node?.log
    if (log === undefined) terminal.fail(`internal error: ${stack}`)
    log?.error('node failed', { stack })
    setTimeout(exitWithFailure, logCloseMs)
    Promise.resolve(log?.close()).then(exitWithFailure, exitWithFailure)
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}

function exitWithFailure(): never {
  process.exit(exitCodes.failed)
}
