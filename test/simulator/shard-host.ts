// Runs one core in the simulated world as a shard does: passes inputs to it, and carries out its outputs.
//
//   network, disk, clock, links --handle--> core --takeOutputs--> sends, requests, closes, readers --> network, disk
//                                                --peerSends----> links
//                                                --takeBatch----> disk --committed--> sendsAfterCommit

import assert from 'node:assert/strict'
import {
  BrokerCore,
  everythingAllowed,
  MemoryAccount,
  PeerNames,
  computeOwnerShard,
  type Batch,
  type BrokerEvent,
  type Close,
  type Connection,
  type CoreSettings,
  type Input,
  type LocalShardName,
  type Message,
  type PeerMessage,
  type PeerName,
  type CoreRequest,
  type ReaderChange,
  type SendList,
  type ShardPlace,
} from '../../src/core/index.ts'
import { Link as PeerLink, type LinkDependencies } from '../../src/links/index.ts'
import { ProtocolError, reasonCodes, TopicTable, type ConnectPacket } from '../../src/protocol/index.ts'
import type { HostTraits } from './broker-host.ts'
import { writeSends, type BrokerStream } from './broker-stream.ts'
import type { CrashKind, Disk } from './disk.ts'
import type { PacketMonitor } from './packet-monitor.ts'
import type { Eventually, StartRecords } from './record-store.ts'
import { MemoryMonitor } from './memory-monitor.ts'
import type { PipeEnd } from './peer-pipe.ts'
import type { PlannedEvent, Stage } from './stage.ts'

/** Outputs of the core in this turn. */
interface Wanted {
  readonly touched: Set<BrokerStream>
  readonly requests: CoreRequest[]
  readonly closes: Close[]
  readonly readers: ReaderChange[]
  readonly drains: Connection[]
}

const nothingWanted = (): Wanted => ({ touched: new Set(), requests: [], closes: [], readers: [], drains: [] })

/** A stream that does not close by itself is destroyed after this time. */
const closeTimeoutMs = 5_000

/** The state that all shards of one broker share. */
const failedAuthentication = { allowed: false, reason: reasonCodes.notAuthorized } as const

export interface ShardDependencies {
  readonly stage: Stage
  readonly watch: PacketMonitor
  readonly events: BrokerEvent[]
  /** Drops that a failed shard reported, which neither its peers nor its disk knew yet. */
  readonly undoneDrops: Set<BrokerEvent>
  readonly traits: HostTraits
  readonly settings: CoreSettings
  /** One clock for all shards. */
  readonly nowMs: number
  readonly isStopping: boolean
  /** Returns the shard of the client's session; undefined while no local shard has started for it. */
  findHome(clientId: string): ShardHost | undefined
  /** Moves the connection to the shard of the client's session. */
  relay(stream: BrokerStream, connect: ConnectPacket): void
  streamEnded(stream: BrokerStream): void
  turnEnded(): void
}

export class ShardHost {
  readonly place: ShardPlace
  readonly disk: Disk
  readonly name: string
  readonly streams: Set<BrokerStream>
  topics: TopicTable
  names: PeerNames
  /** Set for a local shard, which stores nothing. */
  readonly localName: LocalShardName | undefined
  /** Memory of the running core. */
  memory: MemoryAccount
  private readonly around: ShardDependencies
  private running: BrokerCore | undefined
  private turnEnd: PlannedEvent | undefined
  private deadline: PlannedEvent | undefined
  private reports: Set<BrokerStream>
  private wanted: Wanted
  private committedBatch: number
  private readonly waitingCloses: Close[]
  private readonly links: Map<number, PeerLink>
  private readonly following: Map<number, PipeEnd>
  private readonly dirtyLinks: Set<PeerLink>
  private readonly memoryWatch: MemoryMonitor
  /** Drops reported since the last commit: if the shard fails now, these messages are accepted or sent again. */
  private readonly freshDrops: Set<BrokerEvent>

