// Runs the membership of this node: clocks, timer and database for the state machine, and what it decides for the rest of the node.

import {
  describeMembership,
  type HomeOutput,
  LeaseCell,
  type Life,
  Membership,
  type MembershipCommand,
  type MembershipFacts,
  type MembershipInput,
  type MembershipOptions,
  type MembershipOutput,
  type MembershipTransaction,
  type NodeHeartbeat,
  type NodeRow,
  type ShardVersion,
  type StopReason,
} from '../../cluster/index.ts'
import { readClocks } from '../../shard/index.ts'
import { claimShard, MembershipConnection, type StoreAddress } from '../../storage/index.ts'
import type { Logger } from '../../telemetry/index.ts'

export interface MembershipCallbacks {
  /** A life has joined; it is dialled and accepted from now on. */
  onLifeJoined(node: NodeRow): void
  /** Nothing that this life sends takes effect any more. */
  onLifeEnded(life: Life): void
  /** Nothing of earlier epochs of this shard takes effect any more. */
  onHome(home: Extract<MembershipOutput, { kind: 'home' }>): void
  /** This node is the writer of the shard. `reportRestored`, `reportFailed` or `reportStopped` follows. */
  startHome(shard: ShardVersion): void
  /** `released`: the shard commits first; `lost`: it sends nothing more. `reportStopped` follows. */
  stopHome(shard: ShardVersion, reason: StopReason): void
  /** Heartbeats are sent now, and not only twice per second. */
  sendHeartbeats(): void
  /** Disconnects all clients with 0x88. */
  closeClients(): void
  /** This life is over, so the process ends. Undefined: `stop` was requested. */
  onOwnLifeEnded(reason: string | undefined): void
}

export interface MembershipDriverOptions {
  readonly membership: MembershipOptions
  /** The first database. */
  readonly address: StoreAddress
  /** Returns the database of a shard. */
  findShardAddress(shard: number): StoreAddress
  readonly isReplicated: boolean
  readonly callbacks: MembershipCallbacks
  readonly log: Pick<Logger, 'warn'>
}

const tickMs = 100
const claimPauseMs = 200

