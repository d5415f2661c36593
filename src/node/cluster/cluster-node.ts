// A node as a part of its cluster: runs the shards whose home it is, and links them to the shards of the other nodes.

import type { MessagePort } from 'node:worker_threads'
import type { AnnouncedShard, Heartbeat, Life, StartedShard } from '../../cluster/index.ts'
import type { ClusterConfig } from '../../config/index.ts'
import { parseStoreUrl, prepareDatabase, StorageFailure, type StoreAddress } from '../../storage/index.ts'
import type { ShardStart } from '../../shard/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'
import type { ShardSupervisor, ShardThreadObserver } from '../shards/shard-supervisor.ts'
import { ClusterLinks, type NodeLinkState } from './cluster-links.ts'
import type { ClusterMembers, ClusterView } from './cluster-members.ts'

export interface ClusterNodeOptions {
  readonly config: ClusterConfig
  readonly nodeName: string
  readonly members: ClusterMembers
  readonly log: Logger
  readonly alarms: Alarms
}

/** Where a shard that moves to another node has this long to stop, in ms. */
const shardStopMs = 8_000
/** Without a pause, a message that can never be read would open links all the time. */
const reopenLinksAfterMs = 1_000

export class ClusterNode implements ShardThreadObserver {
  readonly #options: ClusterNodeOptions
  /** Of `cluster.stores`; or why the URL cannot be used, which `start` reports. */
  readonly #stores: readonly (StoreAddress | { readonly problem: string })[]
  readonly #links: ClusterLinks
  #supervisor: ShardSupervisor | undefined
  /** Running shards of this node, by number. */
  readonly #running = new Map<number, StartedShard>()
  /** Epochs of the shards whose home this node is. */
  readonly #homes = new Map<number, number>()
  /** Starts and stops of each shard, one after the other. */
  readonly #work = new Map<number, Promise<void>>()
  /** The last incarnation of each shard. */
  readonly #incarnations = new Map<number, number>()
  /** Monotonic time of the last heartbeat of each life. */
  readonly #heartbeatAtMs = new Map<Life, number>()

  constructor(options: ClusterNodeOptions) {
    this.#options = options
    const { config, nodeName, members, log, alarms } = options
    this.#stores = config.stores.map(parseStoreUrl)
    this.#links = new ClusterLinks({
      identity: { clusterId: config.name, nodeName, life: members.life, storeIdentifiers: [] },
      listen: config.listen,
      security: { secret: config.secret, tls: config.tls },
      log,
      alarms,
      createHeartbeat: (life) => this.#createHeartbeat(life),
      onHeartbeat: (life) => void this.#heartbeatAtMs.set(life, performance.now()),
      onLink: (life, isOpen) => this.#reportLink(life, isOpen),
      onChannel: (local, remote, port) => this.#linkShards(local, remote, port),
    })
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

  /** Checks the databases, listens for other nodes and dials them. Returns why that is not possible; undefined: it is done. */
  async start(supervisor: ShardSupervisor): Promise<string | undefined> {
    this.#supervisor = supervisor
    const problem = (await this.#prepareDatabases()) ?? (await this.#links.start())
    if (problem !== undefined) return problem
    const { members } = this.#options
    for (const shard of this.listHosted()) this.#homes.set(shard, members.view.homes[shard]?.epoch ?? 0)
    members.onChange = (view) => this.#applyView(view)
    this.#links.setNodes(members.view.others)
    return undefined
  }

  /** Call it when all shards have stopped. */
  async stop(): Promise<void> {
    this.#options.members.onChange = ignore
    await this.#links.stop()
  }

  /** The state of the connections to each other node, by its name. */
  readLinks(): ReadonlyMap<string, NodeLinkState> {
    return new Map(this.#options.members.view.others.map((node) => [node.name, this.#links.readState(node)]))
  }

  handleThreadStart(shard: number): void {
    const incarnation = (this.#incarnations.get(shard) ?? 0) + 1
    this.#incarnations.set(shard, incarnation)
    const epoch = this.#options.members.view.homes[shard]?.epoch ?? 0
    const started: StartedShard = { name: { stored: shard }, epoch, incarnation }
    this.#running.set(shard, started)
    this.#links.addShard(started)
  }

  handleThreadEnd(shard: number): void {
    const started = this.#running.get(shard)
    this.#running.delete(shard)
    if (started !== undefined) this.#links.removeShard(started)
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
    this.#homes.delete(shard)
    this.#options.log.warn('shard stopped: another node is its home', { shard, reason })
  }

  #applyView({ others, homes }: ClusterView): void {
    this.#links.setNodes(others)
    const { life } = this.#options.members
    for (const [shard, home] of homes.entries()) {
      const epoch = home?.life === life ? home.epoch : undefined
      if (epoch === this.#homes.get(shard)) continue
      const isRunning = this.#homes.has(shard)
      if (epoch === undefined) this.#homes.delete(shard)
      else this.#homes.set(shard, epoch)
      const earlier = this.#work.get(shard) ?? Promise.resolve()
      const next = earlier.then(() => this.#moveShard(shard, { isRunning, isHome: epoch !== undefined }))
      this.#work.set(shard, next)
    }
  }

  /** Stops a shard of which this node is not the home any more, or starts one of which it has become the home. */
  async #moveShard(shard: number, { isRunning, isHome }: { isRunning: boolean; isHome: boolean }): Promise<void> {
    const supervisor = this.#supervisor
    if (supervisor === undefined) return
    const { log, alarms } = this.#options
    if (isRunning) await supervisor.stopShard(shard, shardStopMs)
    if (!isHome) return
    log.info('shard starts: this node is its home', { shard, epoch: this.#homes.get(shard) })
    const outcome = await supervisor.startShard(shard, this.#createStoreStart(shard))
    if (!outcome.ready)
      alarms.raise('shards', `stored shard ${shard} did not start: ${outcome.message}`, `shard ${shard}`)
  }

  #createStoreStart(shard: number): Partial<ShardStart> {
    const { config, members } = this.#options
    const address = this.#stores[shard % this.#stores.length]
    const epoch = members.view.homes[shard]?.epoch
    if (address === undefined || 'problem' in address || epoch === undefined) return {}
    return { clusterStore: { address, isReplicated: config.storeIsReplicated, life: members.life, epoch } }
  }

  async #prepareDatabases(): Promise<string | undefined> {
    const { shards, storeIsReplicated: isReplicated } = this.#options.config
    const stores = this.#stores.length
    let clusterId: string | undefined
    for (const [store, address] of this.#stores.entries()) {
      if ('problem' in address) return `cluster.stores: number ${store} ${address.problem}`
      try {
        ;({ clusterId } = await prepareDatabase({ address, store, stores, shards, clusterId, isReplicated }))
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        return `cluster.stores: number ${store}: ${error.message}`
      }
    }
    return undefined
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

  #createHeartbeat(life: Life): Heartbeat {
    const lastMs = this.#heartbeatAtMs.get(life)
    const silenceMs = lastMs === undefined ? 0 : Math.round(performance.now() - lastMs)
    return { wallClockMs: Date.now(), hasLease: true, version: 0, silenceMs, stores: [] }
  }

  #reportLink(life: Life, isOpen: boolean): void {
    const node = this.#options.members.view.others.find((other) => other.life === life)
    if (node === undefined) return
    const { alarms } = this.#options
    const name = `node-unreachable:${node.name}` as const
    if (isOpen) alarms.end(name, `the node ${node.name} is connected again`)
    else alarms.raise(name, `the node ${node.name} is not connected: messages for its shards wait`)
  }
}

const ignore = (): void => {}