  constructor(around: ShardDependencies, disk: Disk, place: ShardPlace, localName?: LocalShardName) {
    this.around = around
    this.disk = disk
    this.place = place
    this.localName = localName
    this.name =
      localName === undefined ? (place.count === 1 ? 'broker' : `shard ${place.own}`) : `local ${localName.thread}`
    this.streams = new Set()
    this.topics = new TopicTable(1_024)
    this.names = new PeerNames()
    this.memory = new MemoryAccount()
    this.running = undefined
    this.turnEnd = undefined
    this.deadline = undefined
    this.reports = new Set()
    this.wanted = nothingWanted()
    this.committedBatch = 0
    this.waitingCloses = []
    this.links = new Map()
    this.following = new Map()
    this.dirtyLinks = new Set()
    this.memoryWatch = new MemoryMonitor(around.stage)
    this.freshDrops = new Set()
  }

  get isRunning(): boolean {
    return this.running !== undefined
  }

  /** The shard accepts clients. */
  get isOpen(): boolean {
    return this.running !== undefined && this.running.view.isReadyForClients
  }

  /** The shard has no pending work. */
  get isIdle(): boolean {
    return (
      this.streams.size === 0 &&
      this.disk.isFree &&
      this.turnEnd === undefined &&
      this.running?.view.isReadingWills !== true
    )
  }

  /** The running core. */
  get core(): BrokerCore {
    if (this.running === undefined) throw new Error(`${this.name} is not running: world.start() it first`)
    return this.running
  }

  /** The name of the shard on links. */
  get peerName(): PeerName {
    return this.localName ?? { stored: this.place.own }
  }

  /** `locals`: local shards that run; undefined: there are none in this world. */
  start(found: StartRecords, locals: readonly LocalShardName[] | undefined): void {
    const { around, place } = this
    this.names = new PeerNames()
    const { names } = this
    if (this.localName !== undefined) names.add(this.localName)
    const running = locals?.map((name) => names.add(name))
    const shard: ShardPlace = running === undefined ? place : { ...place, names, running }
    const identity = around.stage.random.word().toString(36)
    this.topics = new TopicTable(1_024)
    this.memory = new MemoryAccount()
    this.running = new BrokerCore(around.settings, {
      identity,
      topics: this.topics,
      shard,
      permissions: around.traits.permissions ?? everythingAllowed,
      namespaces: around.traits.namespaces,
      quotas: around.traits.quotas?.(shard.own),
      brokerName: around.traits.brokerName,
      memory: this.memory,
      maxDropEvents: around.traits.maxDropEvents,
      ruleHook: around.traits.ruleHook?.(shard.own),
      matchRegex: around.traits.matchRegex ?? ((pattern, text) => new RegExp(pattern).exec(text) ?? undefined),
    })
    this.disk.attach({
      committed: (batch) => this.committed(batch),
      health: (isHealthy) => this.handle({ kind: 'storage-health', isHealthy }),
    })
    around.stage.record(
      this.name,
      () => `starts with ${found.records.length} records and ${found.queues.length} queues`,
    )
    this.handle({ kind: 'restore', records: found.records })
    for (const queue of found.queues) {
      if (computeOwnerShard(queue.clientId, shard.count) === shard.own) this.handle({ kind: 'restore-queue', ...queue })
    }
    const payloadReferences = found.payloadReferences.filter(([id]) => id % shard.count === shard.own)
    const half = Math.floor(payloadReferences.length / 2)
    this.handle({ kind: 'payloads-counted', counts: payloadReferences.slice(0, half), isEnd: false })
    this.handle({ kind: 'payloads-counted', counts: payloadReferences.slice(half), isEnd: true })
  }

  /** Adds a link to another shard. It is used when the end of the previous link has arrived. */
  join(name: PeerName, port: PipeEnd): void {
    const peer = this.names.add(name)
    if (this.links.has(peer)) this.following.set(peer, port)
    else this.link(peer, port)
  }

