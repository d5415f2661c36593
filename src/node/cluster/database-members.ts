// The members of a cluster as the database decides them: the view follows the membership of this node.

import { randomBytes } from 'node:crypto'
import type { Heartbeat, Life, MembershipCommand, MembershipFacts, NodeRow, ShardVersion } from '../../cluster/index.ts'
import type { ClusterConfig } from '../../config/index.ts'
import type { OtherNode } from '../../links/index.ts'
import type { StoreAddress } from '../../storage/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { ClusterEvents, ClusterMembers, ClusterView, ShardHome, ShardReport } from './cluster-members.ts'
import { MembershipDriver } from './membership-driver.ts'
import { formatNodeAddress, parseNodeAddress } from './node-address.ts'

export interface DatabaseMembersOptions {
  readonly config: ClusterConfig
  /** Of `config.stores`, in the same order, at least one. */
  readonly stores: readonly [StoreAddress, ...StoreAddress[]]
  readonly nodeName: string
  readonly log: Logger
}

const lifeBytes = 8
const leaseMs = 5_000
const isolationTimeoutMs = 15_000
const maxClockSkewMs = 2_000
/** A node that joins gets shards after this time, and the others have connected to it. */
const balanceIntervalMs = 3_000

export class DatabaseMembers implements ClusterMembers {
  readonly life: Life = randomBytes(lifeBytes).toString('hex')
  readonly #options: DatabaseMembersOptions
  readonly #driver: MembershipDriver
  readonly #others = new Map<Life, OtherNode>()
  /** Homes that the database names. */
  readonly #homes: (ShardHome | undefined)[]
  /** Epochs of the shards that this node runs or starts. */
  readonly #own = new Map<number, number>()
  readonly #lost = new Set<number>()
  #view: ClusterView
  #events: ClusterEvents | undefined
  #hasEnded = false
  #timer: NodeJS.Timeout | undefined
  #settleStop: (() => void) | undefined

  constructor(options: DatabaseMembersOptions) {
    this.#options = options
    const { config, stores, nodeName: name, log } = options
    const [address] = stores
    this.#homes = Array.from({ length: config.shards }, () => undefined)
    this.#view = { others: [], homes: this.#homes, lost: this.#lost }
    this.#driver = new MembershipDriver({
      membership: {
        life: this.life,
        name,
        role: 'core',
        address: formatNodeAddress(config.advertise),
        leaseMs,
        isolationTimeoutMs,
        maxClockSkewMs,
      },
      address,
      findShardAddress: (shard) => stores[shard % stores.length] ?? address,
      isReplicated: config.storeIsReplicated,
      callbacks: {
        onLifeJoined: (node) => this.#addNode(node),
        onLifeEnded: (life) => this.#removeNode(life),
        onHome: ({ shard, epoch, life }) => {
          this.#homes[shard] = life === undefined ? undefined : { life, epoch }
          this.#change()
        },
        startHome: ({ shard, epoch }) => {
          this.#own.set(shard, epoch)
          this.#lost.delete(shard)
          this.#change()
        },
        stopHome: ({ shard }, reason) => {
          this.#own.delete(shard)
          if (reason === 'lost') this.#lost.add(shard)
          this.#change()
        },
        sendHeartbeats: () => this.#events?.sendHeartbeats(),
        closeClients: () => this.#events?.onEnd('it has had no lease for 15 s, and another node has one'),
        onOwnLifeEnded: (reason) => this.#handleEnd(reason),
      },
      log,
    })
  }

  get view(): ClusterView {
    return this.#view
  }

  get lease(): SharedArrayBuffer {
    return this.#driver.leaseCell.buffer
  }

  describe(): MembershipFacts {
    return this.#driver.describe()
  }

  runCommand(command: MembershipCommand): Promise<string | undefined> {
    return this.#hasEnded ? Promise.resolve('this node ends') : this.#driver.runCommand(command)
  }

  start(events: ClusterEvents): void {
    this.#events = events
    this.#driver.start()
    this.#timer = setInterval(() => this.#requestShards(), balanceIntervalMs)
  }

  report(report: ShardReport, shard: ShardVersion): void {
    if (report === 'restored') return this.#driver.reportRestored(shard)
    if (this.#own.get(shard.shard) === shard.epoch) {
      this.#own.delete(shard.shard)
      this.#change()
    }
    if (report === 'failed') this.#driver.reportFailed(shard)
    else this.#driver.reportStopped(shard)
  }

  setLink(life: Life, isOpen: boolean): void {
    this.#driver.setLink(life, isOpen)
  }

  createHeartbeat(to: Life): Heartbeat {
    const { wallClockMs, hasLease, server, version, silenceMs } = this.#driver.createHeartbeat(to)
    return { wallClockMs, hasLease, version, silenceMs: Math.round(silenceMs), stores: [server] }
  }

  receiveHeartbeat(life: Life, heartbeat: Heartbeat): void {
    const { wallClockMs, hasLease, version, silenceMs, stores } = heartbeat
    this.#driver.receiveHeartbeat({ life, wallClockMs, hasLease, version, silenceMs, server: stores[0] })
  }

  stop(deadlineMs: number): Promise<void> {
    clearInterval(this.#timer)
    if (this.#events === undefined || this.#hasEnded) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#options.log.warn('node stopped without ending its life: other nodes take its shards later')
        this.#driver.abort()
        resolve()
      }, deadlineMs)
      this.#settleStop = () => {
        clearTimeout(timer)
        resolve()
      }
      this.#driver.stop()
    })
  }

  /** Stored shards accept the clients of their node: without one, this node accepts none. */
  #requestShards(): void {
    const { hasLease, nodes, shards } = this.#driver.describe()
    const isSettled = shards.every(({ state }) => state === 'running') && nodes.every(({ state }) => state === 'member')
    const isHome = shards.some(({ home }) => home === this.#options.nodeName)
    if (!hasLease || !isSettled || isHome || shards.length < nodes.length) return
    this.#driver.runCommand({ kind: 'rebalance' }).then(
      (problem) => {
        if (problem !== undefined) this.#options.log.warn('shards not rebalanced', { problem })
      },
      (error: unknown) => this.#options.log.error('shards not rebalanced', { problem: String(error) }),
    )
  }

  #addNode({ life, name, address: text }: NodeRow): void {
    if (life === this.life) return
    const address = parseNodeAddress(text)
    if (address === undefined) {
      this.#options.log.error('node not connected: its address in the database is invalid', {
        node: name,
        address: text,
      })
      return
    }
    this.#others.set(life, { life, name, address })
    this.#change()
  }

  #removeNode(life: Life): void {
    if (this.#others.delete(life)) this.#change()
  }

  #handleEnd(reason: string | undefined): void {
    this.#hasEnded = true
    clearInterval(this.#timer)
    this.#settleStop?.()
    if (reason !== undefined) this.#events?.onEnd(reason)
  }

  #change(): void {
    const homes = this.#homes.map((home, shard): ShardHome | undefined => {
      const epoch = this.#own.get(shard)
      if (epoch !== undefined) return { life: this.life, epoch }
      return home?.life === this.life ? undefined : home
    })
    const others = [...this.#others.values()]
    this.#view = { others, homes, lost: this.#lost }
    this.#events?.onChange(this.#view)
  }
}
