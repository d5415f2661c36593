// One shard: a core and the adapters that do its I/O. Data that arrives in one poll of the event loop is one turn:
//
//   chunks -> packets -> core -> buffers        for each chunk, when it arrives
//   then, once: start a commit, set the timer, flush each used buffer
//
// The input of a turn is limited. If a connection sends more than its share, the rest is handled after the other connections.

import { AccessControl, type RecordChange } from '../access/index.ts'
import {
  BrokerCore,
  type Batch,
  type CoreSettings,
  type Input,
  type PeerNumber,
  type CoreRequest,
} from '../core/index.ts'
import type { LinkPort } from '../links/index.ts'
import { failedAssertion, ProtocolError, type Packet, type PacketDecoderOptions } from '../protocol/index.ts'
import { counterCells } from '../telemetry/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { AccessRequests } from './store/access-requests.ts'
import { connectionOver } from './listeners/connection-origin.ts'
import { ConnectRouting } from './listeners/connect-routing.ts'
import { PartialPackets } from './io/partial-packets.ts'
import type { BridgeManager } from './bridges/bridge-manager.ts'
import { ClientEvents, publicationOf } from './observe/client-events.ts'
import { PendingCommands } from './runtime/pending-commands.ts'
import { CommitPipeline } from './store/commit-pipeline.ts'
import { DeadlineTimer } from './runtime/deadline-timer.ts'
import { decoderFor, decoderOptions } from './io/decoder-options.ts'
import { FlushQueue } from './io/flush-queue.ts'
import { encodeSends } from './io/encode-sends.ts'
import { EventLog } from './observe/event-log.ts'
import { FirstMessage } from './observe/first-message.ts'
import type { ShardListener, ShardSettings } from './messages/messages.ts'
import { DeferredCloses } from './io/deferred-closes.ts'
import { ClientOutput, type ClientOutputDependencies } from './io/client-output.ts'
import { WaitUntil } from './runtime/wait-until.ts'
import { PeerLinks } from './peers/peer-links.ts'
import { CrashMarker } from './store/crash-marker.ts'
import { ReadScheduler } from './io/read-scheduler.ts'
import { sharedWithNode } from './shared-with-node.ts'
import { droppedMessages, publishCounters } from './observe/shard-counters.ts'
import { ShardMemory } from './runtime/shard-memory.ts'
import { ShardHistograms } from './observe/shard-histograms.ts'
import { isStoreRead, StoreReads } from './store/store-reads.ts'
import type { ShardDependencies } from './runtime/shard-dependencies.ts'
import { isClockDue, maxUnencodedSends, maxTurnMs, unsentReportBytes } from './runtime/turn-limits.ts'
import { WriteBuffers } from './io/write-buffers.ts'