  private link(peer: number, port: PipeEnd): void {
    const core = this.running
    const dependencies: LinkDependencies = {
      topics: this.topics,
      names: this.names,
      onPeerMessage: (_, message) => this.handleMessage(peer, message),
      onPlainMessage: (_, message) => this.handlePlain(peer, message),
      onRelayedConnection: () => {
        throw new Error('connections are relayed by the world, not by its links')
      },
      onCongestionChange: (_, isCongested) => this.handle({ kind: 'peer-congested', peer, isCongested }),
      onInput: (link) => {
        while (this.running === core && link.readNext());
      },
      onFlushNeeded: (link) => {
        this.dirtyLinks.add(link)
        this.planTurnEnd()
      },
      // The world stops all shards at the same time.
      onFinalNotice: () => undefined,
      onClosed: (link, error) => {
        if (error !== undefined) throw error
        this.links.delete(peer)
        this.dirtyLinks.delete(link)
        this.around.stage.record(this.name, () => `has lost shard ${peer}`)
        this.handle({ kind: 'peer-left', peer })
        const next = this.following.get(peer)
        this.following.delete(peer)
        if (next !== undefined) this.link(peer, next)
      },
    }
    this.links.set(peer, new PeerLink(peer, port, dependencies))
    this.handle({ kind: 'peer-joined', peer })
    port.start()
  }

  /** The shard fails and loses everything that it had not stored. Its streams break. */
  die(death: CrashKind): Eventually<void> {
    for (const stream of this.streams) {
      if (stream.watch.session === undefined) this.around.watch.ended(stream.watch)
    }
    for (const drop of this.freshDrops) this.around.undoneDrops.add(drop)
    this.forget()
    return this.disk.die(death)
  }

  handle(input: Input): void {
    this.core.handle(input, this.around.nowMs)
    this.drain()
    this.planTurnEnd()
  }

  readOn(stream: BrokerStream): void {
    const { stage, watch } = this.around
    if (!stream.connection.isPaused) watch.readsOn(stream.watch)
    for (let packet = stream.next(); packet !== undefined; packet = stream.next()) {
      if (packet instanceof ProtocolError) {
        const error = packet
        const { connection, decoder } = stream
        if (connection.now.state === 'awaiting-connect') connection.version = decoder.version
        stage.record(this.name, () => `does not understand ${stream.name}: ${error.message}`)
        this.handle({ kind: 'protocol-fault', connection: stream.connection, error })
        return
      }
      if (packet.type === 'connect' && this.isOfAnother(stream, packet)) return this.around.relay(stream, packet)
      stream.begun = undefined
      if (packet.type === 'connect') stream.connection.version = packet.version
      // Data on a connection that the broker has closed is ignored.
      const { state } = stream.connection.now
      if (state !== 'closing' && state !== 'closed') watch.cameIn(stream.watch, packet)
      this.handle({ kind: 'packet', connection: stream.connection, packet })
      if (!stream.connection.isPaused) watch.readsOn(stream.watch)
    }
    const bytes = stream.decoder.bufferedBytes
    if (bytes > 0) this.handle({ kind: 'packet-part', connection: stream.connection, bytes })
  }

  closed(stream: BrokerStream): void {
    if (stream.isClosed) return
    stream.isClosed = true
    this.around.watch.ended(stream.watch)
    this.streams.delete(stream)
    this.around.streamEnded(stream)
    stream.link.toClient.end()
    this.handle({ kind: 'connection-closed', connection: stream.connection })
  }

  /** Reports unread bytes of a client to the core, not at every change. */
  report(stream: BrokerStream): void {
    if (this.reports.has(stream) || this.running === undefined) return
    this.reports.add(stream)
    this.around.stage.after(0, () => {
      if (!this.reports.delete(stream) || stream.isClosed || this.running === undefined) return
      this.handle({ kind: 'unsent-bytes', connection: stream.connection, bytes: stream.link.toClient.unsentBytes })
    })
  }

