// A node as a part of its cluster: runs the shards whose home it is, and links them to the shards of the other nodes.

import type { MessagePort } from 'node:worker_threads'
import type {
  AnnouncedShard,
  Life,
  MembershipCommand,
  MembershipFacts,
  ShardVersion,
  StartedShard,
} from '../../cluster/index.ts'
import type { ClusterConfig } from '../../config/index.ts'
import { formatStoreAddress, prepareDatabase, StorageFailure, type StoreAddress } from '../../storage/index.ts'
import type { ShardStart } from '../../shard/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'
import type { ShardSupervisor, ShardThreadObserver } from '../shards/shard-supervisor.ts'
import { StallAlarms } from './stall-alarms.ts'
import { ClusterLinks, type NodeLinkState } from './cluster-links.ts'
import type { ClusterMembers, ClusterView, ShardReport } from './cluster-members.ts'

export interface ClusterNodeOptions {
  readonly config: ClusterConfig
  /** Of `config.stores`, in the same order. Empty: shards have the LevelDB of their node. */
  readonly stores: readonly StoreAddress[]
  readonly nodeName: string
  readonly members: ClusterMembers
  readonly log: Logger
  readonly alarms: Alarms
  /** This node is not a member any more, so its process must end. */
  onEnd(reason: string): void
}

/** Where a shard that moves to another node has this long to stop, in ms. */
const shardStopMs = 8_000
/** Without a pause, a message that can never be read would open links all the time. */
const reopenLinksAfterMs = 1_000
const stallCheckMs = 1_000

export interface ClusterFacts {
  readonly membership: MembershipFacts
  /** Hosts and name of each database, in the order of `cluster.stores`. */
  readonly databases: readonly string[]
  /** By the name of the other node. */
  readonly links: ReadonlyMap<string, NodeLinkState>
}

export class ClusterNode implements ShardThreadObserver {
  readonly #options: ClusterNodeOptions
  /** Undefined until the databases are prepared. */
  #links: ClusterLinks | undefined
  #supervisor: ShardSupervisor | undefined
  /** Running shards of this node, by number. */
  readonly #running = new Map<number, StartedShard>()
  /** Epochs of the shards whose home this node is. */
  readonly #homes = new Map<number, number>()
  /** Shards that the supervisor has started and not been told to stop. */
  readonly #supervised = new Set<number>()
  /** Starts and stops of each shard, one after the other. */
  readonly #work = new Map<number, Promise<void>>()
  /** The last incarnation of each shard. */
  readonly #incarnations = new Map<number, number>()
  #others: ClusterView['others'] = []
  readonly #stallAlarms: StallAlarms
  #timer: NodeJS.Timeout | undefined
  #hasEnded = false

  constructor(options: ClusterNodeOptions) {
    this.#options = options
    this.#stallAlarms = new StallAlarms(options.alarms)
  }

  /** Numbers of the shards whose home this node is. */
  listHosted(): readonly number[] {
    const { life, view } = this.#options.members
    return [...view.homes.keys()].filter((shard) => view.homes[shard]?.life === life)
  }

