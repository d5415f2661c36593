// `godwit start`: runs the broker in the foreground until it is stopped.

import { type ConfigError, formatConfigError, type GodwitConfig } from '../config/index.ts'
import {
  type ConfigurationReading,
  type Installation,
  type ListenerAddress,
  readConfiguration,
  type RunningNode,
  shardsOf,
  startNode,
} from '../node/index.ts'
import { startIdleGc, trafficIn } from '../shard/index.ts'
import { readCounters } from '../telemetry/index.ts'
import { join } from 'node:path'
import { banner } from './banner.ts'
import type { TrialAccess } from './trial-command.ts'
import { type ServiceManager, serviceManager } from './service-manager.ts'
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
  /** GODWIT_CONFIG and GODWIT_DATA stand for --config and --data. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

type Loaded = Exclude<ConfigurationReading, { readonly problem: string } | { readonly faults: readonly ConfigError[] }>

type Configured = Loaded | { readonly problems: readonly string[]; readonly exitCode: number }

interface StartContext {
  readonly options: StartOptions
  readonly program: Program
  readonly terminal: Terminal
  readonly signals: Signals
  readonly service: ServiceManager
}

/** Runs until a signal, a request or a failure. Gives the exit code; when it resolves nothing runs any more. */
export async function startCommand(options: StartOptions, program: Program, terminal: Terminal): Promise<number> {
  const configured = configure(options, program)
  if ('problems' in configured) {
    terminal.fail(...configured.problems)
    return configured.exitCode
  }
  sizeThreadPool(configured.config)
  const signals = new Signals()
  const service = serviceManager(program.environment ?? {}, (problem) => terminal.fail(problem))
  // Messages do not pass the main thread, but its garbage collection uses every processor and slows down the shards.
  startIdleGc({
    traffic: () => (signals.node === undefined ? 0 : totalTraffic(signals.node)),
    clientBytes: () => 0,
    forget: () => {},
  })
  const surroundings = { options, program, terminal, signals, service }
  let life: NodeResult = await runNode(configured, surroundings)
  let former = configured
  while (life.end === 'restart') {
    const changed = configure(options, program)
    const next = 'problems' in changed ? former : changed
    terminal.print('restarting\n')
    const shortage = threadShortage(next.config)
    if (shortage !== undefined) terminal.fail(shortage)
    life = await runNode(next, surroundings)
    if (life.end === 'problem' && next !== former) {
      // A broker with the previous configuration is better than none.
      terminal.fail(`${life.problem}; the previous configuration stays in use`)
      life = await runNode(former, surroundings)
    } else former = next
  }
  return life.end === 'stopped' ? exitCodes.done : terminal.fail(life.problem)
}

/** By all its shards, in this life. */
function totalTraffic({ counters }: RunningNode): number {
  const sums = readCounters(counters)
  return trafficIn((name) => sums[name])
}

/** Result of one run of the node. */
type NodeResult =
  | { readonly end: 'stopped' }
  | { readonly end: 'restart' }
  | { readonly end: 'problem'; readonly problem: string }

/** One life of the node. When it resolves nothing of it runs any more. */
async function runNode(configured: Loaded, context: StartContext): Promise<NodeResult> {
  const { options, program, terminal, signals, service } = context
  const problemOfRestart = (): string | undefined => {
    const read = configure(options, program)
    return 'problems' in read ? read.problems.join('; ') : undefined
  }
  const started = await startNode({ ...configured, sources: configured, ...program, problemOfRestart })
  if ('problem' in started) return { end: 'problem', problem: started.problem }
  const { node } = started
  const { config, file } = configured
  if (signals.node === undefined) exitOnInternalErrors(signals)
  signals.node = node
  const isShipped = file !== undefined && file === join(program.installation.root, 'etc', 'godwit.conf')
  const configFile = isShipped && !program.installation.isCheckout ? `${file} (defaults of the package)` : file
  const { version } = program
  const profile = config.node.securityProfile
  const accessTo = ({ isLoopback }: ListenerAddress): TrialAccess => ({
    allowsAnonymous: config.auth.allowAnonymous ?? (profile === 'legacy' || isLoopback),
    deniesByDefault: config.auth.acl.noMatch === 'deny',
  })
  terminal.print(banner({ ...node, version, profile, configFile, accessTo }))
  node.log.info('node started', {
    version,
    node: node.name,
    profile,
    configuration: file ?? 'built-in defaults',
    listeners: node.listeners.map(({ kind, host, port }) => `${kind} ${host}:${port}`).join(', '),
  })
  signals.onReload = () => void reload(node)
  service.noteServing()
  const life = await runUntilStopped(node, context)
  signals.onReload = () => {}
  return life
}

