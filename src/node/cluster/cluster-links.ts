// The connections of this node to the other nodes of its cluster: data connections in the link thread, heartbeat connections here.

import type { MessagePort } from 'node:worker_threads'
import {
  type AnnouncedShard,
  type Heartbeat,
  HeartbeatLinks,
  type Life,
  type LinkFailureReason,
  type LinkIdentity,
  linkLevels,
  type StartedShard,
} from '../../cluster/index.ts'
import {
  type ConnectionEnd,
  type LinkThreadToNode,
  type NodeAddress,
  type NodeSecurity,
  NodeSockets,
  type OtherNode,
} from '../../links/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'
import { LinkThread } from './link-thread.ts'

export interface ClusterLinksOptions {
  readonly identity: Omit<LinkIdentity, 'run' | 'levels'>
  /** Of the data connections. Heartbeat connections use the next port. */
  readonly listen: NodeAddress
  readonly security: NodeSecurity
  readonly log: Logger
  readonly alarms: Alarms
  /** Returns what another life is told twice per second. */
  createHeartbeat(life: Life): Heartbeat
  onHeartbeat(life: Life, heartbeat: Heartbeat): void
  /** The data connection to another life was opened or has ended. */
  onLink(life: Life, isOpen: boolean): void
  /** The port is one end of a link between a shard of this node and a shard of another one. Both may have ended meanwhile. */
  onChannel(local: AnnouncedShard, remote: AnnouncedShard, port: MessagePort): void
}

/** The state of the connections to one other node. */
export interface NodeLinkState {
  readonly isOpen: boolean
  /** Why the last connection, or the last attempt, has ended; undefined: none has. */
  readonly lastFailure: string | undefined
}

/** See `LifeLinkLimits`. */
const maxKeptBytes = 67_108_864
const filesAlarm = 'certificates:cluster'
/** Connections that name no node are logged at most once in this time, and all are counted. */
const minUnknownIntervalMs = 1_000

export class ClusterLinks {
  readonly #options: ClusterLinksOptions
  readonly #thread: LinkThread
  readonly #heartbeats: HeartbeatLinks
  readonly #sockets: NodeSockets
  readonly #open = new Map<Life, boolean>()
  /** By the name of the node. */
  readonly #failures = new Map<string, string>()
  /** When a connection of an unknown node was last logged. */
  #lastUnknownMs = Number.NEGATIVE_INFINITY
  /** Ends of connections by reason, for metrics. */
  readonly endsByReason = new Map<LinkFailureReason, number>()