  /** Returns the start parameters of the shards with their databases. */
  addStores(starts: readonly ShardStart[]): readonly ShardStart[] {
    return starts.map((start) => ({ ...start, ...this.#createStoreStart(start.shardNumber) }))
  }

  /** Checks the databases, listens for other nodes and joins the cluster. Returns why that is not possible; undefined: it is done. */
  async start(supervisor: ShardSupervisor): Promise<string | undefined> {
    this.#supervisor = supervisor
    const { members } = this.#options
    const prepared = await this.#prepareDatabases()
    if ('problem' in prepared) return prepared.problem
    const links = this.#createLinks(prepared.clusterId)
    const problem = await links.start()
    if (problem !== undefined) return problem
    this.#links = links
    for (const shard of this.listHosted()) {
      this.#homes.set(shard, members.view.homes[shard]?.epoch ?? 0)
      this.#supervised.add(shard)
    }
    links.setNodes(members.view.others)
    members.start({
      onChange: (view) => this.#applyView(view),
      sendHeartbeats: () => links.sendHeartbeats(),
      onEnd: (reason) => this.#end(reason),
    })
    this.#timer = setInterval(() => this.#stallAlarms.check(members.describe()?.stalls ?? []), stallCheckMs)
    return undefined
  }

  /** Gives the shards of this node to others. Call it before the shards are stopped. */
  async leave(deadlineMs: number): Promise<void> {
    clearInterval(this.#timer)
    if (this.#links !== undefined) await this.#options.members.stop(deadlineMs)
  }

  /** This life is over: nothing that a shard still does has an effect, so none is waited for. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Call it when all shards have stopped. */
  async stop(): Promise<void> {
    await this.#links?.stop()
    this.#links = undefined
  }

  /** What an administrator sees of the cluster from this node. Undefined: the members are fixed. */
  describe(): ClusterFacts | undefined {
    const membership = this.#options.members.describe()
    const databases = this.#options.stores.map(formatStoreAddress)
    return membership === undefined ? undefined : { membership, databases, links: this.readLinks() }
  }

  /** Resolves with why the command is refused; undefined: it is done. */
  runCommand(command: MembershipCommand): Promise<string | undefined> {
    return this.#options.members.runCommand(command)
  }

  /** The state of the connections to each other node, by its name. */
  readLinks(): ReadonlyMap<string, NodeLinkState> {
    const links = this.#links
    if (links === undefined) return new Map()
    return new Map(this.#options.members.view.others.map((node) => [node.name, links.readState(node)]))
  }

  handleThreadStart(shard: number): void {
    const incarnation = (this.#incarnations.get(shard) ?? 0) + 1
    this.#incarnations.set(shard, incarnation)
    const epoch = this.#options.members.view.homes[shard]?.epoch ?? 0
    const started: StartedShard = { name: { stored: shard }, epoch, incarnation }
    this.#running.set(shard, started)
    this.#links?.addShard(started)
  }

  handleThreadEnd(shard: number): void {
    const started = this.#running.get(shard)
    this.#running.delete(shard)
    if (started !== undefined) this.#links?.removeShard(started)
  }

  /** Both sides open all links of the shard again: the other node sees its end and its next incarnation. */
  handleLinkFailure(shard: number): void {
    const failed = this.#running.get(shard)
    setTimeout(() => {
      if (failed === undefined || this.#running.get(shard) !== failed) return
      this.handleThreadEnd(shard)
      this.handleThreadStart(shard)
    }, reopenLinksAfterMs).unref()
  }

  handleHomeLost(shard: number, reason: string): void {
    this.#options.log.warn('shard stopped: another node is its home', { shard, reason })
    this.#drop(shard, 'stopped')
  }

  handleRestartLimit(shard: number, message: string): void {
    this.#options.alarms.raise('shards', `stored shard ${shard} does not run: ${message}`, `shard ${shard}`)
    this.#drop(shard, 'failed')
  }

  /** The shard has ended by itself. */
  #drop(shard: number, report: ShardReport): void {
    const epoch = this.#homes.get(shard)
    this.#supervised.delete(shard)
    if (epoch === undefined) return
    this.#homes.delete(shard)
    this.#options.members.report(report, { shard, epoch })
  }

  #end(reason: string): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#options.log.error('this node is not a member of the cluster any more', { reason })
    this.#options.onEnd(`this node is not a member of the cluster any more: ${reason}`)
  }

  #createLinks(clusterId: string): ClusterLinks {
    const { config, nodeName, members, log, alarms } = this.#options
    return new ClusterLinks({
      identity: { clusterId, nodeName, life: members.life, storeIdentifiers: [] },
      listen: config.listen,
      security: { secret: config.secret, tls: config.tls },
      log,
      alarms,
      createHeartbeat: (life) => members.createHeartbeat(life),
      onHeartbeat: (life, heartbeat) => members.receiveHeartbeat(life, heartbeat),
      onLink: (life, isOpen) => this.#reportLink(life, isOpen),
      onChannel: (local, remote, port) => this.#linkShards(local, remote, port),
    })
  }

  #applyView({ others, homes, lost }: ClusterView): void {
    this.#followNodes(others)
    const { life } = this.#options.members
    for (const [shard, home] of homes.entries()) {
      const epoch = home?.life === life ? home.epoch : undefined
      const earlier = this.#homes.get(shard)
      if (epoch === earlier) continue
      if (epoch === undefined) this.#homes.delete(shard)
      else this.#homes.set(shard, epoch)
      const stopMs = lost.has(shard) ? 0 : shardStopMs
      const stopped = earlier === undefined ? undefined : this.#stopShard({ shard, epoch: earlier }, stopMs)
      const work = Promise.all([this.#work.get(shard), stopped])
      this.#work.set(
        shard,
        work.then(() => (epoch === undefined ? undefined : this.#startShard({ shard, epoch }))),
      )
    }
  }

  #followNodes(others: ClusterView['others']): void {
    const { alarms } = this.#options
    for (const { name, life } of this.#others) {
      if (others.some((other) => other.life === life)) continue
      alarms.end(`node-unreachable:${name}`, `the life ${life} of the node ${name} has ended`)
    }
    this.#others = others
    this.#links?.setNodes(others)
  }

  /** Interrupts a start that is in progress. */
  async #stopShard(version: ShardVersion, deadlineMs: number): Promise<void> {
    const { shard } = version
    const earlier = this.#work.get(shard)
    const stopped = this.#supervised.delete(shard) ? this.#supervisor?.stopShard(shard, deadlineMs) : undefined
    await Promise.all([earlier, stopped])
    this.#options.members.report('stopped', version)
  }

  async #startShard(version: ShardVersion): Promise<void> {
    const { shard, epoch } = version
    const { log, alarms, members } = this.#options
    if (this.#supervisor === undefined || this.#homes.get(shard) !== epoch) return
    log.info('shard starts: this node is its home', { shard, epoch })
    this.#supervised.add(shard)
    const outcome = await this.#supervisor.startShard(shard, this.#createStoreStart(shard))
    // Otherwise it was stopped meanwhile.
    if (this.#homes.get(shard) !== epoch || !this.#supervised.has(shard)) return
    if (outcome.ready) {
      alarms.end('shards', `stored shard ${shard} runs`, `shard ${shard}`)
      return members.report('restored', version)
    }
    alarms.raise('shards', `stored shard ${shard} did not start: ${outcome.message}`, `shard ${shard}`)
    this.#drop(shard, outcome.isInternal ? 'failed' : 'stopped')
  }

  #createStoreStart(shard: number): Partial<ShardStart> {
    const { config, members, stores } = this.#options
    const address = stores[shard % stores.length]
    const epoch = members.view.homes[shard]?.epoch
    if (address === undefined || epoch === undefined) return {}
    const { life, lease } = members
    return { clusterStore: { address, isReplicated: config.storeIsReplicated, life, epoch, lease } }
  }

  /** Returns the ID with which nodes recognize each other: of the first database, which other clusters of the same name do not have. */
  async #prepareDatabases(): Promise<{ readonly clusterId: string } | { readonly problem: string }> {
    const { config, stores: addresses } = this.#options
    const { name, shards, storeIsReplicated: isReplicated } = config
    const stores = addresses.length
    let clusterId: string | undefined
    for (const [store, address] of addresses.entries()) {
      try {
        ;({ clusterId } = await prepareDatabase({ address, store, stores, shards, clusterId, isReplicated }))
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        return { problem: `cluster.stores: number ${store}: ${error.message}` }
      }
    }
    return { clusterId: clusterId === undefined ? name : `${name}/${clusterId}` }
  }

  #linkShards(local: AnnouncedShard, remote: AnnouncedShard, port: MessagePort): void {
    if (!('stored' in local.name) || !('stored' in remote.name)) return port.close()
    const shard = local.name.stored
    const peer = remote.name.stored
    const knownEpoch = this.#options.members.view.homes[peer]?.epoch ?? 0
    const isCurrent = this.#running.get(shard)?.incarnation === local.incarnation && remote.epoch >= knownEpoch
    // The shard has restarted meanwhile, or the other node is not the home of its shard any more.
    if (!isCurrent || this.#running.has(peer)) return port.close()
    this.#supervisor?.addRemoteLink(shard, peer, port)
  }

  #reportLink(life: Life, isOpen: boolean): void {
    this.#options.members.setLink(life, isOpen)
    const node = this.#options.members.view.others.find((other) => other.life === life)
    if (node === undefined) return
    const { alarms } = this.#options
    const name = `node-unreachable:${node.name}` as const
    if (isOpen) alarms.end(name, `the node ${node.name} is connected again`)
    else alarms.raise(name, `the node ${node.name} is not connected: messages for its shards wait`)
  }
}
