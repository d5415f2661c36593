// The mock cluster of librdkafka, which kcat starts: brokers that implement the protocol, in memory, on loopback. Each broker is behind
// a relay, and ports in responses of the cluster are replaced by those of the relays, so that a test can interrupt connections.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { runProgram, type Scope, WatchedProcess } from '../e2e/godwit-process.ts'
import { Relay, type RelayState, type Rewrite } from './relay.ts'

const run = promisify(execFile)
const lengthBytes = 4
const host = Buffer.from('\0\u{9}127.0.0.1')

export interface KafkaMessage {
  readonly partition: number
  readonly offset: number
  readonly key: string | undefined
  readonly value: string
  readonly headers: readonly string[]
}

interface KcatMessage {
  readonly partition: number
  readonly offset: number
  readonly key: string | null
  readonly payload: string
  readonly headers?: readonly string[]
}

export interface KafkaRelay {
  readonly port: number
}

export class KafkaCluster {
  readonly #ports: readonly number[]
  readonly #relays: readonly KafkaRelay[]

  private constructor(ports: readonly number[], relays: readonly KafkaRelay[]) {
    this.#ports = ports
    this.#relays = relays
  }

  static async start(t: Scope, brokers = 3): Promise<KafkaCluster> {
    return await KafkaCluster.startBehind(t, brokers, (port, rewrite) => Relay.start(t, port, rewrite))
  }

  /** `startRelay` starts what is in front of each broker. */
  static async startBehind(
    t: Scope,
    brokers: number,
    startRelay: (port: number, rewrite: Rewrite) => Promise<KafkaRelay>,
  ): Promise<KafkaCluster> {
    // The cluster runs as long as the input of the producer is open.
    const words = ['-b', 'unused', '-X', `test.mock.num.brokers=${brokers}`, '-d', 'mock', '-P', '-t', 'unused']
    const kcat = runProgram(t, 'kcat', words)
    const [, servers = ''] = await kcat.until(/bootstrap\.servers=(\S+)\s/)
    const ports = servers.split(',').map((server) => Number(server.split(':')[1]))
    const relays: KafkaRelay[] = []
    for (const port of ports) relays.push(await startRelay(port, () => portReplacer(ports, relays)))
    return new KafkaCluster(ports, relays)
  }

  /** The value of `bootstrap_hosts`. */
  get servers(): string {
    return this.#relays.map(({ port }) => `127.0.0.1:${port}`).join(',')
  }

  async set(state: RelayState): Promise<void> {
    for (const relay of this.#relays) if (relay instanceof Relay) await relay.set(state)
  }

  /** Returns all records of the topic. */
  async read(topic: string): Promise<readonly KafkaMessage[]> {
    const { stdout } = await run(
      'kcat',
      ['-b', this.#server, '-C', '-t', topic, '-e', '-q', '-J', '-X', 'fetch.wait.max.ms=10'],
      {
        maxBuffer: 1 << 30,
      },
    )
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const { partition, offset, key, payload, headers = [] } = JSON.parse(line) as KcatMessage
        return { partition, offset, key: key ?? undefined, value: payload, headers }
      })
  }

  /** Writes one record for each line. */
  async write(topic: string, lines: readonly string[], key = ''): Promise<void> {
    const keyWords = key === '' ? [] : ['-k', key]
    const writer = new WatchedProcess('kcat', ['-b', this.#server, '-P', '-t', topic, ...keyWords])
    writer.child.stdin?.end(lines.map((line) => `${line}\n`).join(''))
    const code = await writer.ended
    if (code !== 0) throw new Error(`kcat failed: ${writer.errors}`)
  }

  get #server(): string {
    return `127.0.0.1:${this.#ports[0]}`
  }
}

/** Replaces ports in complete frames only, because a chunk may end within a port. */
function portReplacer(ports: readonly number[], relays: readonly KafkaRelay[]): (chunk: Buffer) => Buffer {
  let pending = Buffer.alloc(0)
  return (chunk) => {
    pending = Buffer.concat([pending, chunk])
    let end = 0
    while (pending.length >= end + lengthBytes) {
      const next = end + lengthBytes + pending.readUInt32BE(end)
      if (pending.length < next) break
      end = next
    }
    const frames = Buffer.from(pending.subarray(0, end))
    pending = pending.subarray(end)
    for (let at = frames.indexOf(host); at !== -1; at = frames.indexOf(host, at + 1)) {
      const portAt = at + host.length
      if (portAt + 4 > frames.length) break
      const relay = relays[ports.indexOf(frames.readUInt32BE(portAt))]
      if (relay !== undefined) frames.writeUInt32BE(relay.port, portAt)
    }
    return frames
  }
}