  close(stream: BrokerStream): void {
    if (stream.isClosed || stream.isClosing) return
    stream.isFinished = true
    stream.isClosing = true
    stream.link.toClient.end()
    stream.link.toBroker.resume()
    this.around.stage.after(closeTimeoutMs, () => {
      if (!stream.isClosed) stream.link.break({ clientAfterMs: 0, brokerAfterMs: 0 })
    })
  }

  forget(): void {
    const { stage } = this.around
    this.running = undefined
    stage.cancel(this.turnEnd)
    stage.cancel(this.deadline)
    this.turnEnd = undefined
    this.deadline = undefined
    this.reports.clear()
    this.wanted = nothingWanted()
    this.committedBatch = 0
    this.waitingCloses.length = 0
    this.links.clear()
    this.following.clear()
    this.dirtyLinks.clear()
    this.freshDrops.clear()
    for (const stream of this.streams) {
      stream.isClosed = true
      this.around.streamEnded(stream)
      stream.link.break({ clientAfterMs: 0, brokerAfterMs: undefined })
    }
    this.streams.clear()
  }

  private handlePlain(peer: number, message: Message): void {
    this.around.stage.record(this.name, () => `receives publish from shard ${peer}`)
    this.handle({ kind: 'plain-peer-message', peer, message })
  }

  private handleMessage(peer: number, message: PeerMessage): void {
    this.around.stage.record(this.name, () => `receives ${message.kind} from shard ${peer}`)
    this.handle({ kind: 'peer-message', peer, message })
  }

  private isOfAnother(stream: BrokerStream, connect: ConnectPacket): boolean {
    const clientId = stream.connection.origin?.clientId ?? connect.clientId
    return stream.begun !== undefined && clientId !== '' && this.around.findHome(clientId) !== this
  }

  private planTurnEnd(): void {
    const { stage, traits } = this.around
    const delayMs = traits.maxTurnMs === 0 ? 0 : undefined
    this.turnEnd ??= stage.after(delayMs ?? stage.random.between(0, traits.maxTurnMs), () => {
      this.turnEnd = undefined
      this.endTurn()
    })
  }

  /** Writes sends to their streams at once, in the order of the core. The bytes leave at the end of the turn. */
  private drain(): void {
    const { core, wanted } = this
    const outputs = core.takeOutputs()
    for (const stream of this.writeSends(outputs.sends, false)) wanted.touched.add(stream)
    outputs.peerSends.drainTo((to) => this.links.get(to))
    if (outputs.peerSends.length > 0) for (const link of this.links.values()) link.settle()
    this.around.events.push(...outputs.events)
    for (const event of outputs.events) if (event.event === 'message-dropped') this.freshDrops.add(event)
    wanted.requests.push(...outputs.requests)
    wanted.readers.push(...outputs.readerChanges)
    wanted.drains.push(...outputs.drains)
    for (const close of outputs.closes) {
      const stream = close.connection.output as BrokerStream
      this.around.watch.ended(stream.watch)
      if (close.afterBatch <= this.committedBatch) stream.isFinished = true
      wanted.closes.push(close)
    }
    core.clearOutputs()
  }

  private endTurn(): void {
    const { touched, requests, closes, readers, drains } = this.wanted
    this.wanted = nothingWanted()
    this.flush(touched)
    for (const request of requests) this.respondTo(request)
    for (const change of readers) this.setReader(change.connection.output as BrokerStream, change.isPaused)
    for (const close of closes) this.closeAfter(close)
    // A client of the simulator has one way to the shard of its session, so nothing has arrived elsewhere.
    for (const connection of drains) this.handle({ kind: 'input-drained', connection })
    this.feedDisk()
    for (const link of this.dirtyLinks) link.flush()
    this.dirtyLinks.clear()
    this.planDeadline()
    this.memoryWatch.turnEnded(this.name, this.core)
    this.around.turnEnded()
  }

  private writeSends(sends: SendList, isAfterCommit: boolean): Set<BrokerStream> {
    return writeSends(sends, this.around.watch, { nowMs: this.around.nowMs, isAfterCommit })
  }

