// The broker in the simulated world: its shards (usually one), their clock, their links, and the connections of clients. It lets
// one or all shards fail, and restarts them from the disk.

import assert from 'node:assert/strict'
import {
  computeOwnerShard,
  maxStoredShards,
  type BrokerCore,
  type BrokerEvent,
  type AuthenticationResult,
  type CoreSettings,
  type Input,
  type LocalShardName,
  type MatchRegex,
} from '../../src/core/index.ts'
import type {
  ConnectionOrigin,
  ListenerTraits,
  NamespaceQuotas,
  NamespaceSettings,
  Permissions,
  CoreRequest,
  RuleHook,
} from '../../src/core/index.ts'
import type { ConnectPacket } from '../../src/protocol/index.ts'
import { BrokerStream } from './broker-stream.ts'
import type { CrashKind, Disk } from './disk.ts'
import { PacketMonitor } from './packet-monitor.ts'
import { whenReady, type Eventually, type StartRecords } from './record-store.ts'
import { Link, type NetworkTraits } from './network.ts'
import { openPipe, type PipeEnd } from './peer-pipe.ts'
import { ShardHost, type ShardDependencies } from './shard-host.ts'
import type { Stage } from './stage.ts'

type ConnectRequest = CoreRequest & { kind: 'authenticate' }
type AuthenticateRequest = CoreRequest & { kind: 'continue-authentication' }
type MayDoRequest = CoreRequest & { kind: 'authorize' }

export interface HostTraits {
  /** Maximum duration of a turn, which handles all inputs of this time. */
  maxTurnMs: number
  /** Maximum delay of a link buffer between shards. */
  maxLinkMs: number
  /** The response to `authenticate`, and its delay. */
  decision: (request: ConnectRequest) => { decision: AuthenticationResult; afterMs: number }
  /** The response to `authenticate`; if undefined, every authentication fails. */
  authenticate?: (request: AuthenticateRequest) => AuthenticationResult
  /** The access decision; if undefined, all actions are allowed. */
  permissions?: Permissions
  /** Maps clients to namespaces; if undefined, no client belongs to a namespace. */
  namespaces?: NamespaceSettings
  /** Quotas of namespaces, as shard `own` knows them; default: no limits. */
  quotas?: (own: number) => NamespaceQuotas
  /** The name that the bridges of this broker put into loop markers; if undefined, there is none. */
  brokerName?: string
  /** Maximum number of reported drops in a tenth of a second; default: no limit. */
  maxDropEvents?: number
  /** Runs rules on shard `own`; default: no rules. */
  ruleHook?: (own: number) => RuleHook
  /** Matches expressions of `rewrite`; default: those of JavaScript. */
  matchRegex?: MatchRegex
  /** Called for each `authorize` request before its response, so that `permissions` can decide. Returns the delay. */
  mayDo?: (request: MayDoRequest) => number
  /** Listener and origin of connections that are opened from now on. */
  listener?: Partial<ListenerTraits>
  arrival?: ConnectionOrigin
  /** Difference between the clock of the broker and that of the world. */
  clockOffsetMs: number
  /** A defect on purpose, to test the oracles: packets that must wait for the disk are sent before. */
  acknowledgesEarly: boolean
}

const noRecords: StartRecords = { records: [], queues: [], payloadReferences: [] }

/** A CONNECT for a shard that failed is refused after this time, unless the shard has restarted. */
const relayTimeoutMs = 1_000

export class BrokerHost implements ShardDependencies {
  readonly stage: Stage
  readonly traits: HostTraits
  settings: CoreSettings
  /** Events that the broker reported, also before restarts. */
  readonly events: BrokerEvent[]
  readonly undoneDrops: Set<BrokerEvent>
  readonly watch: PacketMonitor
  readonly streams: Set<BrokerStream>
  readonly shards: readonly ShardHost[]
  /** Local shards, each with the name of its last start. */
  readonly locals: ShardHost[]
  /** Clients whose sessions are on a local shard, by its place in `locals`: always with clean sessions, and without a will. */
  readonly localClients: Map<string, number>
  /** A shutdown was requested and is not complete. */
  isStopping: boolean
  isRunning: boolean
  /** Time of the last failure of a single shard. */
  shardDiedAtMs: number
  private readonly disks: readonly Disk[]
  /** Nothing is written to them. */
  private readonly localDisks: readonly Disk[]
  private lives = 0
  /** The end of each link, by "shard peer". */
  private readonly pipes: Map<string, PipeEnd>
  private streamCount: number
  private aheadMs: number

