// Three nodes of a cluster, each a process, over a PostgreSQL with a synchronous standby.

import assert from 'node:assert/strict'
import { computeOwnerShard } from '../../../src/core/index.ts'
import type { endpoints } from '../../../src/api/endpoints.ts'
import type { ReplyOf } from '../../../src/contract/index.ts'
import { runCtlHere } from '../../cli/ctl/ctl.ts'
import { type Broker, type Scope, startBroker } from '../../e2e/godwit-process.ts'
import { eventually } from '../../e2e/eventually.ts'
import { reservePortPair } from '../../e2e/reserve-port.ts'
import { type ReplicatedDatabase, startReplicatedDatabase } from '../postgres-store/replicated-database.ts'

const shards = 3
const names = ['node-a', 'node-b', 'node-c']

type ClusterStatus = ReplyOf<(typeof endpoints)['cluster_status']>['data']

export interface ShardHomeRow {
  readonly shard: number
  readonly epoch: number
  /** Name of the node. */
  readonly node: string
}

export class ThreeNodes {
  readonly database: ReplicatedDatabase
  readonly #nodes: ReadonlyMap<string, Broker>

  private constructor(database: ReplicatedDatabase, nodes: ReadonlyMap<string, Broker>) {
    this.database = database
    this.#nodes = nodes
  }

  /** Resolves when each node runs a shard. */
  static async start(t: Scope): Promise<ThreeNodes> {
    const database = await startReplicatedDatabase(t)
    const ports: number[] = []
    for (const _ of names) ports.push(await reservePortPair(t))
    const brokers = await Promise.all(
      names.map((name, index) => startClusterNode(t, { name, port: ports[index] ?? 0, url: database.url })),
    )
    const cluster = new ThreeNodes(database, new Map(brokers.map((broker, index) => [names[index], broker])))
    await eventually(async () => {
      const homes = await cluster.readHomes()
      assert.deepEqual(new Set(homes.map(({ node }) => node)), new Set(names))
    })
    return cluster
  }

  getNode(name: string): Broker {
    const node = this.#nodes.get(name)
    assert.ok(node !== undefined, name)
    return node
  }

  /** What `godwit ctl cluster status` shows at a node. */
  async readStatus(name: string): Promise<ClusterStatus> {
    const { output, errors } = await runCtlHere([
      'cluster',
      'status',
      '--json',
      '--data',
      this.getNode(name).dataDirectory,
    ])
    assert.equal(errors, '')
    return (JSON.parse(output) as readonly [ClusterStatus])[0]
  }

  /** The shards that run, as the database knows them. */
  async readHomes(): Promise<readonly ShardHomeRow[]> {
    const rows = await this.database.primary.query(
      `SELECT h.shard, h.epoch, n.name FROM godwit.homes h JOIN godwit.nodes n ON n.life = h.life
        WHERE h.is_restored AND n.ended IS NULL ORDER BY h.shard`,
    )
    return rows.map(([shard, epoch, node]) => ({ shard: Number(shard), epoch: Number(epoch), node: String(node) }))
  }
}

async function startClusterNode(
  t: Scope,
  { name, port, url }: { readonly name: string; readonly port: number; readonly url: string },
): Promise<Broker> {
  return startBroker(t, {
    set: [
      `node.name="${name}"`,
      'cluster.enable=true',
      'cluster.secret="a secret of the test"',
      `cluster.shards=${shards}`,
      `cluster.listen="127.0.0.1:${port}"`,
      `cluster.stores=["${url}"]`,
    ],
  })
}

/** Returns a client ID whose session is on this shard. */
export function findClientOf(shard: number, prefix: string): string {
  for (let i = 0; ; i++) {
    const clientId = `${prefix}-${i}`
    if (computeOwnerShard(clientId, shards) === shard) return clientId
  }
}
