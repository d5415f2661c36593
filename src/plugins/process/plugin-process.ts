// The process of a plugin. It loads the plugin, calls its hooks for each shard, and ends with the broker. Its descriptors:
//
//   3       control: the main thread
//   4 ...   one channel for each shard
//
// It imports nothing outside of this module: everything that it loads must be readable under Node's permission model.

import { Socket } from 'node:net'
import {
  controlDescriptor,
  LineReader,
  type ControlFromProcess,
  type ControlToProcess,
} from '../calls/control-messages.ts'
import type { Plugin } from '../manifest/plugin-types.ts'
import { HookRunner } from './hook-runner.ts'
import { ProcessChannel } from './process-channel.ts'
import { createContext } from './plugin-context.ts'
import { LimitedLog } from './limited-log.ts'
import { PluginMetricSet } from './plugin-metric-set.ts'
import { readHooks } from './read-hooks.ts'
import { refuseNetwork, refuseSignals } from './refuse-modules.ts'

const maxLineBytes = 67_108_864
const metricsIntervalMs = 1_000

const control = openSocket(controlDescriptor)
const log = new LimitedLog(send)
const metrics = new PluginMetricSet()
const stopping = new AbortController()
let channels: readonly ProcessChannel[] = []
let runner: HookRunner | undefined

const lines = new LineReader(maxLineBytes)
control.setEncoding('utf8')
control.on('data', (chunk: string) => lines.read(chunk, (line) => handle(JSON.parse(line) as ControlToProcess)))
// A rejection that no hook waits for must not end the plugin silently.
process.on('uncaughtException', (error) => {
  log.write('error', `uncaught: ${error.stack ?? String(error)}`)
  control.end(() => process.exit(1))
})

function send(message: ControlFromProcess): void {
  control.write(`${JSON.stringify(message)}\n`)
}

/** The process ends when one of its channels does: the broker, or a shard, is gone. */
function openSocket(fd: number): Socket {
  const socket = new Socket({ fd, readable: true, writable: true })
  socket.on('error', () => process.exit(0))
  socket.on('close', () => process.exit(0))
  return socket
}

function handle(message: ControlToProcess): void {
  switch (message.kind) {
    case 'ping':
      return send({ kind: 'pong' })
    case 'start':
      void start(message).catch((error: unknown) => {
        send({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) })
      })
      return
    case 'configure':
      void configure(message.config)
      return
    case 'stop':
      stopping.abort()
      control.end(() => process.exit(0))
      return
    default:
      message satisfies never
  }
}

async function start(message: Extract<ControlToProcess, { kind: 'start' }>): Promise<void> {
  channels = Array.from(
    { length: message.shards },
    (_, shard) => new ProcessChannel(openSocket(controlDescriptor + 1 + shard)),
  )
  log.replaceConsole()
  refuseSignals()
  if (!message.hasNetwork) refuseNetwork()
  const { default: plugin } = (await import(message.entry)) as { readonly default?: Plugin }
  if (typeof plugin !== 'function') throw new Error('its entry has no function as default export')
  const context = createContext({ config: message.config, log, metrics, channels, signal: stopping.signal })
  runner = new HookRunner(readHooks(await plugin(context), message.hooks))
  for (const channel of channels) channel.start(runner)
  setInterval(() => {
    const changed = metrics.takeChanged()
    if (changed !== undefined) send({ kind: 'metrics', ...changed })
  }, metricsIntervalMs).unref()
  send({ kind: 'ready' })
}

async function configure(config: unknown): Promise<void> {
  try {
    const isUnknown = (await runner?.configure(config)) !== true
    send({ kind: 'configured', error: undefined, isUnknown })
  } catch (error) {
    send({ kind: 'configured', error: error instanceof Error ? error.message : String(error), isUnknown: false })
  }
}
