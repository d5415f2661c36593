// Two nodes of a cluster in one process, with homes that the test fixes, and a relay between them that it cuts.

import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Scope } from '../../e2e/godwit-process.ts'
import { atEnd, temporaryFolder } from '../../e2e/godwit-process.ts'
import { reservePortPair } from '../../e2e/reserve-port.ts'
import { connected } from '../../e2e/mqtt-client.ts'
import type { NodeOptions, RunningNode } from '../../../src/boot/running-node.ts'
import { computeOwnerShard } from '../../../src/core/index.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { TcpRelay } from '../../links/nodes/tcp-relay.ts'
import { importNode } from '../built-node.ts'

const { startNode } = await importNode()

export const shards = 4
type Members = NonNullable<NodeOptions['clusterMembers']>

/** What a membership would tell a node. */
class FixedMembers implements Members {
  readonly life: string
  view: Members['view']
  readonly lease = undefined
  #events: Parameters<Members['start']>[0] | undefined

  constructor(life: string, view: Members['view']) {
    this.life = life
    this.view = view
  }

  change(view: Members['view']): void {
    this.view = view
    this.#events?.onChange(view)
  }

  start(events: Parameters<Members['start']>[0]): void {
    this.#events = events
  }

  /** Homes and lives do not depend on what a node reports. */
  report(): void {}
  setLink(): void {}
  receiveHeartbeat(): void {}

  describe(): undefined {}

  async runCommand(): Promise<string> {
    return 'the members are fixed'
  }

  createHeartbeat(): ReturnType<Members['createHeartbeat']> {
    return { wallClockMs: Date.now(), hasLease: true, version: 0, silenceMs: 0, stores: [] }
  }

  async stop(): Promise<void> {
    this.#events = undefined
  }
}

export class TwoNodes {
  readonly nodes: RunningNode[] = []
  /** Between the data connections: node 0 dials node 1 through it, and node 1 cannot dial. */
  readonly relay: TcpRelay
  readonly #folders: string[]
  readonly #ports: readonly number[]
  readonly #scope: Scope
  readonly #lives = ['00000000000000aa', '00000000000000bb']
  #epoch = 1
  readonly #members: FixedMembers[] = []

  private constructor(t: Scope, relay: TcpRelay, folders: string[], ports: readonly number[]) {
    this.#scope = t
    this.relay = relay
    this.#folders = folders
    this.#ports = ports
  }

  static async start(t: Scope, overrides: readonly string[] = []): Promise<TwoNodes> {
    const ports = [await reservePortPair(t), await reservePortPair(t)]
    const relayPort = await reservePortPair(t)
    const relay = await TcpRelay.open(t, ports[1], relayPort)
    // Heartbeats use the next port, and are not cut.
    await TcpRelay.open(t, ports[1] + 1, relayPort + 1)
    const folders = [await temporaryFolder(t), await temporaryFolder(t)]
    const cluster = new TwoNodes(t, relay, folders, ports)
    cluster.nodes.push(...(await Promise.all([0, 1].map((index) => cluster.#startNode(index, overrides)))))
    return cluster
  }

  /** Connects a client to a node. */
  connect(index: number, options: Parameters<typeof connected>[2]): ReturnType<typeof connected> {
    return connected(this.#scope, { port: this.nodes[index].listeners[0].port }, options)
  }

  async #startNode(index: number, overrides: readonly string[]): Promise<RunningNode> {
    const dataDir = join(this.#folders[index], 'data')
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const loaded = loadConfig({
      overrides: [
        'listeners.tcp.bind="127.0.0.1:0"',
        'http_server={enable=false,port=0}',
        'log.to=[file]',
        `node.name="node-${index}"`,
        'cluster.enable=true',
        'cluster.secret="a secret of the test"',
        `cluster.shards=${shards}`,
        `cluster.listen="127.0.0.1:${this.#ports[index]}"`,
        ...overrides,
      ],
    })
    assert.ok('config' in loaded, JSON.stringify(loaded))
    const members = new FixedMembers(this.#lives[index], this.#createView(index))
    this.#members[index] = members
    const started = await startNode({
      config: { ...loaded.config, node: { ...loaded.config.node, dataDir } },
      warnings: [],
      installation: { root: dataDir, isCheckout: true },
      clusterMembers: members,
    })
    assert.ok('node' in started, 'problem' in started ? started.problem : '')
    atEnd(this.#scope, () => started.node.stop())
    return started.node
  }

  /** Even shards are at node 0, odd ones at node 1. `isAlone`: the other node has ended. */
  #createView(index: number, isAlone = false): Members['view'] {
    const other = 1 - index
    // Nothing listens on port 1: only node 0 dials.
    const port = other === 1 ? this.relay.port : 1
    const others = [{ life: this.#lives[other], name: `node-${other}`, address: { host: '127.0.0.1', port } }]
    const homes = Array.from({ length: shards }, (_, shard) =>
      isAlone && shard % 2 === other
        ? undefined
        : { life: this.#lives[shard % 2], epoch: shard % 2 === 1 ? this.#epoch : 1 },
    )
    return { others: isAlone ? [] : others, homes, lost: new Set() }
  }

  /** Stops node 1, and ends its life for node 0. */
  async stopNode(): Promise<void> {
    await this.nodes[1].stop()
    this.#members[0].change(this.#createView(0, true))
  }

  /** Node 0 takes the shards of node 1, which does not know it: `take` changes their rows. */
  async takeShards(take: (life: string, epoch: number) => Promise<unknown>): Promise<void> {
    const [life] = this.#lives
    this.#epoch++
    await take(life, this.#epoch)
    const homes = Array.from({ length: shards }, (_, shard) => ({ life, epoch: shard % 2 === 1 ? this.#epoch : 1 }))
    this.#members[0].change({ others: [], homes, lost: new Set() })
  }

  get lives(): readonly string[] {
    return this.#lives
  }

  /** Starts node 1 again, with another life and the next epoch of its shards. */
  async startNode(): Promise<void> {
    this.#lives[1] = '00000000000000cc'
    this.#epoch++
    const started = this.#startNode(1, [])
    this.#members[0].change(this.#createView(0))
    this.nodes[1] = await started
  }
}

/** Returns a client ID whose session is on a shard of this node. */
export function findClientId(prefix: string, node: number): string {
  for (let i = 0; ; i++) {
    const clientId = `${prefix}-${i}`
    if (computeOwnerShard(clientId, shards) % 2 === node) return clientId
  }
}
