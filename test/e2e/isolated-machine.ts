// Network, mounts and processes of their own for commands of a test, as on another machine: each port is free, each address may be bound, a small
// disk can be mounted, and all processes end with it. Root has the rights; other users need user namespaces of Linux.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { atEnd, type Scope, WatchedProcess } from './godwit-process.ts'

const isRoot = process.getuid?.() === 0
const unshared = [
  '--mount',
  '--net',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
  ...(isRoot ? [] : ['--map-root-user']),
]
const joined = ['--mount', '--net', '--pid', ...(isRoot ? [] : ['--user', '--preserve-credentials'])]

/** Returns why there are none here; undefined: there are. */
function findObstacle(): string | undefined {
  const tried = spawnSync('unshare', [...unshared, 'ip', 'link', 'set', 'lo', 'up'], { encoding: 'utf8' })
  if (tried.status === 0) return undefined
  return `${tried.error?.message ?? tried.stderr.trim()}: allow user namespaces, or run it as root, with util-linux and iproute2`
}

let obstacle: string | undefined | false = false

/** Starts one, which ends with the test. Undefined: there are none here, which the test run shows; in `.ci/run` the test fails. */
export async function startIsolatedMachine(t: TestContext): Promise<IsolatedMachine | undefined> {
  if (obstacle === false) obstacle = findObstacle()
  if (obstacle === undefined) return IsolatedMachine.start(t)
  if (process.env['CI'] !== undefined) throw new Error(`NOT RUN: ${obstacle}`)
  console.warn(`NOT RUN: ${t.name}: ${obstacle}`)
  t.skip(`NOT RUN: ${obstacle}`)
  return undefined
}

/** A signal is for the program itself, which is a child of `nsenter`. */
export class IsolatedProcess extends WatchedProcess {
  override stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null) for (const pid of childrenOf(this.child.pid)) process.kill(pid, signal)
    return this.ended
  }

  /** As ^C on a terminal: for all processes of a program that has a session of its own. */
  interrupt(): Promise<number | null> {
    for (const pid of childrenOf(this.child.pid)) process.kill(-pid, 'SIGINT')
    return this.ended
  }
}

function childrenOf(pid: number | undefined): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  } catch {
    // It has ended just now.
    return []
  }
}

export class IsolatedMachine {
  readonly #scope: Scope
  /** Of its first process. */
  readonly #pid: number

  private constructor(scope: Scope, pid: number) {
    this.#scope = scope
    this.#pid = pid
  }

  static async start(scope: Scope): Promise<IsolatedMachine> {
    const words = [...unshared, 'sh', '-c', 'ip link set lo up && echo ready && exec cat']
    // `cat` ends with the process of the test, also if that is killed.
    const holder = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'inherit'] })
    atEnd(scope, async () => {
      holder.kill('SIGKILL')
      if (holder.exitCode === null && holder.signalCode === null) await once(holder, 'exit')
    })
    await once(holder.stdout, 'data')
    const [pid = 0] = childrenOf(holder.pid)
    return new IsolatedMachine(scope, pid)
  }

  /** Runs a script of bash. */
  run(script: string, environment: NodeJS.ProcessEnv, folder = '/'): IsolatedProcess {
    const words = ['--target', String(this.#pid), ...joined, 'bash', '-c', `cd "$0" && ${script}`, folder]
    const started = new IsolatedProcess('nsenter', words, environment)
    atEnd(this.#scope, () => started.stop('SIGKILL'))
    return started
  }

  /** Runs a script to its end, and returns what it has printed. Rejects if it fails. */
  async complete(script: string, environment: NodeJS.ProcessEnv, folder?: string): Promise<string> {
    const running = this.run(script, environment, folder)
    const code = await running.ended
    if (code !== 0) throw new Error(`${script}\nended with ${code}:\n${running.soFar}`)
    return running.output
  }
}