/** Synced writes of LevelDB block a thread of the pool each; these are for everything else. */
const otherPoolThreads = 8

/**
 * The pool has as many threads as the environment says when it is used first. Nothing has used it yet: modules and
 * configuration are read without it.
 */
function sizeThreadPool(config: GodwitConfig): void {
  const needed = neededThreads(config)
  if (!(poolThreads() >= needed)) process.env['UV_THREADPOOL_SIZE'] = String(needed)
}

const neededThreads = (config: GodwitConfig): number => shardsOf(config) + otherPoolThreads
const poolThreads = (): number => Number(process.env['UV_THREADPOOL_SIZE'] ?? 0)

/** A pool that is in use has its size for good: more shards than at the start of the process wait for each other's writes. */
function threadShortage(config: GodwitConfig): string | undefined {
  const needed = neededThreads(config)
  if (poolThreads() >= needed) return undefined
  return `node.shards: ${shardsOf(config)} shards share the ${poolThreads()} threads for files that this process began with; stop it and start it to have ${needed}`
}

async function runUntilStopped(node: RunningNode, { signals, terminal, service }: StartContext): Promise<NodeResult> {
  const broken = node.broken.then((problem): NodeResult => ({ end: 'problem', problem }))
  const stopped = signals.stopped.then((): NodeResult => ({ end: 'stopped' }))
  const shutdownRequested = node.shutdownRequested.then((request): NodeResult => ({
    end: request === 'stop' ? 'stopped' : request,
  }))
  const life = await Promise.race([stopped, broken, shutdownRequested])
  if (life.end === 'stopped') service.noteStopping()
  if (life.end !== 'problem') terminal.print('stopping: disconnecting clients and closing the store\n')
  node.log.info('node stopping', { why: life.end === 'problem' ? life.problem : life.end })
  await node.stop()
  return life
}

function configure(options: StartOptions, { installation }: Program): Configured {
  const request = { file: options.config, dataDirectory: options.data, overrides: options.set }
  const read = readConfiguration({ ...request, environment: process.env, installation })
  if ('problem' in read) return { problems: [read.problem], exitCode: exitCodes.failed }
  if ('faults' in read) return { problems: read.faults.map(formatConfigError), exitCode: exitCodeOf(read.faults) }
  return read
}

/** Errors in a file are a failure. If all errors are on the command line, it is a usage error. */
function exitCodeOf(faults: readonly ConfigError[]): number {
  return faults.every((fault) => fault.file === '--set') ? exitCodes.wrongUsage : exitCodes.failed
}

/** SIGHUP: the configuration is from now on as the files say. Files with a fault change nothing. */
async function reload(node: RunningNode): Promise<void> {
  node.reloadFiles()
  const outcome = await node.reloadConfiguration()
  if (outcome.isDone) return
  for (const problem of outcome.message.split('\n')) {
    node.log.error('configuration not loaded', { problem })
  }
}

/**
 * Ctrl-C under `npm start` reaches us twice, from the terminal and from npm: that is one request. A later signal
 * does not want to wait.
 */
const repeatedSignalMs = 1_000

/** The signals of this process from its first moment on: one that comes while the node starts is not lost. */
class Signals {
  /** Resolves at the first SIGTERM or SIGINT. */
  readonly stopped: Promise<undefined>
  onReload: () => void
  /** That runs, or ran last; undefined: none has been started yet. */
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
}

/** Internal error on the main thread: its state may be invalid, so the process reports it and exits. */
function exitOnInternalErrors(signals: Signals): void {
  const end = (error: unknown): void => {
    const log = signals.node?.log
    const stack = error instanceof Error ? error.stack : String(error)
    log?.error('node failed', { stack })
    void Promise.resolve(log?.close()).finally(() => process.exit(exitCodes.failed))
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}