  constructor(
    stage: Stage,
    disks: readonly Disk[],
    options: { settings: CoreSettings; traits: HostTraits; locals?: readonly Disk[] },
  ) {
    this.stage = stage
    this.settings = options.settings
    this.traits = options.traits
    this.events = []
    this.undoneDrops = new Set()
    this.streams = new Set()
    this.watch = new PacketMonitor(stage, () => ({
      maxInflightMessages: this.settings.maxInflightMessages,
      retryIntervalMs: this.settings.retryIntervalMs,
      nowMs: this.nowMs,
      isFailing: disks.some((disk) => disk.isFailing),
    }))
    this.isStopping = false
    this.isRunning = false
    this.shardDiedAtMs = -Infinity
    this.disks = disks
    this.shards = disks.map((disk, own) => new ShardHost(this, disk, { own, count: disks.length }))
    this.localDisks = options.locals ?? []
    this.locals = this.localDisks.map((_, slot) => this.createLocal(slot))
    this.localClients = new Map()
    this.pipes = new Map()
    this.streamCount = 0
    this.aheadMs = 0
  }

  /** The core that owns the session of the client; without a client, the core of the first shard. */
  coreOf(clientId = ''): BrokerCore {
    return clientId === '' ? this.shards[0].core : this.findHome(clientId).core
  }

  /** All shards run and are linked. */
  get isOpen(): boolean {
    return this.all.every((shard) => shard.isOpen)
  }

  /** The shard of this client runs and responds, whatever it knows of its peers. */
  isServing(clientId: string): boolean {
    return !this.isStopping && this.findHome(clientId).isRunning
  }

  /** Stored and local shards. */
  get all(): readonly ShardHost[] {
    return [...this.shards, ...this.locals]
  }

  findHome(clientId: string): ShardHost {
    const slot = this.localClients.get(clientId)
    return slot === undefined ? this.shards[computeOwnerShard(clientId, this.shards.length)] : this.locals[slot]
  }

  /** The clock of the broker: steady, and never before the time that the previous process stored. */
  get nowMs(): number {
    return this.stage.nowMs + this.aheadMs
  }

  /** Starts a broker with the records of the disk. */
  start(): Eventually<void> {
    if (this.isRunning) throw new Error('the broker is running already')
    return whenReady(this.disks[0].readStart(), (found) => this.startWith(found))
  }

  /** The process is killed, or the power fails. Connections break; the disk keeps its records. */
  die(death: CrashKind): Eventually<void> {
    if (!this.isRunning) return undefined
    this.stage.record('broker', () => `dies: ${death}`)
    this.watch.wills.crashed(() => true)
    this.watch.restarted(() => true)
    this.isRunning = false
    this.isStopping = false
    this.pipes.clear()
    for (const stream of this.streams) if (stream.shard === undefined) this.lose(stream)
    let last: Eventually<void> = undefined
    for (const shard of this.all) last = whenReady(last, () => (shard.isRunning ? shard.die(death) : undefined))
    return last
  }

  /** One shard fails; the others continue. */
  killShard(own: number): Eventually<void> {
    return this.killOne(this.shards[own], own)
  }

  /** A local shard ends for good: its sessions end with it. */
  killLocal(slot: number): Eventually<void> {
    return this.killOne(this.locals[slot], this.shards.length + slot)
  }

  /** `own`: the place of the shard in `all`. */
  private killOne(shard: ShardHost, own: number): Eventually<void> {
    if (!shard.isRunning || this.isStopping) return undefined
    const isOfShard = (clientId: string): boolean => this.findHome(clientId) === shard
    this.stage.record(shard.name, () => 'dies')
    this.shardDiedAtMs = this.stage.nowMs
    this.watch.wills.crashed(isOfShard)
    this.watch.restarted(isOfShard)
    // Sockets that the shard accepted for other shards are closed.
    for (const stream of this.streams) {
      if (stream.acceptedBy === own && stream.shard !== shard) stream.link.break({ clientAfterMs: 0, brokerAfterMs: 0 })
    }
    for (const [ends, pipe] of this.pipes) {
      if (!ends.split(' ').includes(String(own))) continue
      this.pipes.delete(ends)
      if (ends.startsWith(`${own} `)) pipe.die()
    }
    return shard.die('kill')
  }

