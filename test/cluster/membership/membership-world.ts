// Several nodes over a simulated database.

import { Random } from '../../simulator/random.ts'
import { isLeaseHeld, Membership, type MembershipRows, type MembershipTransaction } from '../../../src/cluster/index.ts'
import { applyTransaction, createRows, type EndTimes } from './database-model.ts'
import { MembershipOracles } from './membership-oracles.ts'
import { SimulatedDatabase } from './simulated-database.ts'
import type { Fence } from './simulated-home.ts'
import { describeServer, type SimulatedConnection, SimulatedNetwork } from './simulated-network.ts'
import { SimulatedNode } from './simulated-node.ts'
import { SimulatedTime } from './simulated-time.ts'

/** What the nodes run: the product, or a mutation of it. */
export interface StateMachine {
  readonly Membership: typeof Membership
  readonly isLeaseHeld: typeof isLeaseHeld
}

/** A condition of the statements, or of the code around the state machine, that a mutation leaves out. */
export type OmittedCondition = 'greater epoch' | 'warning is unknown'

export interface WorldOptions {
  readonly seed: number
  readonly shards: number
  readonly isRecorded?: boolean
  readonly machine?: StateMachine
  readonly omits?: OmittedCondition | undefined
}

const product: StateMachine = { Membership, isLeaseHeld }

const membershipPart = 'membership'

export class MembershipWorld {
  readonly time = new SimulatedTime()
  readonly random: Random
  readonly network: SimulatedNetwork
  readonly oracles = new MembershipOracles(this)
  readonly nodes: SimulatedNode[] = []
  readonly shards: number
  /** True time 0, in ms since 1970. */
  readonly epochMs = 1_800_000_000_000
  readonly lines: string[] = []
  /** Probability of a pause between two steps of a node. */
  pauseChance = 0
  /** A standby that was behind was promoted. */
  isLossy = false
  readonly machine: StateMachine
  readonly #options: WorldOptions
  readonly #endTimes: EndTimes = new Map()
  #lives = 0
  #unavailableMs = 0

  constructor(options: WorldOptions) {
    this.#options = options
    this.machine = options.machine ?? product
    this.shards = options.shards
    this.random = new Random(options.seed)
    const parts = new Map<string, unknown>([[membershipPart, createRows(options.shards)]])
    for (let shard = 0; shard < options.shards; shard++) {
      parts.set(`shard ${shard}`, { epoch: 0, life: '', attempt: 0, sequence: 0 } satisfies Fence)
    }
    const database = new SimulatedDatabase(parts, this.time, () => this.random.between(1, 5))
    database.confirmsCancelled = options.omits === 'warning is unknown'
    this.network = new SimulatedNetwork(this.time, this.random, database)
  }

  log(text: string): void {
    if (this.#options.isRecorded === true) this.lines.push(`${(this.time.nowMs / 1_000).toFixed(3)} ${text}`)
  }

  /** Starts a process. */
  start(name: string, role: 'core' | 'replica' = 'core'): SimulatedNode {
    const life = (++this.#lives).toString(16).padStart(16, '0')
    this.log(`${name} starts with life ${life}`)
    const membership = new this.machine.Membership({
      life,
      name,
      role,
      address: `${name}:1`,
      leaseMs: 5_000,
      isolationTimeoutMs: 15_000,
      maxClockSkewMs: 2_000,
    })
    const node = new SimulatedNode(this, { name, life, membership })
    this.nodes.push(node)
    return node
  }

  getLive(name: string): SimulatedNode | undefined {
    return this.nodes.find((node) => node.name === name && !node.isDead)
  }

  /** A service manager starts an ended process again, unless it was told to stop. */
  onProcessEnd(node: SimulatedNode): void {
    node.kill()
    if (!node.hasLeft) this.time.after(this.random.between(500, 2_000), () => this.restart(node.name))
  }

  restart(name: string): void {
    if (this.getLive(name) === undefined) this.start(name)
  }

  runTransaction(
    connection: SimulatedConnection,
    transaction: MembershipTransaction,
    respond: (rows: MembershipRows | undefined) => void,
  ): void {
    const { server } = connection
    const execute = (value: unknown, databaseMs: number) => {
      const before = value as MembershipRows
      const nowMs = databaseMs + this.epochMs
      const applied = applyTransaction(before, transaction, nowMs, this.#endTimes)
      const after = this.#options.omits === 'greater epoch' ? keepEpochs(before, applied) : applied
      if (transaction.actions.length > 0) {
        this.log(`${describeServer(server)} ${transaction.life.slice(-2)} ${JSON.stringify(transaction.actions)}`)
      }
      if (server === this.network.database.primary) {
        this.oracles.onTransaction(before, after, transaction.actions, transaction.life)
      }
      return { value: after, result: after }
    }
    connection.run({ part: membershipPart, execute }, (result) => respond(result as MembershipRows | undefined))
  }

  claimFence(
    connection: SimulatedConnection,
    shard: number,
    own: Omit<Fence, 'sequence'>,
    respond: (fence: Fence | undefined) => void,
  ): void {
    const execute = (value: unknown) => {
      const fence = value as Fence
      const isSame = fence.epoch === own.epoch && fence.life === own.life && fence.attempt < own.attempt
      const isOlder = fence.epoch < own.epoch || this.#options.omits === 'greater epoch'
      const next = isOlder || isSame ? { ...own, sequence: fence.sequence } : fence
      return { value: next, result: next }
    }
    connection.run({ part: `shard ${shard}`, execute }, (result) => respond(result as Fence | undefined))
  }

  commit(
    connection: SimulatedConnection,
    shard: number,
    own: Fence,
    respond: (isStored: boolean | undefined) => void,
  ): void {
    const execute = (value: unknown) => {
      const fence = value as Fence
      const isOwn = fence.epoch === own.epoch && fence.life === own.life && fence.attempt === own.attempt
      const isStored = isOwn && fence.sequence === own.sequence - 1
      return { value: isStored ? own : fence, result: isStored }
    }
    connection.run({ part: `shard ${shard}`, execute }, (result) => respond(result as boolean | undefined))
  }

  /** How long the node reaches the server with the greatest timeline. */
  measureReachMs(node: SimulatedNode): number {
    const connectedMs = this.network.measureConnectedMs(node.name, describeServer(this.network.database.primary))
    return Math.min(connectedMs, this.network.measurePunctualMs(node.name))
  }

  /** After each change of the servers. */
  checkAvailability(): void {
    const { database } = this.network
    database.checkAvailability()
    if (database.availableMs !== undefined) this.#unavailableMs = 0
    else if (this.#unavailableMs === 0) this.#unavailableMs = this.time.nowMs
  }

  get unavailableForMs(): number {
    return this.#unavailableMs === 0 ? 0 : this.time.nowMs - this.#unavailableMs
  }

  get rows(): MembershipRows {
    return this.network.database.primary.read(membershipPart) as MembershipRows
  }

  describe(): string {
    const nodes = this.nodes
      .filter((node) => !node.isDead)
      .map(
        (node) => `${node.name} ${node.life.slice(-2)} lease ${node.mayAct()} homes ${[...node.homes.keys()].join()}`,
      )
    return `${nodes.join('; ')}; ${JSON.stringify(this.rows)}`
  }
}

/** Epochs of shards that had one stay. */
function keepEpochs(before: MembershipRows, after: MembershipRows): MembershipRows {
  const shards = after.shards.map((shard) => ({
    ...shard,
    epoch: Math.min(shard.epoch, before.shards[shard.shard]?.epoch || 1),
  }))
  return { ...after, shards }
}
