// One life of a node: the state machine, its connection to the database, and the homes that it runs. Between reading the clocks and
// acting, the process can be paused.

import {
  type Instant,
  type Lease,
  type Membership,
  type MembershipInput,
  type MembershipOutput,
  type MembershipTransaction,
} from '../../../src/cluster/index.ts'
import type { MembershipWorld } from './membership-world.ts'
import { SimulatedHome } from './simulated-home.ts'
import type { SimulatedConnection } from './simulated-network.ts'

const tickMs = 100
const heartbeatMs = 500

export class SimulatedNode {
  readonly name: string
  readonly life: string
  readonly membership: Membership
  readonly homes = new Map<number, SimulatedHome>()
  isDead = false
  /** Requested by `stop`. */
  hasLeft = false
  lease: Lease | undefined
  /** True time at which the node last was not able to take part: pauses, clocks. */
  troubledMs: number
  readonly #world: MembershipWorld
  #connection: SimulatedConnection | undefined
  /** Undefined: the process runs. */
  #pausedUntilMs: number | undefined
  readonly #queue: (() => void)[] = []
  /** The monotonic clock stood still this long. */
  #frozenMs = 0
  wallOffsetMs = 0
  wallStoppedMs: number | undefined

  constructor(world: MembershipWorld, options: { name: string; life: string; membership: Membership }) {
    this.#world = world
    this.name = options.name
    this.life = options.life
    this.membership = options.membership
    this.troubledMs = world.time.nowMs
    this.#repeat(tickMs, () => this.#handle({ kind: 'tick' }))
    this.#repeat(heartbeatMs, () => this.#sendHeartbeats())
  }

  readClocks(): Instant {
    const { nowMs } = this.#world.time
    return {
      monotonicMs: nowMs - this.#frozenMs + 1_000_000,
      wallMs: (this.wallStoppedMs ?? nowMs) + this.wallOffsetMs + this.#world.epochMs,
    }
  }

  get isPaused(): boolean {
    return this.#pausedUntilMs !== undefined
  }

  /** `isFrozen`: the monotonic clock stands still, as in a virtual machine. */
  pause(durationMs: number, isFrozen: boolean): void {
    if (this.isPaused || this.isDead) return
    this.#pausedUntilMs = this.#world.time.nowMs + durationMs
    this.#world.time.after(durationMs, () => {
      this.#pausedUntilMs = undefined
      if (isFrozen) this.#frozenMs += durationMs
      this.troubledMs = this.#world.time.nowMs
      while (!this.isPaused && this.#queue.length > 0) this.#queue.shift()!()
    })
  }

  /** SIGKILL. Statements that were sent can still arrive. */
  kill(): void {
    this.isDead = true
    this.#connection?.close()
    for (const home of this.homes.values()) home.close()
    this.#queue.length = 0
  }

  /** Runs a step of the process, after a pause if there is one. */
  step(run: () => void): void {
    if (this.isDead) return
    if (this.isPaused || this.#queue.length > 0) this.#queue.push(() => !this.isDead && run())
    else run()
  }

  /** The time between two instructions, in which the process can be paused. */
  #betweenSteps(run: () => void): void {
    if (this.#world.random.chance(this.#world.pauseChance)) {
      this.#world.log(`${this.name} pauses between two steps`)
      this.troubledMs = this.#world.time.nowMs
      this.pause(this.#world.random.between(10, 15_000), this.#world.random.chance(0.5))
    }
    this.step(run)
  }

  input(input: MembershipInput): void {
    this.step(() => this.#handle(input))
  }

  #handle(input: MembershipInput): void {
    const now = this.readClocks()
    this.#betweenSteps(() => {
      this.membership.handle(input, now)
      for (const output of this.membership.takeOutputs()) this.#betweenSteps(() => this.#perform(output))
    })
  }

  /** Before something is decided: whether this node may act, by clocks that are read now. */
  mayAct(): boolean {
    return this.#world.machine.isLeaseHeld(this.lease, this.readClocks())
  }

  #perform(output: MembershipOutput): void {
    switch (output.kind) {
      case 'connect':
        return this.#connect(output.attempt)
      case 'disconnect':
        this.#connection?.close()
        this.#connection = undefined
        return
      case 'run':
        return this.#run(output.transaction)
      case 'lease':
        this.lease = output.lease
        return
      case 'life-ended':
        return this.#world.oracles.onLifeEndKnown(output.life)
      case 'start-home':
        this.homes.get(output.shard)?.close()
        this.homes.set(output.shard, new SimulatedHome(this.#world, this, output))
        return
      case 'stop-home':
        this.homes.get(output.shard)?.stop(output.reason)
        return
      case 'own-life-ended':
        this.#world.log(`${this.name} ends: ${output.reason ?? 'stopped'}`)
        this.hasLeft = output.reason === undefined
        return this.#world.onProcessEnd(this)
      case 'send-heartbeats':
        return this.#sendHeartbeats()
      case 'close-clients':
        return this.#world.oracles.onClientsClosed(this)
      case 'command-done':
        this.#world.log(`${this.name} command ${output.id}: ${output.problem ?? 'done'}`)
        return
      case 'home':
      case 'life-joined':
        return
      default:
        output satisfies never
    }
  }

  #connect(attempt: number): void {
    this.#connection?.close()
    this.#connection = undefined
    this.#world.network.connect(this.name, (connection) => {
      this.step(() => {
        if (connection === undefined) {
          return this.#handle({ kind: 'disconnected', attempt, reason: 'no server accepts writes' })
        }
        this.#connection = connection
        const server = { systemIdentifier: '7', timeline: connection.server.timeline }
        this.#handle({ kind: 'connected', attempt, server })
      })
    })
  }

  #run(transaction: MembershipTransaction): void {
    const connection = this.#connection
    const { attempt } = transaction
    if (connection === undefined) return this.input({ kind: 'disconnected', attempt, reason: 'closed' })
    this.#world.runTransaction(connection, transaction, (rows) => {
      this.input(
        rows === undefined
          ? { kind: 'disconnected', attempt, reason: 'unknown outcome' }
          : { kind: 'confirmed', attempt, rows },
      )
    })
  }

  #sendHeartbeats(): void {
    for (const other of this.#world.nodes) {
      if (other === this || other.isDead) continue
      const heartbeat = this.membership.createHeartbeat(other.life, this.readClocks())
      this.#world.network.send(this.name, other.name, () => other.input({ kind: 'heartbeat', heartbeat }))
    }
  }

  #repeat(intervalMs: number, run: () => void): void {
    this.#world.time.after(this.#world.random.between(1, intervalMs), () => {
      if (this.isDead || this.membership.hasEnded) return
      // A timer does not run while the process is paused, and once afterwards.
      if (this.isPaused) this.step(run)
      else run()
      this.#world.time.after(0, () => this.#repeat(intervalMs, run))
    })
  }
}