  /** Restarts the shard with its stored records. */
  restartShard(own: number): Eventually<void> {
    const shard = this.shards[own]
    if (!this.isRunning || this.isStopping || shard.isRunning) return undefined
    return whenReady(this.disks[own].readAgain(), (found) => {
      if (!this.isRunning || this.isStopping || shard.isRunning) return
      shard.start(found, this.runningLocals)
      this.watch.wills.restarted((clientId) => this.findHome(clientId) === shard)
      for (const other of this.all) if (other !== shard && other.isRunning) this.connect(shard, other)
    })
  }

  /** Starts a local shard with a new name in the place of one that has ended. */
  startLocal(slot: number): void {
    if (!this.isRunning || this.isStopping || this.locals[slot].isRunning) return
    const local = this.createLocal(slot)
    this.locals[slot] = local
    local.start(noRecords, this.runningLocals)
    this.watch.wills.restarted((clientId) => this.findHome(clientId) === local)
    for (const other of this.all) if (other !== local && other.isRunning) this.connect(local, other)
  }

  /** Undefined: this broker has no local shards. */
  private get runningLocals(): LocalShardName[] | undefined {
    if (this.localDisks.length === 0) return undefined
    return this.locals.flatMap(({ isRunning, localName }) => (isRunning && localName !== undefined ? [localName] : []))
  }

  private createLocal(slot: number): ShardHost {
    const name = { life: (++this.lives).toString(16).padStart(16, '0'), thread: slot }
    return new ShardHost(this, this.localDisks[slot], { own: maxStoredShards, count: this.disks.length }, name)
  }

  /** Requests a shutdown. The broker ends when all clients are disconnected and all data is durable. */
  stop(): void {
    if (!this.isRunning || this.isStopping) return
    this.stage.record('broker', () => 'shutdown requested')
    this.isStopping = true
    for (const shard of this.all) if (shard.isRunning) shard.handle({ kind: 'shutdown' })
    // The shard refuses a connection before its CONNECT, because it has no client yet.
    for (const stream of this.streams) {
      if (stream.connection.now.state === 'awaiting-connect') (stream.shard ?? this.shards[0]).close(stream)
    }
    if (this.all.length > 1) this.watchStop()
  }

  accept(network: NetworkTraits): Link | undefined {
    if (!this.isRunning || this.isStopping) return undefined
    const open = this.shards.filter((shard) => shard.isOpen)
    if (open.length === 0) return undefined
    const shard = open.length === 1 ? open[0] : this.stage.random.pick(open)
    const link = new Link(this.stage, network)
    const stream = new BrokerStream(link, `stream-${++this.streamCount}`, this.decoding(shard))
    stream.acceptedBy = shard.place.own
    stream.shard = shard
    stream.begun = this.all.length === 1 ? undefined : []
    link.attachBroker({
      arrived: (chunk) => this.arrived(stream, chunk),
      ended: () => this.ended(stream),
      drained: () => stream.shard?.report(stream),
    })
    this.streams.add(stream)
    shard.streams.add(stream)
    shard.handle({ kind: 'connection-opened', connection: stream.connection })
    return link
  }

  /** Passes an input to all shards, or to the shard of the client that a command names. */
  handle(input: Input): void {
    if (input.kind === 'command' && input.command.name !== 'drain') {
      const { command } = input
      assert('clientId' in command, 'it is for a shard and not for a client')
      this.findHome(command.clientId).handle(input)
      return
    }
    for (const shard of this.all) if (shard.isRunning) shard.handle(input)
  }

  relay(stream: BrokerStream, connect: ConnectPacket): void {
    const clientId = stream.connection.origin?.clientId ?? connect.clientId
    const from = stream.shard
    stream.shard = undefined
    from?.streams.delete(stream)
    from?.handle({ kind: 'connection-closed', connection: stream.connection })
    this.stage.record(
      from?.name ?? 'broker',
      () => `relays ${stream.name} of ${clientId} to ${this.findHome(clientId).name}`,
    )
    const untilMs = this.stage.nowMs + relayTimeoutMs
    const arrive = (): void => {
      if (stream.isClosed || !this.isRunning) return
      const home = this.findHome(clientId)
      if (home.isRunning && home.core.view.isReadyForClients && !this.isStopping) return this.settle(stream, home)
      if (this.stage.nowMs < untilMs && !this.isStopping) return void this.stage.after(50, arrive)
      this.lose(stream)
    }
    this.stage.after(this.traits.maxLinkMs === 0 ? 0 : this.stage.random.between(0, this.traits.maxLinkMs), arrive)
  }

