// Starts and stops the brokers that are compared: Godwit from this checkout, Debian's mosquitto, or any command.

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { listenerPid } from './process-facts.ts'

/** How to start a broker on `port` with `folder` for its files: a command line for the shell. */
export interface BrokerKind {
  readonly name: string
  readonly command: (port: number, folder: string) => string
}

export interface RunningBroker {
  readonly port: number
  /** Of the process that listens; undefined where the system does not tell. */
  readonly pid: number | undefined
  readonly folder: string
  /** Stops the broker with a signal, and removes its files. */
  stop(): Promise<void>
}

/** Enough for a million sessions on a machine with other work. */
const startLimitMs = 120_000
const stopLimitMs = 10_000
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))

/** Godwit with one shard on loopback. `settings` are additional `KEY=VALUE` pairs. */
export function godwit(settings: readonly string[] = []): BrokerKind {
  return {
    name: 'godwit',
    command: (port, folder) => {
      const sets = ['node.shards=1', `listeners.tcp.bind=127.0.0.1:${port}`, ...settings].map(
        (setting) => `--set ${setting}`,
      )
      return `"${process.execPath}" "${program}" start --data "${folder}/data" ${sets.join(' ')}`
    },
  }
}

/** mosquitto without limits of queues, without Nagle's algorithm and without a database file. Undefined if it is not installed. */
export function mosquitto(): BrokerKind | undefined {
  const program = ['mosquitto', '/usr/sbin/mosquitto'].find((name) => spawnSync(name, ['-h']).error === undefined)
  if (program === undefined) return undefined
  return {
    name: 'mosquitto',
    command: (port, folder) => {
      const lines = [
        `listener ${port} 127.0.0.1`,
        'allow_anonymous true',
        'max_inflight_messages 65535',
        'max_queued_messages 0',
        'max_queued_bytes 0',
        'set_tcp_nodelay true',
        'persistence false',
        'log_type error',
      ]
      writeFileSync(join(folder, 'mosquitto.conf'), lines.join('\n'))
      return `${program} -c "${folder}/mosquitto.conf"`
    },
  }
}

/** The broker that `--broker` selects: `mosquitto`, or a command; by default Godwit with `settings`. */
export function chosenBroker(name: string | undefined, settings: readonly string[] = []): BrokerKind {
  if (name === undefined) return godwit(settings)
  const found = name === 'mosquitto' ? mosquitto() : otherBroker(name)
  if (found === undefined) throw new Error('mosquitto is not installed (apt-get install mosquitto)')
  return found
}

/** Any broker: PORT and FOLDER in the text are replaced. */
export function otherBroker(text: string): BrokerKind {
  return {
    name: 'other',
    command: (port, folder) => text.replaceAll('PORT', String(port)).replaceAll('FOLDER', folder),
  }
}

/** `processors`: where it may run. Throws an Error with the last lines of the broker if it does not start. */
export async function startBroker(kind: BrokerKind, processors: number | string = 0): Promise<RunningBroker> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const log = join(folder, 'output.log')
  const output = openSync(log, 'w')
  const [program, ...pinned] = [...pinnedTo(processors), 'bash', '-c', `exec ${kind.command(port, folder)}`]
  const child = spawn(program, pinned, { stdio: ['ignore', output, output], detached: true })
  const isUp = async (): Promise<void> => {
    const deadlineMs = performance.now() + startLimitMs
    while (!(await accepts(port))) {
      if (child.exitCode !== null || performance.now() > deadlineMs) {
        throw new Error(
          `${kind.name} did not start: ${readFileSync(log, 'utf8').trim().split('\n').slice(-3).join(' | ')}`,
        )
      }
      await pause(50)
    }
  }
  try {
    await isUp()
    // Compilation and allocations shortly after the start are not a part of the measurement.
    await pause(700)
    // The first connection may have reached a program that only tested whether the port is free.
    await isUp()
  } catch (error) {
    await stopBroker(child, folder)
    throw error
  }
  return { port, pid: listenerPid(port), folder, stop: () => stopBroker(child, folder) }
}

/** The command in front of another that keeps it on one processor, or on some (`0-3`); empty if that is not available. */
export function pinnedTo(processor: number | string): string[] {
  return spawnSync('taskset', ['-c', String(processor), 'true']).status === 0
    ? ['taskset', '-c', String(processor)]
    : []
}

/** Moves this process to another processor than that of the broker, for scripts without a load generator process. */
export function pinSelf(): void {
  spawnSync('taskset', ['-acp', '1', String(process.pid)])
}

async function stopBroker(child: ChildProcess, folder: string): Promise<void> {
  signalGroup(child, 'SIGTERM')
  const deadlineMs = performance.now() + stopLimitMs
  while (child.exitCode === null && child.signalCode === null && performance.now() < deadlineMs) await pause(20)
  signalGroup(child, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch (error) {
    // All processes of the group have ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const settle = (taken: boolean): void => {
      socket.destroy()
      resolve(taken)
    }
    socket.on('connect', () => settle(true)).on('error', () => settle(false))
  })
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
