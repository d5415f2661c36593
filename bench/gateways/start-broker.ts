// Starts a broker with one shard and gateways as a separate process.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))

export interface BenchBroker {
  readonly process: ChildProcess
  stop(): Promise<void>
}

/** `settings`: `name=value`, each. Calls back when its sockets are open: datagrams that are sent before are lost. */
export async function startBroker(
  settings: readonly string[],
  { nodeOptions = [] }: { readonly nodeOptions?: readonly string[] } = {},
): Promise<BenchBroker> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
  const set = ['node.shards=1', 'http_server.enable=false', 'log.level=info', ...settings]
  const words = [...nodeOptions, program, 'start', '--data', folder, ...set.flatMap((one) => ['--set', one])]
  const broker = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  const isOver = once(broker, 'exit')
  // Neither an error nor an interruption of the script leaves the broker running.
  process.on('exit', () => broker.kill('SIGKILL'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  let written = ''
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      written = (written + chunk.toString()).slice(-65_536)
      if (written.includes('"event":"node started"')) resolve()
    }
    broker.stdout.on('data', read)
    broker.stderr.on('data', read)
    broker.once('exit', () => reject(new Error(`the broker has ended: ${written}`)))
  })
  const stop = async (): Promise<void> => {
    broker.kill('SIGTERM')
    await isOver
    await rm(folder, { recursive: true, force: true })
  }
  return { process: broker, stop }
}