  streamEnded(stream: BrokerStream): void {
    this.streams.delete(stream)
  }

  turnEnded(): void {
    if (this.isStopping) this.stopIfDone()
  }

  private startWith(found: StartRecords): void {
    this.isRunning = true
    this.isStopping = false
    this.aheadMs = Math.max(this.traits.clockOffsetMs, recordedTimeMs(found.records) - this.stage.nowMs)
    this.watch.wills.restarted(() => true)
    for (const slot of this.locals.keys()) this.locals[slot] = this.createLocal(slot)
    for (const shard of this.shards) shard.start(found, this.localDisks.length === 0 ? undefined : [])
    for (const local of this.locals) local.start(noRecords, [])
    this.all.forEach((shard, at) => {
      for (const other of this.all.slice(at + 1)) this.connect(shard, other)
    })
  }

  private connect(one: ShardHost, other: ShardHost): void {
    const traits = { maxDelayMs: this.traits.maxLinkMs }
    const [ofOne, ofOther] = openPipe(this.stage, traits)
    const [first, second] = [this.all.indexOf(one), this.all.indexOf(other)]
    this.pipes.set(`${first} ${second}`, ofOne)
    this.pipes.set(`${second} ${first}`, ofOther)
    one.join(other.peerName, ofOne)
    other.join(one.peerName, ofOther)
  }

  private arrived(stream: BrokerStream, chunk: Buffer): void {
    if (stream.isClosed || stream.isBroken) return
    stream.connection.receivedBytes += chunk.length
    stream.begun?.push(chunk)
    if (stream.shard === undefined) return
    stream.decoder.push(chunk)
    stream.shard.readOn(stream)
  }

  /** Closes a connection that is moving from one shard to another. */
  private lose(stream: BrokerStream): void {
    stream.isClosed = true
    this.streamEnded(stream)
    stream.link.break({ clientAfterMs: 0, brokerAfterMs: undefined })
    // No shard has a turn for this connection, and the stop may have waited for it.
    this.stage.after(0, () => this.turnEnded())
  }

  private ended(stream: BrokerStream): void {
    if (stream.shard !== undefined) return stream.shard.closed(stream)
    if (stream.isClosed) return
    stream.isClosed = true
    this.streamEnded(stream)
    stream.link.toClient.end()
  }

  /** The connection arrives at the shard of its session, with all bytes that the client has sent. */
  private settle(stream: BrokerStream, home: ShardHost): void {
    const begun = stream.begun ?? []
    stream.begun = undefined
    stream.moveTo(this.decoding(home))
    stream.shard = home
    home.streams.add(stream)
    home.handle({ kind: 'connection-opened', connection: stream.connection })
    for (const chunk of begun) stream.decoder.push(chunk)
    home.readOn(stream)
  }

  private decoding({ topics }: ShardHost): ConstructorParameters<typeof BrokerStream>[2] {
    const { maxPacketBytes, maxTopicLevels, maxTopicBytes } = this.settings
    const { listener, arrival } = this.traits
    return { topics, maxPacketBytes, maxTopicLevels, maxTopicBytes, listener, arrival }
  }

  /** A failed shard has no turn when the last buffer arrives at it. */
  private watchStop(): void {
    if (!this.isStopping) return
    this.stopIfDone()
    this.stage.after(10, () => this.watchStop())
  }

  private stopIfDone(): void {
    if (this.streams.size > 0 || !this.all.every((shard) => shard.isIdle || !shard.isRunning)) return
    // Messages between shards (wills) are still handled, as when a node stops in order.
    if ([...this.pipes.values()].some((pipe) => !pipe.isEmpty)) return
    this.stage.record('broker', () => 'has stopped')
    this.isRunning = false
    this.isStopping = false
    this.pipes.clear()
    this.watch.restarted(() => true)
    for (const shard of this.all) {
      shard.forget()
      void shard.disk.die('kill')
    }
  }
}

function recordedTimeMs(records: StartRecords['records']): number {
  const clock = records.find((record) => record.kind === 'fact' && record.name === 'clock')
  return clock?.kind === 'fact' ? Number(clock.value) : 0
}
