// The broker that is fuzzed: the real program with a listener of each type.

import { brokerOptions, WatchedProcess, godwitProgram } from '../e2e/godwit-process.ts'
import { fuzzSettings } from './fuzz-broker.ts'
import type { FuzzPorts } from './fuzz-stream.ts'

export async function startFuzzedBroker(
  dataDirectory: string,
  shards: number,
  environment = process.env,
): Promise<{ broker: WatchedProcess; ports: FuzzPorts }> {
  const listeners = ['listeners.tcp.bind="127.0.0.1:0"', 'listeners.ws.bind="127.0.0.1:0/mqtt"']
  const settings = [`node.shards=${shards}`, ...listeners, ...fuzzSettings].flatMap((setting) => ['--set', setting])
  const words = [...brokerOptions, godwitProgram, 'start', '--data', dataDirectory, ...settings]
  const broker = new WatchedProcess(process.execPath, words, environment)
  const [, tcp] = await broker.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)/)
  const [, ws] = await broker.until(/listening +ws:\/\/127\.0\.0\.1:(\d+)/)
  return { broker, ports: { tcp: Number(tcp), ws: { port: Number(ws), path: '/mqtt' } } }
}
