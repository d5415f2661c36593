// The whole program in a separate process.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testShards } from '../test-length.ts'

/** The path of the program, for `node`. */
export const godwitProgram = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))

/** A process whose output is recorded; tests can wait for a text in it. */
export class WatchedProcess {
  readonly child: ChildProcess
  /** Resolves when the process has ended and all that it wrote has been read. */
  readonly ended: Promise<number | null>
  #output = ''
  #errors = ''
  #hasEnded = false
  readonly #waiting = new Set<() => void>()

  constructor(command: string, words: readonly string[], environment: NodeJS.ProcessEnv = process.env) {
    this.child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'], env: environment })
    this.ended = once(this.child, 'close').then(([code]) => {
      this.#hasEnded = true
      for (const look of this.#waiting) look()
      return code
    })
    this.child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#output += chunk
      for (const look of this.#waiting) look()
    })
    this.child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#errors += chunk
      for (const look of this.#waiting) look()
    })
  }

  /** All of stdout. Throws while the process runs: its output arrives over a pipe, later than its responses. */
  get output(): string {
    this.#checkEnd('output')
    return this.#output
  }

  /** All of stderr, as `output`. */
  get errors(): string {
    this.#checkEnd('errors')
    return this.#errors
  }

  /** The output so far, for messages of failed tests and for text that `until` found. More may arrive later. */
  get soFar(): string {
    return `${this.#output}\n${this.#errors}`
  }

  #checkEnd(name: string): void {
    if (this.#hasEnded) return
    throw new Error(
      `the process runs, so its ${name} may lack lines: wait for a line with until(), or for the end with ended or stop()`,
    )
  }

  /** Resolves with the match when stdout or stderr contains it; rejects when the process ends without it. */
  until(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(this.#output) ?? pattern.exec(this.#errors)
        if (found === null && !this.#hasEnded) return
        this.#waiting.delete(look)
        if (found === null) reject(new Error(`ended without ${pattern}:\n${this.soFar}`))
        else resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** Sends the signal and resolves with the exit code, or null if the signal ended the process. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal)
    return this.ended
  }
}

/** The scope of resources, which are released at its end: a test, or all tests of a file. */
export interface Scope {
  after(end: () => unknown): void
}

/** Of Node. Without them, a broker executes itself again (see bin/godwit.js), which takes a tenth longer. */
export const brokerOptions = ['--no-memory-reducer', '--disable-sigusr1']

/** Runs `godwit` with these arguments. It is stopped at the end of the test if it still runs. */
export function runGodwit(t: Scope, words: readonly string[], environment?: NodeJS.ProcessEnv): WatchedProcess {
  const options = words[0] === 'start' ? brokerOptions : []
  return runProgram(t, process.execPath, [...options, godwitProgram, ...words], environment)
}

/** Runs a program. It is stopped at the end of the test if it still runs, before the folders of the test are removed. */
export function runProgram(
  t: Scope,
  command: string,
  words: readonly string[],
  environment?: NodeJS.ProcessEnv,
): WatchedProcess {
  const started = new WatchedProcess(command, words, environment)
  endWith(t, started)
  return started
}

const endsOf = new WeakMap<Scope, (() => unknown)[]>()

/**
 * Runs `end` at the end of the test, in reverse order of the calls: a broker stops before its folder is removed. The hooks of `node:test`
 * run in the order of registration.
 */
export function atEnd(t: Scope, end: () => unknown): void {
  const known = endsOf.get(t)
  if (known !== undefined) return void known.push(end)
  const ends = [end]
  endsOf.set(t, ends)
  t.after(async () => {
    for (const each of ends.toReversed()) await each()
  })
}

/** Stops the process at the end of the test. */
export function endWith(t: Scope, godwit: WatchedProcess): void {
  atEnd(t, () => godwit.stop('SIGKILL'))
}

export interface Broker {
  readonly port: number
  readonly dataDirectory: string
  readonly process: WatchedProcess
}

export interface BrokerOptions {
  readonly dataDirectory?: string
  readonly set?: readonly string[]
  /** The path given with `--config`. */
  readonly config?: string
  /** The first start generates the password of the administrator, as without settings. */
  readonly generatesPassword?: boolean
  /** Of the process. */
  readonly maxOpenFiles?: number
  /** The broker uses its normal settings of malloc (see bin/godwit.js) and V8, for tests that measure memory. */
  readonly setsMalloc?: boolean
}

/**
 * Settings that halve the processor time of a start: with them it takes 1.9 s, without them 3.3 s. Starts are most of the processor time of
 * the tests. A test that depends on the number of shards sets `node.shards`.
 */
function settingsOfFastStart({ config, generatesPassword = false }: BrokerOptions): string[] {
  if (config !== undefined) return []
  return [`node.shards=${testShards}`, ...(generatesPassword ? [] : ['http_server.password="a-password-for-tests"'])]
}

/**
 * The broker does not change malloc settings if the environment has one. With a value close to the default of glibc, a start takes 1.8 s
 * of processor time instead of 2.6 s: V8 compiles in blocks of 32 KiB, which would be mapped and returned each time.
 *
 * With a young generation of 1 MiB instead of up to 16, a start touches 13,000 pages instead of 18,000, and takes a tenth less processor time.
 */
export const fastStart = {
  MALLOC_ARENA_MAX: '4',
  NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --max-semi-space-size=1`,
}

/** Starts a broker on a free port. Its data directory is removed at the end of the test. */
export async function startBroker(t: Scope, options: BrokerOptions = {}): Promise<Broker> {
  const dataDirectory = options.dataDirectory ?? (await temporaryFolder(t))
  const ownPorts = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0']
  const set = [...ownPorts, ...settingsOfFastStart(options), ...(options.set ?? [])].flatMap((setting) => [
    '--set',
    setting,
  ])
  const config = options.config === undefined ? [] : ['--config', options.config]
  // Without the settings of test/jobs.ts, which keep memory.
  const { GLIBC_TUNABLES: _, ...ownMalloc } = process.env
  const environment = options.setsMalloc === true ? ownMalloc : { ...process.env, ...fastStart }
  const words = ['start', '--data', dataDirectory, ...config, ...set]
  const { maxOpenFiles } = options
  const godwit =
    maxOpenFiles === undefined
      ? runGodwit(t, words, environment)
      : runProgram(
          t,
          'sh',
          [
            '-c',
            `ulimit -n ${maxOpenFiles}; exec "$0" "$@"`,
            process.execPath,
            ...brokerOptions,
            godwitProgram,
            ...words,
          ],
          environment,
        )
  const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)\s/)
  return { port: Number(port), dataDirectory, process: godwit }
}

/** Starts a resource once for several tests of a file or suite, when the first of them needs it. It is released after the last test. */
export function shared<Started>(start: (scope: Scope) => Promise<Started>): () => Promise<Started> {
  const ends: (() => unknown)[] = []
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  let started: Promise<Started> | undefined
  return () => (started ??= start({ after: (end) => ends.push(end) }))
}

/** The port of a listener other than the TCP listener, as the broker prints it. */
export function portOf(broker: Broker, kind: string, name = 'default'): number {
  const [, port] =
    new RegExp(`listening +\\S+://127\\.0\\.0\\.1:(\\d+)\\S* \\(${kind}, ${name}\\)`).exec(broker.process.soFar) ?? []
  if (port === undefined) throw new Error(`no listener ${kind} ${name}:\n${broker.process.soFar}`)
  return Number(port)
}

export async function temporaryFolder(t: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-e2e-'))
  atEnd(t, () => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