  private flush(streams: Set<BrokerStream>): void {
    for (const stream of streams) {
      stream.flush()
      this.report(stream)
    }
  }

  private feedDisk(): void {
    if (!this.disk.isFree) return
    const batch = this.core.takeBatch()
    if (batch === undefined) return this.freshDrops.clear()
    if (this.localName !== undefined && batch.changes.length > 0)
      this.around.stage.fail(`${this.name} wrote a ${batch.changes[0]?.change} to its store, and it must have none`)
    this.around.watch.stored(batch.changes, this.around.traits.listener?.mountpoint ?? '')
    if (this.around.traits.acknowledgesEarly) this.flush(this.writeSends(batch.sendsAfterCommit, true))
    // A batch whose writes are all cancelled completes without a write.
    if (batch.changes.length === batch.cancelled) this.committed(batch)
    else this.disk.commit(batch)
  }

  private committed(batch: Batch): void {
    if (!this.around.traits.acknowledgesEarly) this.flush(this.writeSends(batch.sendsAfterCommit, true))
    this.committedBatch = batch.number
    for (const close of this.waitingCloses.splice(0)) this.closeAfter(close)
    this.handle({ kind: 'committed', batch: batch.number })
  }

  private planDeadline(): void {
    const { core } = this
    const { stage, nowMs } = this.around
    const atMs = core.view.hasMoreWork ? nowMs : core.findNextDeadlineMs()
    const delayMs = atMs - nowMs
    stage.cancel(this.deadline)
    this.deadline = undefined
    if (delayMs === Infinity) return
    this.deadline = stage.after(delayMs, () => {
      this.deadline = undefined
      this.handle({ kind: 'tick' })
    })
  }

  private respondTo(request: CoreRequest): void {
    const core = this.running
    if (request.kind === 'authenticate') {
      const { decision, afterMs } = this.around.traits.decision(request)
      this.around.stage.after(afterMs, () => {
        if (this.running === core)
          this.handle({ kind: 'authentication-result', requestId: request.requestId, decision })
      })
      return
    }
    if (request.kind === 'continue-authentication') {
      const decision = this.around.traits.authenticate?.(request) ?? failedAuthentication
      this.around.stage.after(0, () => {
        if (this.running === core)
          this.handle({ kind: 'authentication-result', requestId: request.requestId, decision })
      })
      return
    }
    if (request.kind === 'authorize') {
      this.around.stage.after(this.around.traits.mayDo?.(request) ?? 0, () => {
        if (this.running === core) this.handle({ kind: 'permission-ready', requestId: request.requestId })
      })
      return
    }
    if (request.kind === 'load-message') {
      this.disk.readMessage(request.of, (message) => {
        if (this.running === core) this.handle({ kind: 'message-loaded', requestId: request.requestId, message })
      })
      return
    }
    assert(request.kind === 'load-queue', 'no plugin is simulated')
    this.disk.readQueue(request, ({ records, isEnd }) => {
      if (this.running === core) this.handle({ kind: 'queue-loaded', requestId: request.requestId, records, isEnd })
    })
  }

  private setReader(stream: BrokerStream, isPaused: boolean): void {
    if (stream.isClosed) return
    if (isPaused) stream.link.toBroker.pause()
    // Not within this turn: an input between its sends and its batch could send a later acknowledgement before an earlier one.
    else this.around.stage.after(0, () => this.readAgain(stream))
  }

  /** Reads buffered packets before the network delivers more. */
  private readAgain(stream: BrokerStream): void {
    if (stream.isClosed) return
    this.readOn(stream)
    if (!stream.connection.isPaused) stream.link.toBroker.resume()
  }

  /** Packets that must be sent first may still wait for the disk. */
  private closeAfter(close: Close): void {
    const stream = close.connection.output as BrokerStream
    if (close.afterBatch <= this.committedBatch) this.close(stream)
    else this.waitingCloses.push(close)
  }
}