  constructor(options: ClusterLinksOptions) {
    this.#options = options
    const { listen, security } = options
    const identity = { ...options.identity, levels: linkLevels }
    const own: LinkIdentity = { ...identity, run: 1 }
    this.#thread = new LinkThread({
      identity,
      start: { listen, security, maxKeptBytes },
      onMessage: (message) => this.#handleMessage(message),
      onFailure: (report) => options.log.error('link thread failed and is restarting', { report }),
    })
    this.#heartbeats = new HeartbeatLinks({
      own,
      createHeartbeat: (life) => options.createHeartbeat(life),
      onHeartbeat: (life, heartbeat) => options.onHeartbeat(life, heartbeat),
    })
    this.#sockets = new NodeSockets({
      purpose: 'heartbeat',
      identity: own,
      listen: { host: listen.host, port: listen.port + 1 },
      security,
      monotonicMs: () => performance.now(),
      isConnected: (life) => this.#heartbeats.isConnected(life),
      admit: (connection, hello, nowMs) => this.#heartbeats.admit(connection, hello, nowMs),
      onTick: () => this.#heartbeats.tick(),
      onEstablished: ({ nodeName, life }, address) => this.#reportEstablished('heartbeat', { nodeName, life, address }),
      onEnd: (end) => this.#reportEnd('heartbeat', end),
      onRefused: (reason) => this.#reportRefused(reason),
      // The link thread reads the same files, and reports them.
      onFilesProblem: () => {},
    })
  }

  /** Returns why this node cannot listen for others; undefined: it does. */
  async start(): Promise<string | undefined> {
    const { security, log } = this.#options
    if (security.tls === undefined) {
      const remedy = 'set cluster.tls, unless the network between the nodes is trusted'
      log.warn('connections between nodes are not encrypted', { remedy })
    }
    const started = await this.#thread.start()
    if ('problem' in started) return `cluster.listen: ${started.problem}`
    try {
      await this.#sockets.open()
      return undefined
    } catch (error) {
      await this.#thread.stop()
      return `cluster.listen: heartbeats use the port after it: ${(error as Error).message}`
    }
  }

  setNodes(others: readonly OtherNode[]): void {
    this.#thread.setNodes(others)
    this.#heartbeats.setLives(new Set(others.map(({ life }) => life)))
    this.#sockets.setNodes(others)
    for (const life of this.#open.keys()) if (!others.some((other) => other.life === life)) this.#open.delete(life)
  }

  addShard(shard: StartedShard): void {
    this.#thread.addShard(shard)
  }

  removeShard(shard: StartedShard): void {
    this.#thread.removeShard(shard)
  }

  readState({ life, name }: Pick<OtherNode, 'life' | 'name'>): NodeLinkState {
    return { isOpen: this.#open.get(life) === true, lastFailure: this.#failures.get(name) }
  }

  /** Sends heartbeats now, and not only twice per second. */
  sendHeartbeats(): void {
    this.#heartbeats.tick()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#sockets.close(), this.#thread.stop()])
  }

  #handleMessage(message: Exclude<LinkThreadToNode, { kind: 'ready' | 'failed' | 'stopped' }>): void {
    switch (message.kind) {
      case 'channel':
        return this.#options.onChannel(message.local, message.remote, message.port)
      case 'link':
        this.#open.set(message.life, message.isOpen)
        return this.#options.onLink(message.life, message.isOpen)
      case 'established':
        return this.#reportEstablished('data', message)
      case 'connection-ended':
        return this.#reportEnd('data', message.end)
      case 'refused':
        return this.#reportRefused(message.reason)
      case 'files-problem':
        return this.#reportFiles(message.message)
      default:
        message satisfies never
    }
  }

  #reportEstablished(
    purpose: 'data' | 'heartbeat',
    { nodeName, life, address }: { readonly nodeName: string; readonly life: Life; readonly address: string },
  ): void {
    this.#failures.delete(nodeName)
    this.#options.log.info('node connected', { node: nodeName, life, address, purpose })
  }

  #reportEnd(purpose: 'data' | 'heartbeat', end: ConnectionEnd): void {
    const { reason, message, isRemote, address, nodeName, wasEstablished } = end
    this.endsByReason.set(reason, (this.endsByReason.get(reason) ?? 0) + 1)
    // The other connection of the two nodes is in use.
    if (reason === 'duplicate' || reason === 'replaced' || reason === 'stopping') return
    if (nodeName !== undefined) {
      if (this.#failures.get(nodeName) === message && !wasEstablished) return
      this.#failures.set(nodeName, message)
    } else if (this.#isTooFrequent()) return
    const event = wasEstablished ? 'node disconnected' : 'node connection failed'
    this.#options.log.warn(event, { node: nodeName, address, purpose, reason, message, isRemote })
  }

  /** What does not say which node it is may come from anywhere, and as often as it likes. */
  #isTooFrequent(): boolean {
    const nowMs = performance.now()
    if (nowMs - this.#lastUnknownMs < minUnknownIntervalMs) return true
    this.#lastUnknownMs = nowMs
    return false
  }

  #reportRefused(reason: string): void {
    if (this.#isTooFrequent()) return
    this.#options.log.warn('node connection refused', { reason })
  }

  #reportFiles(message: string | undefined): void {
    const { alarms } = this.#options
    if (message === undefined) alarms.end(filesAlarm, 'the files of cluster.tls are valid again and in use')
    else alarms.raise(filesAlarm, `cluster.tls: ${message}; the previous files stay in use`)
  }
}
