// One process of a plugin, from its start to its end: control channel, heartbeat, memory, log.
//
//   spawn ──► start message ──► ready ──► (calls on the channels of the shards) ──► stop, or killed ──► ended

import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Logger } from '../../telemetry/index.ts'
import {
  type ControlFromProcess,
  type ControlToProcess,
  LineReader,
  type LogLevelOfPlugin,
} from '../calls/control-messages.ts'
import type { InstalledPlugin } from '../manifest/installed-plugin.ts'
import type { StartResult } from '../plugin-runtime.ts'
import { parseControl } from './parse-control.ts'
import type { ProcessCommand } from './process-command.ts'

export interface RunningProcessOptions {
  readonly plugin: InstalledPlugin
  readonly command: ProcessCommand
  /** Descriptors of the channels to the shards, in order. */
  readonly descriptors: readonly number[]
  readonly log: Pick<Logger, 'write'>
  /** Called once, also if the process never started. `reason`: for administrators. */
  readonly onEnd: (reason: string) => void
  readonly onMetrics: (metrics: PluginMetricValues) => void
}

export interface PluginMetricValues {
  readonly counters: Readonly<Record<string, number>>
  readonly gauges: Readonly<Record<string, number>>
}

const startTimeoutMs = 10_000
const stopTimeoutMs = 2_000
/** Heartbeats in the time after which a silent process is killed. */
const pingsPerTimeout = 4
const memoryIntervalMs = 1_000
const pageBytes = 4_096
const maxLineBytes = 1_048_576
/** Standard error is read for the reason of an end: the last part, and so many bytes in a second. */
const maxErrorBytes = 4_096
const maxErrorBytesPerSecond = 262_144
const lowPriority = 10
/** The system kills it first when memory is short. See proc(5). */
const oomScore = '1000'

export class RunningProcess {
  readonly #options: RunningProcessOptions
  readonly #child: ChildProcess
  readonly #control: Socket
  readonly #started = Promise.withResolvers<StartResult>()
  readonly #ended = Promise.withResolvers<void>()
  #timers: NodeJS.Timeout[] = []
  #unansweredPings = 0
  #errorOutput = ''
  #errorBytes = 0
  /** Why it was killed. */
  #killReason: string | undefined
  #hasEnded = false
  #onConfigured: ((answer: Extract<ControlFromProcess, { kind: 'configured' }> | undefined) => void) | undefined

  constructor(options: RunningProcessOptions) {
    this.#options = options
    const { command, descriptors, plugin } = options
    const stdio: StdioOptions = ['ignore', 'ignore', 'pipe', 'pipe', ...descriptors]
    this.#child = spawn(command.program, command.args, { stdio, env: {}, cwd: plugin.directory })
    this.#child.on('error', (error) => this.#handleEnd(`its process cannot be started: ${error.message}`))
    this.#child.on('exit', (code, signal) => this.#handleExit(code, signal))
    this.#control = this.#child.stdio[3] as Socket
    this.#control.setEncoding('utf8')
    const lines = new LineReader(maxLineBytes)
    this.#control.on('data', (chunk: string) => {
      if (!lines.read(chunk, (line) => this.#handleLine(line))) this.kill('it sent a line that is too long')
    })
    // The end of the process is reported by `exit`.
    this.#control.on('error', () => {})
    this.#readErrors()
    this.#child.on('spawn', () => this.#isolate())
  }

  get processId(): number {
    return this.#hasEnded ? 0 : (this.#child.pid ?? 0)
  }

  /** Resolves when the process has inherited its channels, or cannot be started. */
  get hasSpawned(): Promise<void> {
    if (this.#child.pid !== undefined || this.#hasEnded) return Promise.resolve()
    return Promise.race([new Promise<void>((resolve) => this.#child.once('spawn', resolve)), this.#ended.promise])
  }

  /** Resolves when the plugin has answered. If it does not start, its process has ended. */
  async start(): Promise<StartResult> {
    const { plugin, descriptors } = this.#options
    const { manifest, directory, config } = plugin
    this.#send({
      kind: 'start',
      entry: pathToFileURL(join(directory, manifest.main)).href,
      hooks: manifest.hooks,
      config,
      shards: descriptors.length,
      hasNetwork: manifest.permissions.some(({ kind }) => kind === 'net'),
    })
    const late = setTimeout(() => this.kill(`it has not answered within ${startTimeoutMs / 1_000} s`), startTimeoutMs)
    const result = await this.#started.promise
    clearTimeout(late)
    if (!result.started) {
      this.kill(result.reason)
      await this.#ended.promise
    } else this.#monitor()
    return result
  }

  /** Applies a new configuration. Resolves with false if the plugin has no `configure`; with a reason if it refuses. */
  async configure(config: unknown): Promise<boolean | string> {
    const answer = await new Promise<Extract<ControlFromProcess, { kind: 'configured' }> | undefined>((resolve) => {
      this.#onConfigured = resolve
      this.#send({ kind: 'configure', config })
      this.#timers.push(setTimeout(() => resolve(undefined), startTimeoutMs))
    })
    if (answer === undefined) return `configure has not answered within ${startTimeoutMs / 1_000} s`
    return answer.error ?? !answer.isUnknown
  }

  /** Asks it to end, and kills it if it does not. Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#send({ kind: 'stop' })
    const late = setTimeout(() => this.kill('it did not end when it was asked to'), stopTimeoutMs)
    await this.#ended.promise
    clearTimeout(late)
  }

  kill(reason: string): void {
    this.#killReason ??= reason
    this.#child.kill('SIGKILL')
  }

  /** Not all systems have these, and a process that has ended has none. */
  #isolate(): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      setPriority(pid, lowPriority)
    } catch (error) {
      this.#logText('debug', `its priority was not lowered: ${String(error)}`)
    }
    writeFile(`/proc/${pid}/oom_score_adj`, oomScore).catch((error: unknown) => {
      this.#logText('debug', `its oom_score_adj was not set: ${String(error)}`)
    })
  }

