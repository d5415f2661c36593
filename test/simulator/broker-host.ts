// The broker in the simulated world: its shards (mostly one), the clock that they share, the ways between them, and the
// connections that the network gives to one of them. It lets them die, one or all, and starts them again from the disk.

import assert from 'node:assert/strict'
import {
  shardOf,
  type BrokerCore,
  type BrokerEvent,
  type AuthenticationResult,
  type CoreSettings,
  type Input,
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
import type { Death, Disk } from './disk.ts'
import { PacketMonitor } from './packet-monitor.ts'
import { whenReady, type Eventually, type StartRecords } from './record-store.ts'
import { Link, type NetworkTraits } from './network.ts'
import { openPipe, type PipeEnd } from './peer-pipe.ts'
import { ShardHost, type ShardSurroundings } from './shard-host.ts'
import type { Stage } from './stage.ts'

type ConnectRequest = CoreRequest & { kind: 'authenticate' }
type AuthenticateRequest = CoreRequest & { kind: 'continue-authentication' }
type MayDoRequest = CoreRequest & { kind: 'authorize' }

export interface HostTraits {
  /** A turn gathers what happens within this time. */
  maxTurnMs: number
  /** How long a post from one shard to another may be on its way. */
  maxLinkMs: number
  /** The answer to `authenticate`, and how long it takes. */
  decision: (request: ConnectRequest) => { decision: AuthenticationResult; afterMs: number }
  /** The response to `authenticate`; if undefined, every authentication fails. */
  authenticate?: (request: AuthenticateRequest) => AuthenticationResult
  /** The access decision; if undefined, all actions are allowed. */
  permissions?: Permissions
  /** Maps clients to namespaces; if undefined, no client belongs to a namespace. */
  namespaces?: NamespaceSettings
  /** What namespaces may have, as shard `own` sees it; as much as they like if not said. */
  quotas?: (own: number) => NamespaceQuotas
  /** The name with which its bridges mark messages; if undefined, there is none. */
  brokerName?: string
  /** Drops that it tells of in a tenth of a second; as many as the broker likes if not said. */
  maxDropEvents?: number
  /** What runs rules on shard `own`; no rules if not said. */
  ruleHook?: (own: number) => RuleHook
  /** Called with each `authorize`, before it is answered: time for `permissions` to find out. How long the answer takes. */
  mayDo?: (request: MayDoRequest) => number
  /** What clients that come from now on find. */
  listener?: Partial<ListenerTraits>
  arrival?: ConnectionOrigin
  /** What the broker's clock is ahead of the world's. */
  clockOffsetMs: number
  /** A mistake made on purpose, to see the oracles find it: what must wait for the disk leaves before. */
  promisesEarly: boolean
}

/** A CONNECT for a shard that is down is refused after so long, if the shard is not back. */
const relayTimeoutMs = 1_000

export class BrokerHost implements ShardSurroundings {
  readonly stage: Stage
  readonly traits: HostTraits
  settings: CoreSettings
  /** What the broker said for those who watch, of all its lives. */
  readonly events: BrokerEvent[]
  readonly undoneDrops: Set<BrokerEvent>
  readonly watch: PacketMonitor
  readonly streams: Set<BrokerStream>
  readonly shards: readonly ShardHost[]
  /** It was asked to stop and has not yet. */
  isStopping: boolean
  isRunning: boolean
  /** When a single shard died last. */
  shardDiedAtMs: number
  private readonly disks: readonly Disk[]
  /** The end that each shard has of its way to each other, by "shard peer". */
  private readonly pipes: Map<string, PipeEnd>
  private streamCount: number
  private aheadMs: number

  constructor(stage: Stage, disks: readonly Disk[], options: { settings: CoreSettings; traits: HostTraits }) {
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
      isSick: disks.some((disk) => disk.isSick),
    }))
    this.isStopping = false
    this.isRunning = false
    this.shardDiedAtMs = -Infinity
    this.disks = disks
    this.shards = disks.map((disk, own) => new ShardHost(this, disk, { own, count: disks.length }))
    this.pipes = new Map()
    this.streamCount = 0
    this.aheadMs = 0
  }

  /** The core where the session of this client is; that of the first shard where no client is named. */
  coreOf(clientId = ''): BrokerCore {
    return this.shards[clientId === '' ? 0 : shardOf(clientId, this.shards.length)].core
  }

  /** All shards run and know of each other. */
  get isOpen(): boolean {
    return this.shards.every((shard) => shard.isOpen)
  }

  /** The shard of this client is there, whatever it knows of the others, and can be asked. */
  isServing(clientId: string): boolean {
    return !this.isStopping && this.shards[shardOf(clientId, this.shards.length)].isRunning
  }

  /** The world's clock with this life's offset: goes on evenly, and begins not before what the last life recorded. */
  get nowMs(): number {
    return this.stage.nowMs + this.aheadMs
  }

  /** Starts a broker on what is on the disk. */
  start(): Eventually<void> {
    if (this.isRunning) throw new Error('the broker is running already')
    return whenReady(this.disks[0].readStart(), (found) => this.startWith(found))
  }

  /** The process is killed, or the power fails. Connections break; the disk keeps what it had. */
  die(death: Death): Eventually<void> {
    if (!this.isRunning) return undefined
    this.stage.tell('broker', () => `dies: ${death}`)
    this.watch.wills.crashed(() => true)
    this.watch.restarted(() => true)
    this.isRunning = false
    this.isStopping = false
    this.pipes.clear()
    for (const stream of this.streams) if (stream.shard === undefined) this.lose(stream)
    let last: Eventually<void> = undefined
    for (const shard of this.shards) last = whenReady(last, () => (shard.isRunning ? shard.die(death) : undefined))
    return last
  }

  /** One thread dies; the others go on. */
  killShard(own: number): Eventually<void> {
    const shard = this.shards[own]
    if (!shard.isRunning || this.isStopping) return undefined
    const isOfShard = (clientId: string): boolean => shardOf(clientId, this.shards.length) === own
    this.stage.tell(shard.name, () => 'dies')
    this.shardDiedAtMs = this.stage.nowMs
    this.watch.wills.crashed(isOfShard)
    this.watch.restarted(isOfShard)
    // Sockets that it had accepted for others are gone with it.
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

  /** The thread is started again on what it had stored. */
  restartShard(own: number): Eventually<void> {
    const shard = this.shards[own]
    if (!this.isRunning || this.isStopping || shard.isRunning) return undefined
    return whenReady(this.disks[own].readAgain(), (found) => {
      if (!this.isRunning || this.isStopping || shard.isRunning) return
      shard.start(found)
      this.watch.wills.restarted((clientId) => shardOf(clientId, this.shards.length) === own)
      for (const other of this.shards) if (other !== shard && other.isRunning) this.connect(shard, other)
    })
  }

  /** Asks the broker to stop; it is gone once all clients are disconnected and everything is on disk. */
  stop(): void {
    if (!this.isRunning || this.isStopping) return
    this.stage.tell('broker', () => 'is asked to stop')
    this.isStopping = true
    for (const shard of this.shards) if (shard.isRunning) shard.handle({ kind: 'shutdown' })
    // The shard refuses a connection before its CONNECT: it has no client yet.
    for (const stream of this.streams) {
      if (stream.connection.now.state === 'awaiting-connect') (stream.shard ?? this.shards[0]).close(stream)
    }
    if (this.shards.length > 1) this.watchStop()
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
    stream.begun = this.shards.length === 1 ? undefined : []
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

  /** For all shards, or for the one of the client that it is about. */
  handle(input: Input): void {
    if (input.kind === 'command') {
      const { command } = input
      assert('clientId' in command, 'it is for a shard and not for a client')
      this.shards[shardOf(command.clientId, this.shards.length)].handle(input)
      return
    }
    for (const shard of this.shards) if (shard.isRunning) shard.handle(input)
  }

  relay(stream: BrokerStream, connect: ConnectPacket): void {
    const clientId = stream.connection.origin?.clientId ?? connect.clientId
    const from = stream.shard
    const home = this.shards[shardOf(clientId, this.shards.length)]
    stream.shard = undefined
    from?.streams.delete(stream)
    from?.handle({ kind: 'connection-closed', connection: stream.connection })
    this.stage.tell(from?.name ?? 'broker', () => `relays ${stream.name} of ${clientId} to ${home.name}`)
    const untilMs = this.stage.nowMs + relayTimeoutMs
    const arrive = (): void => {
      if (stream.isClosed || !this.isRunning) return
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
    for (const shard of this.shards) shard.start(found)
    this.shards.forEach((shard, at) => {
      for (const other of this.shards.slice(at + 1)) this.connect(shard, other)
    })
  }

  private connect(one: ShardHost, other: ShardHost): void {
    const traits = { maxDelayMs: this.traits.maxLinkMs }
    const [ofOne, ofOther] = openPipe(this.stage, traits)
    const [first, second] = [one.place.own, other.place.own]
    this.pipes.set(`${first} ${second}`, ofOne)
    this.pipes.set(`${second} ${first}`, ofOther)
    one.join(second, ofOne)
    other.join(first, ofOther)
  }

  private arrived(stream: BrokerStream, chunk: Buffer): void {
    if (stream.isClosed || stream.isBroken) return
    stream.connection.receivedBytes += chunk.length
    stream.begun?.push(chunk)
    if (stream.shard === undefined) return
    stream.decoder.push(chunk)
    stream.shard.readOn(stream)
  }

  /** On its way from one shard to another. */
  private lose(stream: BrokerStream): void {
    stream.isClosed = true
    this.streamEnded(stream)
    stream.link.break({ clientAfterMs: 0, brokerAfterMs: undefined })
    // No shard has a turn for it, and it may have been the last that the stop waited for.
    this.stage.after(0, () => this.turnEnded())
  }

  private ended(stream: BrokerStream): void {
    if (stream.shard !== undefined) return stream.shard.closed(stream)
    if (stream.isClosed) return
    stream.isClosed = true
    this.streamEnded(stream)
    stream.link.toClient.end()
  }

  /** The connection has come to the shard of its session, with all that its client has said so far. */
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

  /** A shard that is down ends no turn when the last buffer has arrived at it. */
  private watchStop(): void {
    if (!this.isStopping) return
    this.stopIfDone()
    this.stage.after(10, () => this.watchStop())
  }

  private stopIfDone(): void {
    if (this.streams.size > 0 || !this.shards.every((shard) => shard.isIdle || !shard.isRunning)) return
    // What shards still have to say to each other (wills) is heard, as by those of a node that says farewell.
    if ([...this.pipes.values()].some((pipe) => !pipe.isEmpty)) return
    this.stage.tell('broker', () => 'has stopped')
    this.isRunning = false
    this.isStopping = false
    this.pipes.clear()
    this.watch.restarted(() => true)
    for (const shard of this.shards) {
      shard.forget()
      void shard.disk.die('kill')
    }
  }
}

function recordedTimeMs(records: StartRecords['records']): number {
  const clock = records.find((record) => record.kind === 'fact' && record.name === 'clock')
  return clock?.kind === 'fact' ? Number(clock.value) : 0
}
