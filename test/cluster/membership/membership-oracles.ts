// What must hold in every scenario. The first violation ends the scenario.

import type { MembershipAction, MembershipRows } from '../../../src/cluster/index.ts'
import type { MembershipWorld } from './membership-world.ts'
import type { Fence, SimulatedHome } from './simulated-home.ts'
import type { SimulatedNode } from './simulated-node.ts'

/** A name of each oracle, for the list of mutations. */
export type OracleName =
  | 'no life ends under its lease'
  | 'one home writes'
  | 'acknowledged commits stay'
  | 'no life ends while the database is away'
  | 'healthy lives do not end'
  | 'reachable lives are not refused'
  | 'each shard finds a home'
  | 'clients stay'

export class MembershipViolation extends Error {
  readonly oracle: OracleName

  constructor(oracle: OracleName, text: string) {
    super(`${oracle}: ${text}`)
    this.oracle = oracle
  }
}

const beatMs = 1_000
/** A healthy node reconnects within this time. */
const reconnectMs = 3_500

export class MembershipOracles {
  readonly #world: MembershipWorld
  /** Lives that end without conditions: by command, or by themselves. */
  readonly #excused = new Set<string>()
  readonly #endKnown = new Set<string>()
  /** True time of the last beat of each life. */
  readonly #beatMs = new Map<string, number>()
  readonly #refused = new Set<string>()
  /** The greatest epoch of each shard that has taken over, with its life. */
  readonly #writers = new Map<number, { readonly epoch: number; readonly life: string }>()
  readonly #acknowledged = new Map<number, number>()

  constructor(world: MembershipWorld) {
    this.#world = world
  }

  /** A transaction was executed at the server with the greatest timeline. */
  onTransaction(before: MembershipRows, after: MembershipRows, actions: readonly MembershipAction[], by: string): void {
    for (const action of actions) {
      if (action.kind === 'expire') this.#excused.add(action.life)
      if (action.kind === 'leave') this.#excused.add(by)
    }
    for (const node of after.nodes) {
      if (node.beats !== before.nodes.find(({ life }) => life === node.life)?.beats) {
        this.#beatMs.set(node.life, this.#world.time.nowMs)
      }
      const former = before.nodes.find(({ life }) => life === node.life)
      if (node.isRefused && former?.isRefused !== true) this.#onRefused(node.life, actions)
      if (node.isEnded && former?.isEnded !== true && !this.#excused.has(node.life))
        this.#onEnded(node.life, former?.leaseMs ?? 0)
    }
  }

  #onEnded(life: string, leaseMs: number): void {
    const world = this.#world
    const node = world.nodes.find((found) => found.life === life)
    const limitMs = leaseMs + 2_000
    const { database } = world.network
    const { availableMs } = database
    const availableForMs = availableMs === undefined ? 0 : world.time.nowMs - availableMs
    // An outage that is shorter than a lease is not noticed. A life that was silent before it may end.
    const silentMs = database.outageMs - (this.#beatMs.get(life) ?? 0)
    const isNoticed = database.lastOutageMs >= leaseMs && silentMs < limitMs - beatMs
    if (availableForMs < limitMs - beatMs && isNoticed && !world.isLossy) {
      this.#fail('no life ends while the database is away', `life ${life} ended ${availableForMs} ms after its return`)
    }
    if (node === undefined || node.isDead) return
    if (node.mayAct() && !world.isLossy) {
      this.#fail('no life ends under its lease', `${node.name}, life ${life}, holds one`)
    }
    if (this.#refused.has(life) || node.isPaused) return
    const healthyMs = Math.min(availableForMs, world.time.nowMs - node.troubledMs, world.measureReachMs(node))
    if (healthyMs > limitMs + reconnectMs) {
      this.#fail('healthy lives do not end', `${node.name}, life ${life}, was healthy for ${healthyMs} ms`)
    }
  }

  #onRefused(life: string, actions: readonly MembershipAction[]): void {
    this.#refused.add(life)
    const action = actions.find((found) => found.kind === 'refuse' && found.life === life)
    if (action?.kind !== 'refuse') return
    const [one, other] = [life, action.other].map((name) => this.#world.nodes.find((node) => node.life === name))
    if (one === undefined || other === undefined || one.isDead || other.isDead) return
    const { nowMs } = this.#world.time
    const connectedMs = this.#world.network.measureConnectedMs(one.name, other.name)
    const healthyMs = Math.min(connectedMs, nowMs - one.troubledMs, nowMs - other.troubledMs)
    if (healthyMs > 5_000 && !one.isPaused && !other.isPaused) {
      this.#fail('reachable lives are not refused', `${one.name} and ${other.name} were connected for ${healthyMs} ms`)
    }
  }

  /** A node acts on the end of a life. */
  onLifeEndKnown(life: string): void {
    this.#endKnown.add(life)
  }

  /** A home is the writer of its shard, and reads its records. */
  onTakenOver(node: SimulatedNode, { shard, epoch }: SimulatedHome, fence: Fence): void {
    const last = this.#writers.get(shard)
    if (this.#world.isLossy) return
    // A node that was paused continues with an old response; the next one shows that it is not the writer.
    if (last !== undefined && epoch < last.epoch) return
    if (last !== undefined && last.epoch === epoch && last.life !== node.life) {
      this.#fail('one home writes', `shard ${shard} epoch ${epoch} has the lives ${last.life} and ${node.life}`)
    }
    this.#writers.set(shard, { epoch, life: node.life })
    const sequence = this.#acknowledged.get(shard) ?? 0
    if (fence.sequence < sequence) {
      this.#fail('acknowledged commits stay', `shard ${shard} has ${fence.sequence}; ${sequence} was acknowledged`)
    }
  }

  onAcknowledged(node: SimulatedNode, { shard, epoch }: SimulatedHome, sequence: number): void {
    if (this.#world.isLossy) return
    const writer = this.#writers.get(shard)
    if (writer !== undefined && writer.epoch > epoch) {
      this.#fail('one home writes', `shard ${shard}: epoch ${epoch} acknowledges after ${writer.epoch} took over`)
    }
    if (this.#endKnown.has(node.life) && !this.#excused.has(node.life)) {
      this.#fail('no life ends under its lease', `${node.name} acknowledges after its life ${node.life} has ended`)
    }
    this.#acknowledged.set(shard, Math.max(this.#acknowledged.get(shard) ?? 0, sequence))
  }

  /** Clients are disconnected only if another node serves. */
  onClientsClosed(node: SimulatedNode): void {
    const { availableMs } = this.#world.network.database
    const awayMs = availableMs === undefined ? this.#world.unavailableForMs : 0
    if (awayMs > 10_000)
      this.#fail('clients stay', `${node.name} closes clients; the database is away for ${awayMs} ms`)
  }

  /** After all faults have ended, and the limit of the fail-over has passed. */
  checkEnd(): void {
    const { nodes, isLossy } = this.#world
    const running = nodes.filter((node) => !node.isDead && !node.membership.hasEnded)
    for (let shard = 0; shard < this.#world.shards; shard++) {
      const homes = running.filter((node) => node.homes.get(shard)?.isRunning === true && node.mayAct())
      if (homes.length !== 1 && !isLossy) {
        this.#fail('each shard finds a home', `shard ${shard} has ${homes.length} homes: ${this.#world.describe()}`)
      }
    }
  }

  #fail(oracle: OracleName, text: string): never {
    throw new MembershipViolation(oracle, text)
  }
}