  #monitor(): void {
    const { timeoutMs, maxMemoryBytes } = this.#options.plugin.settings
    this.#timers.push(
      setInterval(() => this.#ping(timeoutMs), timeoutMs / pingsPerTimeout),
      setInterval(() => void this.#checkMemory(maxMemoryBytes), memoryIntervalMs),
    )
  }

  /** Counts intervals of this thread, not its clock: while this thread waits, no answer can arrive. */
  #ping(timeoutMs: number): void {
    if (this.#unansweredPings++ >= pingsPerTimeout) return this.kill(`it was silent for ${timeoutMs} ms`)
    this.#send({ kind: 'ping' })
  }

  async #checkMemory(maxBytes: number): Promise<void> {
    const resident = await this.#readResidentBytes()
    if (resident > maxBytes)
      this.kill(`it used ${toMebibytes(resident)} MB of memory; plugins.NAME.max_memory is ${toMebibytes(maxBytes)} MB`)
  }

  /** 0: not known. */
  async #readResidentBytes(): Promise<number> {
    try {
      const [, pages] = (await readFile(`/proc/${this.#child.pid}/statm`, 'utf8')).split(' ')
      return Number(pages) * pageBytes
    } catch {
      return 0 // It has just ended, or the system has no /proc.
    }
  }

  #send(message: ControlToProcess): void {
    if (!this.#hasEnded) this.#control.write(`${JSON.stringify(message)}\n`)
  }

  #handleLine(line: string): void {
    const message = parseControl(line)
    if (message === undefined) return this.kill('it sent a line that cannot be read')
    this.#unansweredPings = 0
    switch (message.kind) {
      case 'pong':
        return
      case 'ready':
        return this.#started.resolve({ started: true })
      case 'failed':
        return this.#started.resolve({ started: false, reason: message.reason })
      case 'configured':
        return this.#onConfigured?.(message)
      case 'log':
        return this.#logText(message.level, message.text)
      case 'log-dropped':
        return this.#logText('warn', `${message.lines} lines of its log were dropped: at most 100 in a second`)
      case 'metrics':
        return this.#options.onMetrics(message)
      default:
        message satisfies never
    }
  }

  #logText(level: LogLevelOfPlugin, text: string): void {
    this.#options.log.write(level, 'plugin', { plugin: this.#options.plugin.manifest.name, text })
  }

  /** Keeps the end of what it wrote to standard error, such as a stack, and reads no faster than the limit. */
  #readErrors(): void {
    const { stderr } = this.#child
    if (stderr === null) return
    stderr.setEncoding('utf8')
    stderr.on('error', () => {})
    stderr.on('data', (chunk: string) => {
      this.#errorOutput = (this.#errorOutput + chunk).slice(-maxErrorBytes)
      this.#errorBytes += chunk.length
      if (this.#errorBytes >= maxErrorBytesPerSecond) stderr.pause()
    })
    this.#timers.push(
      setInterval(() => {
        this.#errorBytes = 0
        stderr.resume()
      }, memoryIntervalMs).unref(),
    )
  }

  #handleExit(code: number | null, signal: NodeJS.Signals | null): void {
    const exit = signal === null ? `its process ended with exit code ${code}` : `its process was ended by ${signal}`
    const fatal = /FATAL ERROR: (.*)/.exec(this.#errorOutput)?.[1]
    const detail = fatal ?? findLastError(this.#errorOutput)
    this.#handleEnd(this.#killReason ?? (detail === '' ? exit : `${exit}: ${detail}`))
  }

  #handleEnd(reason: string): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#control.destroy()
    this.#started.resolve({ started: false, reason })
    this.#onConfigured?.(undefined)
    this.#ended.resolve()
    this.#options.onEnd(reason)
  }
}

function findLastError(text: string): string {
  const lines = text.split('\n').filter((line) => /\S/.test(line) && !/^\s+at |^Node\.js v/.test(line))
  return (lines.find((line) => /Error/.test(line)) ?? lines.at(-1) ?? '').trim().slice(0, 300)
}

function toMebibytes(bytes: number): number {
  return Math.round(bytes / 1_048_576)
}
