// The remote brokers of the bridge, which count the messages that they receive.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BrokerKind, godwit, startBroker } from '../load/brokers.ts'
import { publishFrame, subscribeFrame } from '../load/frames.ts'
import { client, payload, topic } from './publisher.ts'
import { Sink } from './sink.ts'

export interface Remote {
  /** Number of received messages. */
  count(): number
  stop(): Promise<void>
}

export type RemoteKind = 'sink' | 'mosquitto' | 'godwit'

const processor = 1
const subackBytes = 5

export const freely = [
  'allow_anonymous true',
  'max_inflight_messages 65535',
  'max_queued_messages 0',
  'max_queued_bytes 0',
]

/** `responseDelayMs` is for a sink only. */
export async function startRemote(kind: RemoteKind, port: number, responseDelayMs = 0): Promise<Remote> {
  return kind === 'sink' ? sinkAt(port, responseDelayMs) : brokerAt(kind, port)
}

async function sinkAt(port: number, responseDelayMs: number): Promise<Remote> {
  const sink = new Sink(responseDelayMs)
  await sink.listen(port)
  return { count: () => sink.messages, stop: () => sink.close() }
}

/** A broker on the processor of the generator, with a subscriber that counts messages. */
async function brokerAt(kind: 'mosquitto' | 'godwit', port: number): Promise<Remote> {
  const broker = await startBroker(kind === 'mosquitto' ? mosquittoAlsoAt(port) : godwitAlsoAt(port), processor)
  const socket = await client(broker.port, 'counter')
  let bytes = -subackBytes
  socket.on('data', (chunk) => void (bytes += chunk.length))
  socket.write(subscribeFrame({ version: 4, packetId: 1, filters: ['load/#'], qos: 0 }))
  const frameBytes = publishFrame({ version: 4, topic, qos: 0, packetId: 1, payload }).length
  return {
    count: () => Math.max(0, Math.floor(bytes / frameBytes)),
    stop: async () => {
      socket.destroy()
      await broker.stop()
    },
  }
}

function mosquittoAlsoAt(port: number): BrokerKind {
  return {
    name: 'mosquitto',
    command: (own, folder) => {
      const lines = [`listener ${own} 127.0.0.1`, `listener ${port} 127.0.0.1`, ...freely, 'log_type error']
      writeFileSync(join(folder, 'mosquitto.conf'), lines.join('\n'))
      return `mosquitto -c "${folder}/mosquitto.conf"`
    },
  }
}

function godwitAlsoAt(port: number): BrokerKind {
  return godwit([`listeners.tcp.also.bind=127.0.0.1:${port}`])
}
