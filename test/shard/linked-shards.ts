// Several shards of one node in one thread, each with its own store, linked as in a node.

import type { TestContext } from 'node:test'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { computeOwnerShard } from '../../src/core/index.ts'
import { createLinkPort } from '../../src/links/index.ts'
import type { ConnectPacket } from '../../src/protocol/index.ts'
import type { CounterName } from '../../src/telemetry/index.ts'
import { ShardStage, type StageOptions, type TestClient } from './stage.ts'

/** More iterations of the event loop than needed: a port takes one or two in each direction. */
const enoughTurns = 40

export class LinkedShards {
  readonly stages: ShardStage[] = []
  readonly #context: TestContext
  readonly #options: StageOptions
  readonly #ports = new Map<string, MessagePort>()

  /** Waits until all shards are linked and accept clients. */
  static async of(context: TestContext, count: number, options: StageOptions = {}): Promise<LinkedShards> {
    const shards = new LinkedShards(context, count, options)
    await shards.turns()
    for (const { shard } of shards.stages) shard.acceptClients()
    return shards
  }

  private constructor(context: TestContext, count: number, options: StageOptions) {
    this.#context = context
    this.#options = options
    for (let number = 0; number < count; number++) this.stages.push(this.#start(number, count))
    for (const left of this.stages.keys()) for (let right = 0; right < left; right++) this.connect(left, right)
    context.after(() => {
      for (const port of this.#ports.values()) port.close()
    })
  }

  get count(): number {
    return this.stages.length
  }

  connect(left: number, right: number): void {
    const { port1, port2 } = new MessageChannel()
    this.#ports.set(`${left}-${right}`, port1)
    this.#ports.set(`${right}-${left}`, port2)
    this.stages[left]?.shard.addLink(right, createLinkPort(port1), false)
    this.stages[right]?.shard.addLink(left, createLinkPort(port2), false)
  }

  /** Closes all links of the shard, so that its peers receive nothing more from it. */
  async kill(number: number): Promise<void> {
    for (const [name, port] of this.#ports) if (name.startsWith(`${number}-`)) port.close()
    await this.turns()
  }

  /** Starts a new shard in place of a killed one. */
  async restart(number: number, { acceptsClients = true } = {}): Promise<void> {
    const stage = this.#start(number, this.count)
    this.stages[number] = stage
    for (const other of this.stages.keys()) if (other !== number) this.connect(number, other)
    await this.turns()
    if (acceptsClients) stage.shard.acceptClients()
    await this.turns()
  }

  async turns(count = enoughTurns): Promise<void> {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  /** The owner shard of a client ID. */
  ownerOf(clientId: string): number {
    return computeOwnerShard(clientId, this.count)
  }

  /** A client ID that the shard owns. */
  idOf(shard: number, name = 'client'): string {
    for (let number = 0; ; number++) if (this.ownerOf(`${name}-${number}`) === shard) return `${name}-${number}`
  }

  /** A client whose socket belongs to shard `acceptedBy`. */
  async client(acceptedBy: number, clientId: string, options: Partial<ConnectPacket> = {}): Promise<TestClient> {
    const client = this.stages[acceptedBy].unauthenticated(options.version ?? 4)
    client.connect(clientId, options)
    await this.turns()
    return client
  }

  async subscriber(acceptedBy: number, clientId: string, filter: string): Promise<TestClient> {
    const client = await this.client(acceptedBy, clientId)
    client.subscribe([{ filter, qos: 2 }])
    await this.turns()
    return client
  }

  counters(name: CounterName): number[] {
    return this.stages.map((stage) => stage.counter(name))
  }

  #start(number: number, count: number): ShardStage {
    return new ShardStage(this.#context, {
      ...this.#options,
      timersAreMocked: this.stages.length > 0,
      start: { ...this.#options.start, shardNumber: number, shards: count },
    })
  }
}