export class Shard implements ClientOutputDependencies {
  readonly core: BrokerCore
  readonly access: AccessControl
  readonly buffers = new WriteBuffers()
  readonly commands = new PendingCommands((input) => this.#guarded(() => this.input(input)))
  /** See `ClientOutputDependencies`. */
  encodeRound = 0
  readonly #dependencies: ShardDependencies
  readonly commits: CommitPipeline
  readonly #storeReads: StoreReads
  readonly #accessRequests: AccessRequests
  /** Undefined if this is the only shard. */
  readonly peers: PeerLinks | undefined
  readonly #connectRouting: ConnectRouting | undefined
  readonly clientOutputs = new Set<ClientOutput>()
  readonly #partialPackets: PartialPackets
  readonly #histograms: ShardHistograms
  readonly #memory: ShardMemory
  readonly eventLog: EventLog
  /** Undefined until the shard accepts clients. */
  bridges: BridgeManager | undefined
  readonly #deferredCloses = new DeferredCloses()
  readonly #flushQueue = new FlushQueue()
  #committedBatch = 0
  /** The time of this turn, 0 between turns: the clock is read once. */
  #turnMs = 0
  #turnIsPlanned = false
  #turn = 0
  readonly #firstMessage = new FirstMessage(() => this.#dependencies.noteFirstMessage())
  #settings: CoreSettings
  /** Options of the decoders of all connections. */
  #decoderOptions: PacketDecoderOptions
  readonly #waiting = new WaitUntil()
  /** Created once, not for each turn: when clients connect, each connection may cause a turn. */
  readonly #endOfTurn = (): void => this.#guarded(this.#turnEnd)
  readonly #turnEnd = (): void => this.#endTurn()
  readonly #nowOfTurn = (): number => this.#now()
  readonly #isOverdue = (): boolean => this.#dependencies.clock.nowMs() - this.#now() >= maxTurnMs
  readonly #readScheduler = new ReadScheduler({
    read: (output) => this.#read(output),
    planTurnEnd: () => this.#planTurnEnd(),
    maxUnsentBytes: () => this.#settings.maxUnsentBytes,
  })
  readonly #timer = new DeadlineTimer(() => this.#guarded(() => this.#planTurnEnd()))

  constructor(dependencies: ShardDependencies) {
    this.#dependencies = dependencies
    this.#settings = dependencies.start.core
    const { core, crashMarker, histograms, shardNumber, maxUnfinishedBytesTotal } = dependencies.start
    this.#partialPackets = new PartialPackets(maxUnfinishedBytesTotal, (output, fault) => {
      this.#reportProtocolError(output, fault)
      this.#carryOut()
    })
    this.#histograms = new ShardHistograms(histograms, shardNumber)
    this.#memory = new ShardMemory(dependencies.start)
    const { topics, account: memory } = this.#memory
    this.#decoderOptions = decoderOptions(core, dependencies.start.maxPropertyBytes, topics)
    const clientEvents = new ClientEvents({
      topic: dependencies.start.clientEventsTopic,
      keepAliveMultiplier: core.keepAliveMultiplier,
      publishMessage: (message) => this.#guarded(() => this.input(publicationOf(message))),
      client: (clientId) => this.core.view.client(clientId),
    })
    const { log, counters } = dependencies
    const notified = { clientEvents, commands: this.commands, alarms: dependencies }
    this.eventLog = new EventLog({ log, counters, droppedSoFar: () => droppedMessages(this.core.view), ...notified })
    this.access = new AccessControl(dependencies.start.access, {
      log: dependencies.log,
      nowMs: this.#nowOfTurn,
      permissionsChanged: () => this.#guarded(() => this.input({ kind: 'permissions-changed' })),
    })
    const { permissions } = this.access
    const shard = { own: shardNumber, count: dependencies.start.shards ?? 1 }
    const { identity, ruleHook } = dependencies
    const shared = sharedWithNode(dependencies.start, shard)
    this.core = new BrokerCore(core, { identity, topics, memory, permissions, shard, ruleHook, ...shared })
    this.peers = shard.count === 1 ? undefined : this.#createPeerLinks()
    this.#connectRouting = this.peers === undefined ? undefined : this.#createConnectRouting(this.peers)
    this.#accessRequests = new AccessRequests(this.access, {
      respond: (input) => this.core.handle(input, this.#now()),
      respondLater: (input) => this.#guarded(() => this.input(input)),
      fail: (error) => dependencies.fail(error),
    })
    this.commits = new CommitPipeline(dependencies.store, {
      noteCommitted: (batch) => this.#guarded(() => this.#afterCommit(batch)),
      noteHealth: (isHealthy, why) => this.#guarded(() => this.#changeHealth(isHealthy, why)),
      fail: (error) => dependencies.fail(error),
    })
    this.#storeReads = new StoreReads(
      dependencies.store,
      {
        respond: (response, marked) => this.#guarded(() => marked(() => this.input(response))),
        noteFailure: (text) => dependencies.raiseAlarm('storage-reading', text),
        noteRecovery: () =>
          dependencies.endAlarm('storage-reading', 'all reads that failed were repeated successfully'),
        fail: (error) => dependencies.fail(error),
      },
      crashMarker === undefined ? undefined : new CrashMarker(crashMarker),
    )
  }

  get connections(): number {
    return this.clientOutputs.size
  }

  /** Forgets all match plans, so that none refers to an ended session. The next message of a topic makes a new plan. */
  forgetTopics(): void {
    this.#memory.topics.forget()
  }

  #createPeerLinks(): PeerLinks {
    const { sends } = this.core.takeOutputs()
    return new PeerLinks({
      core: this.core,
      topics: this.#memory.topics,
      turnMs: this.#nowOfTurn,
      isOverdue: this.#isOverdue,
      isFull: () => sends.length >= maxUnencodedSends,
      carryOut: () => this.#carryOut(),
      planTurnEnd: () => this.#planTurnEnd(),
      dependencies: this.#dependencies,
      acceptRelayed: (stream, listener) => void this.openConnection(stream, listener),
    })
  }

  #createConnectRouting(peers: PeerLinks): ConnectRouting {
    return new ConnectRouting(this.#dependencies, peers, {
      openHere: (output, first) => this.#openHere(output, first),
      forget: (output) => this.#forget(output),
      closeAfterFlush: (output) => this.#closeAfterFlush(output),
      noteRead: (output) => this.#partialPackets.noteRead(output),
    })
  }

  /** Adds the link to another shard of the node. */
  link(peer: PeerNumber, port: LinkPort): void {
    if (this.peers === undefined) throw failedAssertion(`link to shard ${peer}, but the node has one shard`)
    this.peers.add(peer, port)
  }

  /** From now on, other shards may relay connections of clients to this shard. */
  acceptClients(): void {
    this.peers?.acceptClients()
  }

  /** Resolves with true when the core has the filters of the other shards, or with false after `timeoutMs`. */
  isReadyWithin(timeoutMs: number): Promise<boolean> {
    return this.#waiting.wait(() => this.core.view.isReadyForClients, timeoutMs)
  }

  /** A listener of this shard has accepted a client. */
  accept(stream: ByteStream, listener: ShardListener): void {
    this.#count(counterCells.connectionsAccepted, 1)
    const output = this.openConnection(stream, listener)
    this.#connectRouting?.watch(output, listener)
  }

  /** Opens a connection: of a listener, relayed by another shard, or of a client inside this process. */
  openConnection(stream: ByteStream, listener: ShardListener): ClientOutput {
    const output = new ClientOutput(this, stream, decoderFor(this.#decoderOptions, listener, this.#memory.level))
    output.connection = connectionOver(output, listener)
    this.clientOutputs.add(output)
    // This input has no outputs. A turn is not planned, because a turn for each new connection would be expensive.
    this.core.handle({ kind: 'connection-opened', connection: output.connection }, this.#dependencies.clock.nowMs())
    this.#setTimer()
    return output
  }

  #openHere(output: ClientOutput, first: Packet | undefined): void {
    const { connection } = output
    if (connection !== undefined && first !== undefined) {
      this.#count(counterCells.packetsReceived, 1)
      connection.receivedPackets++
      this.eventLog.tracer?.notePacket(connection, first, this.#now())
      this.core.handlePacket(connection, first, this.#now())
    }
    this.#read(output)
  }

  #forget(output: ClientOutput): void {
    const { connection } = output
    this.clientOutputs.delete(output)
    this.#partialPackets.forget(output)
    output.connection = undefined
    if (connection !== undefined) this.input({ kind: 'connection-closed', connection })
  }

  #closeAfterFlush(output: ClientOutput): void {
    this.clientOutputs.add(output)
    this.#close(output, 0)
  }

  /** Applies new settings; the decoder options apply to new connections. */
  changeSettings({ core: settings, access, maxPropertyBytes }: ShardSettings): void {
    this.#settings = settings
    const { permissions } = this.access
    const wasOpen = permissions.allowsEverything
    this.access.changeSettings(access)
    this.#decoderOptions = decoderOptions(settings, maxPropertyBytes, this.#memory.topics)
    if (!wasOpen || !permissions.allowsEverything) this.input({ kind: 'permissions-changed' })
    this.input({ kind: 'settings', settings })
  }

  /** Applies a change of stored access records. */
  applyAccess(change: RecordChange): void {
    if (this.access.applyRecords(change)) this.input({ kind: 'permissions-changed' })
  }

  /** Handles inputs other than packets. */
  input(input: Input): void {
    this.core.handle(input, this.#now())
    this.#carryOut()
  }

  noteChunk(output: ClientOutput, chunk: Buffer): void {
    this.#count(counterCells.bytesReceived, chunk.length)
    output.push(chunk)
    if (output.isBacklogged) return
    this.#readScheduler.noteInput(output, chunk.length, this.#turn)
    this.#read(output)
    this.#readScheduler.postponeIfOverLimit(output)
  }

  noteGathered(output: ClientOutput): void {
    this.#partialPackets.note(output)
  }

  noteDirty(output: ClientOutput): void {
    this.#flushQueue.add(output)
    this.#planTurnEnd()
  }

  noteWritten(bytes: number): void {
    this.#count(counterCells.bytesSent, bytes)
  }

  noteSent(output: ClientOutput): void {
    const { connection } = output
    const reportFrom = unsentReportBytes(this.#settings.maxUnsentBytes)
    if (connection !== undefined && connection.unsentBytes >= reportFrom) {
      this.input({ kind: 'unsent-bytes', connection, bytes: output.unsentBytes })
    }
    if (output.isReadingPaused) this.#readScheduler.start(output)
  }

  noteClosed(output: ClientOutput, error: Error | undefined): void {
    this.clientOutputs.delete(output)
    this.#partialPackets.forget(output)
    const { connection } = output
    if (connection !== undefined) {
      this.access.forget(connection)
      this.input({ kind: 'connection-closed', connection })
    }
    if (error !== undefined)
      this.#dependencies.log.debug('stream failed', { address: output.stream.remoteAddress, error: error.message })
    this.#waiting.check()
  }

  /** Disconnects clients and ends their streams. When it resolves, acknowledged state is durable. */
  async stop(timeoutMs: number): Promise<void> {
    this.input({ kind: 'shutdown' })
    // A client that has not sent CONNECT gets no DISCONNECT.
    for (const output of this.clientOutputs)
      if (output.connection?.now.state === 'awaiting-connect') output.stream.end()
    const peers = this.peers
    await this.#waiting.wait(() => this.clientOutputs.size === 0 && (peers?.relayedSockets ?? 0) === 0, timeoutMs)
    await this.#waiting.wait(() => !this.core.view.isReadingWills, timeoutMs)
    for (const output of this.clientOutputs) output.stream.destroy()
    // Acknowledges the last messages of peers (wills). Peers send unacknowledged ones again at their next start.
    peers?.sendFinalNotice()
    await this.#waiting.wait(() => (peers?.isQuiet ?? true) && !this.core.view.isAwaitingPeers, timeoutMs)
    this.access.close()
    await this.#storeReads.end()
    this.#endTurn()
    while (this.core.view.hasBatch || this.commits.isBusy) {
      await this.commits.whenIdle()
      this.#startCommit()
    }
    peers?.close()
    this.#timer.stop()
  }

  /** Handles packets of one connection until none is left or the turn is over. */
  #read(output: ClientOutput): void {
    const { connection, decoder } = output
    const { tracer } = this.eventLog
    if (connection === undefined) return
    const nowMs = this.#now()
    const { sends } = this.core.takeOutputs()
    let packets = 0
    let { costlySteps } = this.core
    try {
      while (!connection.isPaused) {
        const packet = decoder.next()
        if (packet === undefined) break
        packets++
        if (tracer !== undefined) tracer.notePacket(connection, packet, nowMs)
        this.core.handlePacket(connection, packet, nowMs)
        if (sends.length >= maxUnencodedSends) this.#carryOut()
        else if (!isClockDue(packets, this.core.costlySteps - costlySteps)) continue
        costlySteps = this.core.costlySteps
        if (this.#dependencies.clock.nowMs() - nowMs >= maxTurnMs) {
          this.#readScheduler.postpone(output)
          break
        }
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#reportProtocolError(output, error)
    }
    if (packets === 0) this.core.handle({ kind: 'packet-part', connection, bytes: decoder.bufferedBytes }, nowMs)
    this.#count(counterCells.packetsReceived, packets)
    connection.receivedPackets += packets
    this.#partialPackets.noteRead(output)
    this.#carryOut()
    this.#readScheduler.pauseIfResponsesUnread(output)
  }

  #reportProtocolError({ connection, decoder }: ClientOutput, error: ProtocolError): void {
    if (connection === undefined) return
    connection.version = connection.now.state === 'awaiting-connect' ? decoder.version : connection.version
    this.core.handle({ kind: 'protocol-fault', connection, error }, this.#now())
  }

  /** Carries out the outputs that the core created since the last call. */
  #carryOut(): void {
    const outputs = this.core.takeOutputs()
    // Responses that are available at once belong to this turn, and cause further outputs and events for rules.
    for (; outputs.requests.length > 0; this.core.takeOutputs()) this.#handleRequests(outputs.requests.splice(0))
    this.#encode(outputs.sends)
    for (const { connection, isPaused } of outputs.readerChanges)
      this.#readScheduler.change(connection.output as ClientOutput, isPaused)
    for (const { connection, afterBatch } of outputs.closes) this.#close(connection.output as ClientOutput, afterBatch)
    if (outputs.peerSends.length > 0) this.peers?.send(outputs.peerSends)
    for (const event of outputs.events) this.eventLog.record(event, this.#now())
    this.core.clearOutputs()
    const { hasBatch } = this.core.view
    if (hasBatch) this.#histograms.noteGathering()
    if (hasBatch || this.core.view.hasMoreWork) this.#planTurnEnd()
    this.#setTimer()
  }

  #encode(sends: Batch['sendsAfterCommit']): void {
    if (sends.length === 0) return
    this.encodeRound++
    this.#count(counterCells.packetsSent, sends.length)
    this.eventLog.tracer?.noteSends(sends, this.#now())
    encodeSends(sends, this.#now())
  }

  #handleRequests(requests: CoreRequest[]): void {
    for (const request of requests) {
      if (isStoreRead(request)) this.#storeReads.add(request, this.#committedBatch)
      else this.#accessRequests.take(request)
    }
  }

  #close(output: ClientOutput, afterBatch: number): void {
    if (output.isClosed) return
    if (afterBatch > this.#committedBatch) return this.#deferredCloses.add(output, afterBatch)
    output.endsAfterFlush = true
    this.noteDirty(output)
  }

  #planTurnEnd(): void {
    if (this.#turnIsPlanned) return
    this.#turnIsPlanned = true
    setImmediate(this.#endOfTurn)
  }

  #endTurn(): void {
    this.#turnIsPlanned = false
    this.#turnMs = 0
    this.#turn++
    this.#readScheduler.continueBacklog(this.#isOverdue)
    this.peers?.continueBacklog()
    if (this.#timer.isDue || this.core.view.hasMoreWork) this.#tick()
    this.#startCommit()
    this.#flushQueue.flush(this.buffers.takenBytes > this.#dependencies.start.maxUnsentBytesTotal)
    this.peers?.flush()
    publishCounters(this.#dependencies.counters, this.core.view, this.buffers.takenBytes)
    this.#memory.publish(this.core.view, { buffers: this.buffers.takenBytes, packets: this.#partialPackets.heldBytes })
    this.#firstMessage.look(this.core.view)
    this.#waiting.check()
    this.#turnMs = 0
    this.#histograms.endTurn()
  }

  /** Writes the next batch if the last one is durable. A batch without remaining changes is not written: its packets are sent now. */
  #startCommit(): void {
    while (!this.commits.isBusy) {
      const batch = this.core.takeBatch()
      // No batch is ready. An open batch with deferred writes has a deadline, for which the timer is set.
      if (batch === undefined) return this.#setTimer()
      const isForDisk = batch.changes.length > batch.cancelled
      this.#histograms.takeBatch(isForDisk)
      if (isForDisk) this.commits.start(batch)
      else this.#afterCommit(batch)
    }
  }

  #afterCommit(batch: Batch): void {
    this.#committedBatch = batch.number
    this.#histograms.noteCommitted()
    this.#encode(batch.sendsAfterCommit)
    this.input({ kind: 'committed', batch: batch.number })
    this.#storeReads.noteCommitted(batch.number)
    for (const output of this.#deferredCloses.take(batch.number)) this.#close(output, 0)
  }

  #changeHealth(isHealthy: boolean, why: string): void {
    if (isHealthy) this.#dependencies.endAlarm('storage', 'the disk works again')
    else
      this.#dependencies.raiseAlarm(
        'storage',
        `the disk fails: messages that must be stored are not acknowledged; repair the disk or free space: ${why}`,
      )
    this.input({ kind: 'storage-health', isHealthy })
  }

  #setTimer(): void {
    this.#timer.setFor(this.core.nextDeadlineMs(), this.#nowOfTurn)
  }

  #tick(): void {
    this.#timer.begin()
    this.input({ kind: 'tick' })
  }

  #now(): number {
    if (this.#turnMs === 0) {
      this.#turnMs = this.#dependencies.clock.nowMs()
      this.#histograms.beginTurn()
      this.#planTurnEnd()
    }
    return this.#turnMs
  }

  #count(cell: number, by: number): void {
    this.#dependencies.counters.cells[cell] += by
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#dependencies.fail(error)
    }
  }
}