export class MembershipDriver {
  /** Shared with the threads of the node. */
  readonly leaseCell = new LeaseCell()
  readonly #options: MembershipDriverOptions
  readonly #membership: Membership
  readonly #commands = new Map<number, (problem: string | undefined) => void>()
  /** Shards that are being claimed, with their epoch. */
  readonly #claims = new Map<number, number>()
  #commandCount = 0
  #connection: MembershipConnection | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: MembershipDriverOptions) {
    this.#options = options
    this.#membership = new Membership(options.membership)
  }

  start(): void {
    this.#timer = setInterval(() => this.#handle({ kind: 'tick' }), tickMs)
    this.#handle({ kind: 'tick' })
  }

  /** Gives all shards to other nodes and ends this life; `onOwnLifeEnded` follows. */
  stop(): void {
    this.#handle({ kind: 'stop' })
  }

  /** Ends at once, as a crash: the other nodes notice it by the lease. */
  abort(): void {
    clearInterval(this.#timer)
    this.#claims.clear()
    this.#connection?.destroy()
    this.#connection = undefined
    this.leaseCell.write(undefined)
  }

  hasLease(): boolean {
    return this.#membership.hasLease(readClocks())
  }

  describe(): MembershipFacts {
    return describeMembership(this.#membership.state, readClocks())
  }

  createHeartbeat(to: Life): NodeHeartbeat {
    return this.#membership.createHeartbeat(to, readClocks())
  }

  receiveHeartbeat(heartbeat: NodeHeartbeat): void {
    this.#handle({ kind: 'heartbeat', heartbeat })
  }

  setLink(life: Life, isOpen: boolean): void {
    this.#handle({ kind: 'link', life, isOpen })
  }

  reportRestored({ shard, epoch }: ShardVersion): void {
    this.#handle({ kind: 'home-restored', shard, epoch })
  }

  reportFailed({ shard, epoch }: ShardVersion): void {
    this.#handle({ kind: 'home-failed', shard, epoch })
  }

  reportStopped({ shard, epoch }: ShardVersion): void {
    this.#handle({ kind: 'home-stopped', shard, epoch })
  }

  /** Resolves with why the command is refused; undefined: it is done. */
  runCommand(command: MembershipCommand): Promise<string | undefined> {
    const id = ++this.#commandCount
    return new Promise((resolve) => {
      this.#commands.set(id, resolve)
      this.#handle({ kind: 'command', id, command })
    })
  }

  #handle(input: MembershipInput): void {
    this.#membership.handle(input, readClocks())
    for (const output of this.#membership.takeOutputs()) this.#apply(output)
  }

  #apply(output: MembershipOutput): void {
    const { callbacks } = this.#options
    switch (output.kind) {
      case 'connect':
        this.#disconnect()
        void this.#connect(output.attempt)
        return
      case 'disconnect':
        return this.#disconnect()
      case 'run':
        void this.#run(output.transaction)
        return
      case 'lease':
        return this.leaseCell.write(output.lease)
      case 'life-joined':
        return callbacks.onLifeJoined(output.node)
      case 'life-ended':
        return callbacks.onLifeEnded(output.life)
      case 'home':
        return callbacks.onHome(output)
      case 'start-home':
        void this.#claim(output)
        return
      case 'stop-home':
        return this.#stopHome(output)
      case 'send-heartbeats':
        return callbacks.sendHeartbeats()
      case 'close-clients':
        return callbacks.closeClients()
      case 'command-done':
        this.#commands.get(output.id)?.(output.problem)
        this.#commands.delete(output.id)
        return
      case 'own-life-ended':
        return this.#end(output.reason)
      default:
        output satisfies never
    }
  }

  #disconnect(): void {
    this.#connection?.destroy()
    this.#connection = undefined
  }

  async #connect(attempt: number): Promise<void> {
    try {
      const { address, isReplicated } = this.#options
      const connection = await MembershipConnection.open({ address, isReplicated })
      if (this.#membership.state.session.attempt !== attempt || this.#membership.hasEnded) return connection.destroy()
      this.#connection = connection
      const { systemIdentifier, timeline } = connection.server
      this.#handle({ kind: 'connected', attempt, server: { systemIdentifier, timeline } })
    } catch (error) {
      this.#handle({ kind: 'disconnected', attempt, reason: describeError(error) })
    }
  }

  async #run(transaction: MembershipTransaction): Promise<void> {
    const { attempt } = transaction
    const connection = this.#connection
    try {
      if (connection === undefined) throw new Error('the connection to the database was closed')
      const { rows } = await connection.run(transaction)
      this.#handle({ kind: 'confirmed', attempt, rows })
    } catch (error) {
      connection?.destroy()
      this.#handle({ kind: 'disconnected', attempt, reason: describeError(error) })
    }
  }

  /** From the claim on, no earlier home writes the shard. An unknown outcome is followed by the same claim. */
  async #claim({ shard, epoch }: ShardVersion): Promise<void> {
    const { callbacks, membership } = this.#options
    this.#claims.set(shard, epoch)
    const isWanted = (): boolean => this.#claims.get(shard) === epoch
    while (isWanted()) {
      const isWriter = await this.#tryClaim({ shard, epoch, life: membership.life })
      if (!isWanted()) return
      if (isWriter !== undefined) {
        this.#claims.delete(shard)
        if (isWriter) callbacks.startHome({ shard, epoch })
        else this.reportStopped({ shard, epoch })
        return
      }
      await new Promise((resolve) => setTimeout(resolve, claimPauseMs))
    }
  }

  /** Undefined: the outcome is unknown. */
  async #tryClaim(home: ShardVersion & { readonly life: Life }): Promise<boolean | undefined> {
    try {
      return await claimShard(this.#options.findShardAddress(home.shard), home)
    } catch (error) {
      this.#options.log.warn('shard not taken over yet', { ...home, reason: describeError(error) })
      return undefined
    }
  }

  #stopHome({ shard, epoch, reason }: Extract<HomeOutput, { kind: 'stop-home' }>): void {
    if (this.#claims.get(shard) !== epoch) return this.#options.callbacks.stopHome({ shard, epoch }, reason)
    this.#claims.delete(shard)
    queueMicrotask(() => this.reportStopped({ shard, epoch }))
  }

  #end(reason: string | undefined): void {
    this.abort()
    for (const resolve of this.#commands.values()) resolve('this node ends')
    this.#commands.clear()
    this.#options.callbacks.onOwnLifeEnded(reason)
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
