// The real program in a process of its own, for tests that look at it from outside.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'

/** For `node`. */
export const godwitProgram = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))

/** A process whose output is kept and can be waited for. */
export class WatchedProcess {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  output: string
  errors: string
  readonly #waiting: Set<() => void>

  constructor(command: string, words: readonly string[], environment: NodeJS.ProcessEnv = process.env) {
    this.child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'], env: environment })
    this.output = ''
    this.errors = ''
    this.#waiting = new Set()
    this.ended = once(this.child, 'close').then(([code]) => {
      for (const look of this.#waiting) look()
      return code
    })
    this.child.stdout?.on('data', (chunk) => {
      this.output += String(chunk)
      for (const look of this.#waiting) look()
    })
    this.child.stderr?.on('data', (chunk) => {
      this.errors += String(chunk)
      for (const look of this.#waiting) look()
    })
  }

  /** Resolves with the match when stdout or stderr shows it; rejects when the process ends without. */
  until(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(this.output) ?? pattern.exec(this.errors)
        if (found === null && this.child.exitCode === null && this.child.signalCode === null) return
        this.#waiting.delete(look)
        if (found === null) reject(new Error(`ended without ${pattern}:\n${this.output}\n${this.errors}`))
        else resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Sends the signal and resolves with the exit code; null where the signal ended it. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal)
    return this.ended
  }
}

/** Something with an end, at which what belongs to it ends too: a test, or all tests of a file. */
export interface Scope {
  after(end: () => unknown): void
}

/** `godwit` with these arguments. It is ended with the test at the latest. */
export function runGodwit(t: Scope, words: readonly string[], environment?: NodeJS.ProcessEnv): WatchedProcess {
  const godwit = new WatchedProcess(process.execPath, [godwitProgram, ...words], environment)
  endWith(t, godwit)
  return godwit
}

const processes = new WeakMap<Scope, WatchedProcess[]>()

/** The process ends with the test, before its folder is removed: node runs what a test has registered in that order. */
export function endWith(t: Scope, godwit: WatchedProcess): void {
  processes.set(t, [...(processes.get(t) ?? []), godwit])
  t.after(() => godwit.stop('SIGKILL'))
}

export interface Broker {
  readonly port: number
  readonly dataDirectory: string
  readonly process: WatchedProcess
}

export interface BrokerOptions {
  readonly dataDirectory?: string
  readonly set?: readonly string[]
  /** Of `--config`. */
  readonly config?: string
}

/** A broker that serves on a port of its own and keeps its data in a folder that goes with the test. */
export async function startBroker(t: Scope, options: BrokerOptions = {}): Promise<Broker> {
  const dataDirectory = options.dataDirectory ?? (await temporaryFolder(t))
  const ownPorts = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0']
  const set = [...ownPorts, ...(options.set ?? [])].flatMap((setting) => ['--set', setting])
  const config = options.config === undefined ? [] : ['--config', options.config]
  const godwit = runGodwit(t, ['start', '--data', dataDirectory, ...config, ...set])
  const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)/)
  return { port: Number(port), dataDirectory, process: godwit }
}

/** What is started once for several tests of a file or of a suite: by the first that asks, and ended with them all. */
export function shared<Started>(start: (scope: Scope) => Promise<Started>): () => Promise<Started> {
  const ends: (() => unknown)[] = []
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  let started: Promise<Started> | undefined
  return () => (started ??= start({ after: (end) => ends.push(end) }))
}

/** The port of another listener than the plain one, as the broker tells it. */
export function portOf(broker: Broker, kind: string, name = 'default'): number {
  const [, port] =
    new RegExp(`listening +\\S+://127\\.0\\.0\\.1:(\\d+)\\S* \\(${kind}, ${name}\\)`).exec(broker.process.output) ?? []
  if (port === undefined) throw new Error(`no listener ${kind} ${name}:\n${broker.process.output}`)
  return Number(port)
}

export async function temporaryFolder(t: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-e2e-'))
  t.after(async () => {
    for (const godwit of processes.get(t) ?? []) await godwit.stop('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  })
  return folder
}
