// One shard: a core and the adapters that do its I/O. Data that arrives in one poll of the event loop is one turn:
//
//   chunk -> PacketReader -> core -> outputs -> PacketWriter -> write buffers     for each chunk, when it arrives
//                                      '-> storage, access, peers, log
//   then, once: postponed input, deadlines, start of a commit, flush of the write buffers

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
import { createAssertionError, type PacketDecoderOptions } from '../protocol/index.ts'
import { counterCells } from '../telemetry/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { PluginHooks, type PluginPlan } from '../plugins/index.ts'
import { PluginAccess } from './plugins/plugin-access.ts'
import { PluginRequests } from './plugins/plugin-requests.ts'
import { AccessRequests } from './store/access-requests.ts'
import { createConnection } from './listeners/create-connection.ts'
import { ConnectRouting } from './listeners/connect-routing.ts'
import type { BridgeManager } from './bridges/bridge-manager.ts'
import { ClientEvents, toPublishInput } from './observe/client-events.ts'
import { PendingCommands } from './runtime/pending-commands.ts'
import { CommitPipeline } from './store/commit-pipeline.ts'
import { DeadlineTimer } from './runtime/deadline-timer.ts'
import { createDecoder, createDecoderOptions } from './io/create-decoder.ts'
import { EventLog } from './observe/event-log.ts'
import { FirstMessage } from './observe/first-message.ts'
import type { ShardListener, ShardSettings } from './messages/messages.ts'
import { ClientOutput } from './io/client-output.ts'
import { InputDrains } from './io/input-drains.ts'
import { PacketReader } from './io/packet-reader.ts'
import { PacketWriter } from './io/packet-writer.ts'
import { WaitUntil } from './runtime/wait-until.ts'
import { PeerLinks } from './peers/peer-links.ts'
import { CrashMarker } from './store/crash-marker.ts'
import { createSharedOptions } from './shared-options.ts'
import { countDroppedMessages, countRefusedPackets, publishCounters } from './observe/shard-counters.ts'
import { ShardMemory } from './runtime/shard-memory.ts'
import { ShardHistograms } from './observe/shard-histograms.ts'
import { isStoreRead, StoreReads } from './store/store-reads.ts'
import type { ShardDependencies } from './runtime/shard-dependencies.ts'
import { readClocks } from './runtime/clock.ts'
import { GatedPort, OutputGate } from './runtime/output-gate.ts'
import { Turn } from './runtime/turn.ts'
import { maxUnencodedSends } from './runtime/turn-limits.ts'

/** Of a frame of a plugin: everything but topic and payload. */
const maxFrameOverheadBytes = 1_048_576

export class Shard {
  readonly core: BrokerCore
  readonly access: AccessControl
  readonly reader: PacketReader
  readonly writer: PacketWriter
  readonly commands = new PendingCommands((input) => this.#runGuarded(() => this.handleInput(input)))
  readonly #dependencies: ShardDependencies
  readonly commits: CommitPipeline
  readonly #storeReads: StoreReads
  readonly #accessRequests: AccessRequests
  readonly plugins: PluginHooks
  /** Undefined if this is the only shard. */
  readonly peers: PeerLinks | undefined
  readonly #connectRouting: ConnectRouting | undefined
  readonly clientOutputs = new Set<ClientOutput>()
  readonly #turn: Turn
  readonly #inputDrains = new InputDrains({
    onDrained: (connection) => this.#runGuarded(() => this.handleInput({ kind: 'input-drained', connection })),
  })
  readonly #histograms: ShardHistograms
  readonly #memory: ShardMemory
  readonly eventLog: EventLog
  /** Undefined until the shard accepts clients. */
  bridges: BridgeManager | undefined
  #committedBatch = 0
  readonly #firstMessage = new FirstMessage(() => this.#dependencies.onFirstMessage())
  #settings: CoreSettings
  /** Options of the decoders of all connections. */
  #decoderOptions: PacketDecoderOptions
  readonly #waiting = new WaitUntil()
  readonly #timer = new DeadlineTimer(() => this.#runGuarded(this.#turn.planEnd))
  /** Undefined: the node is not part of a cluster. */
  readonly #gate: OutputGate | undefined

  constructor(dependencies: ShardDependencies) {
    this.#dependencies = dependencies
    this.#settings = dependencies.start.core
    const { core, histograms, shardNumber, maxUnfinishedBytesTotal, maxUnsentBytesTotal } = dependencies.start
    this.#histograms = new ShardHistograms(histograms, shardNumber)
    this.#turn = new Turn(dependencies.clock, {
      begin: () => this.#histograms.beginTurn(),
      end: () => this.#runGuarded(() => this.#endTurn()),
    })
    const turn = this.#turn
    this.#memory = new ShardMemory(dependencies.start)
    const { topics, account: memory } = this.#memory
    this.#decoderOptions = createDecoderOptions(core, dependencies.start.maxPropertyBytes, topics)
    const clientEvents = new ClientEvents(
      {
        topic: dependencies.start.clientEventsTopic,
        keepAliveMultiplier: core.keepAliveMultiplier,
        publishMessage: (message) => this.#runGuarded(() => this.handleInput(toPublishInput(message))),
        findClient: (clientId) => this.core.view.findClient(clientId),
      },
      dependencies.start.publishesClientEvents ?? true,
    )
    const { log, counters } = dependencies
    const notified = { clientEvents, commands: this.commands, alarms: dependencies }
    const countDropped = (): number => countDroppedMessages(this.core.view)
    const countRefused = (): number => countRefusedPackets(this.core.view)
    this.eventLog = new EventLog({ log, counters, countDropped, countRefused, ...notified })
    this.plugins = this.#createPluginHooks()
    this.access = this.#createAccessControl()
    const { permissions } = this.access
    const shard = { own: shardNumber, count: dependencies.start.shards ?? 1 }
    const { identity, ruleHook } = dependencies
    const shared = createSharedOptions(dependencies.start, shard)
    this.core = new BrokerCore(core, {
      identity,
      topics,
      memory,
      permissions,
      shard,
      ruleHook,
      publishHook: this.plugins,
      ...shared,
    })
    const { eventLog } = this
    const lease = dependencies.start.clusterStore?.lease
    this.#gate = lease === undefined ? undefined : new OutputGate({ lease, readClocks })
    this.writer = new PacketWriter({ turn, counters, eventLog, maxUnsentBytesTotal, gate: this.#gate })
    this.reader = new PacketReader({
      core: this.core,
      turn,
      counters,
      eventLog,
      maxUnfinishedBytesTotal,
      readMaxUnsentBytes: () => this.#settings.maxUnsentBytes,
      carryOut: () => this.#carryOut(),
    })
    this.peers = shard.count === 1 ? undefined : this.#createPeerLinks()
    this.#connectRouting = this.peers === undefined ? undefined : this.#createConnectRouting(this.peers)
    this.#accessRequests = new AccessRequests(this.access, {
      respond: (input) => this.core.handle(input, this.#turn.nowMs()),
      respondLater: (input) => this.#runGuarded(() => this.handleInput(input)),
      fail: (error) => dependencies.fail(error),
    })
    this.commits = new CommitPipeline(dependencies.store, {
      onCommitted: (batch) => this.#runGuarded(() => this.#handleCommitted(batch)),
      onHealthChange: (isHealthy, why) => this.#runGuarded(() => this.#changeHealth(isHealthy, why)),
      fail: (error) => dependencies.fail(error),
    })
    this.#storeReads = this.#createStoreReads()
  }

  get connections(): number {
    return this.clientOutputs.size
  }

  /** Forgets all match plans, so that none refers to an ended session. The next message of a topic makes a new plan. */
  forgetTopics(): void {
    this.#memory.topics.forget()
  }

  #createStoreReads(): StoreReads {
    const { start, store } = this.#dependencies
    return new StoreReads(
      store,
      {
        respond: (response, marked) => this.#runGuarded(() => marked(() => this.handleInput(response))),
        onFailure: (text) => this.#dependencies.raiseAlarm('storage-reading', text),
        onRecovery: () =>
          this.#dependencies.endAlarm('storage-reading', 'all reads that failed were repeated successfully'),
        fail: (error) => this.#dependencies.fail(error),
      },
      start.crashMarker === undefined ? undefined : new CrashMarker(start.crashMarker),
    )
  }

  #createAccessControl(): AccessControl {
    const { log, start } = this.#dependencies
    const { access, loginTable, shardNumber } = start
    return new AccessControl(access, {
      log,
      nowMs: this.#turn.nowMs,
      logins: loginTable && { table: loginTable, shard: shardNumber },
      plugins: new PluginAccess(this.plugins),
      onPermissionsChanged: () => this.#runGuarded(() => this.handleInput({ kind: 'permissions-changed' })),
    })
  }

  #createPluginHooks(): PluginHooks {
    const { log, start, store } = this.#dependencies
    const requests = new PluginRequests({ commands: this.commands, store })
    const hooks = new PluginHooks({
      shard: start.shardNumber,
      log,
      raiseAlarm: (name, message) => this.#dependencies.raiseAlarm(name, message),
      endAlarm: (name, message) => this.#dependencies.endAlarm(name, message),
      fail: (error) => this.#dependencies.fail(error),
      nowMs: () => performance.now(),
      maxFrameBytes: () => this.#settings.maxPacketBytes + maxFrameOverheadBytes,
      handleRequest: (plugin, request) => requests.handle(plugin, request),
      planFlush: this.#turn.planEnd,
      run: (work) =>
        this.#runGuarded(() => {
          work()
          this.#carryOut()
        }),
    })
    hooks.configure(start.plugins ?? [])
    return hooks
  }

  /** Replaces the plugins. */
  changePlugins(plan: PluginPlan): void {
    this.plugins.configure(plan)
    this.access.permissions.changePlugins()
    this.handleInput({ kind: 'permissions-changed' })
  }

  #createPeerLinks(): PeerLinks {
    const { sends } = this.core.takeOutputs()
    return new PeerLinks({
      core: this.core,
      topics: this.#memory.topics,
      turnMs: this.#turn.nowMs,
      isOverdue: this.#turn.isOverdue,
      isFull: () => sends.length >= maxUnencodedSends,
      carryOut: () => this.#carryOut(),
      planTurnEnd: this.#turn.planEnd,
      dependencies: this.#dependencies,
      acceptRelayed: (stream, listener) => void this.openConnection(stream, listener),
    })
  }

  #createConnectRouting(peers: PeerLinks): ConnectRouting {
    return new ConnectRouting(this.#dependencies, peers, {
      openHere: (output, first) => this.reader.handleFirstPacket(output, first),
      forget: (output) => this.#forget(output),
      closeAfterFlush: (output) => this.#closeAfterFlush(output),
      onFirstBytes: (output) => this.reader.handleFirstBytes(output),
    })
  }

  /** Adds the link to another shard, of this node or of another one. */
  addLink(peer: PeerNumber, port: LinkPort, isRemote: boolean): void {
    if (this.peers === undefined) throw createAssertionError(`link to shard ${peer}, but the node has one shard`)
    this.peers.add(peer, this.#gate === undefined ? port : new GatedPort(port, this.#gate), isRemote)
  }

  /** From now on, other shards may relay connections of clients to this shard. */
  acceptClients(): void {
    this.peers?.acceptClients()
  }

  /** Resolves with true when the core has the filters of the other shards, or with false after `timeoutMs`. */
  waitUntilReady(timeoutMs: number): Promise<boolean> {
    return this.#waiting.wait(() => this.core.view.isReadyForClients, timeoutMs)
  }

  /** A listener of this shard has accepted a client. */
  accept(stream: ByteStream, listener: ShardListener): void {
    this.#dependencies.counters.cells[counterCells.connectionsAccepted]++
    const output = this.openConnection(stream, listener)
    this.#connectRouting?.watch(output, listener)
  }

  /** Opens a connection: of a listener, relayed by another shard, or of a client inside this process. */
  openConnection(stream: ByteStream, listener: ShardListener): ClientOutput {
    const output = new ClientOutput(this, stream, createDecoder(this.#decoderOptions, listener, this.#memory.level))
    output.connection = createConnection(output, listener)
    this.clientOutputs.add(output)
    // This input has no outputs. A turn is not planned, because a turn for each new connection would be expensive.
    this.core.handle({ kind: 'connection-opened', connection: output.connection }, this.#dependencies.clock.nowMs())
    this.#setTimer()
    return output
  }

  #forget(output: ClientOutput): void {
    const { connection } = output
    this.clientOutputs.delete(output)
    this.reader.forget(output)
    output.connection = undefined
    if (connection !== undefined) this.handleInput({ kind: 'connection-closed', connection })
  }

  #closeAfterFlush(output: ClientOutput): void {
    this.clientOutputs.add(output)
    this.writer.close(output)
  }

  /** Applies new settings; the decoder options apply to new connections. */
  changeSettings({ core: settings, access, maxPropertyBytes }: ShardSettings): void {
    this.#settings = settings
    const { permissions } = this.access
    const wasOpen = permissions.allowsEverything
    this.access.changeSettings(access)
    this.#decoderOptions = createDecoderOptions(settings, maxPropertyBytes, this.#memory.topics)
    if (!wasOpen || !permissions.allowsEverything) this.handleInput({ kind: 'permissions-changed' })
    this.handleInput({ kind: 'settings', settings })
  }

  /** Applies a change of stored access records. */
  applyAccess(change: RecordChange): void {
    if (this.access.applyRecords(change)) this.handleInput({ kind: 'permissions-changed' })
  }

  /** Handles inputs other than packets. */
  handleInput(input: Input): void {
    this.core.handle(input, this.#turn.nowMs())
    this.#carryOut()
  }

  handleInputEnded({ connection }: ClientOutput): void {
    if (connection !== undefined) this.#runGuarded(() => this.handleInput({ kind: 'input-ended', connection }))
  }

  handleClosed(output: ClientOutput, error: Error | undefined): void {
    this.clientOutputs.delete(output)
    this.reader.forget(output)
    const { connection } = output
    if (connection !== undefined) {
      this.access.forget(connection)
      this.plugins.forget(connection)
      this.handleInput({ kind: 'connection-closed', connection })
    }
    if (error !== undefined)
      this.#dependencies.log.debug('stream failed', { address: output.stream.remoteAddress, error: error.message })
    this.#waiting.check()
  }

  /** Disconnects clients and ends their streams. When it resolves, acknowledged state is durable. */
  async stop(timeoutMs: number): Promise<void> {
    this.handleInput({ kind: 'shutdown' })
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
    this.plugins.close()
    this.access.close()
    await this.#storeReads.end()
    this.#endTurn()
    while (this.core.view.hasBatch || this.commits.isBusy) {
      await this.commits.waitUntilIdle()
      this.#startCommit()
    }
    peers?.close()
    this.#timer.stop()
  }

  /** Carries out the outputs that the core created since the last call. */
  #carryOut(): void {
    const outputs = this.core.takeOutputs()
    // Responses that are available at once belong to this turn, and cause further outputs and events for rules.
    for (; outputs.requests.length > 0; this.core.takeOutputs()) this.#handleRequests(outputs.requests.splice(0))
    this.writer.encode(outputs.sends)
    for (const { connection, isPaused } of outputs.readerChanges)
      this.reader.changeReading(connection.output as ClientOutput, isPaused)
    for (const { connection, afterBatch } of outputs.closes) this.#close(connection.output as ClientOutput, afterBatch)
    if (outputs.drains.length > 0) this.#inputDrains.start(outputs.drains)
    if (outputs.peerSends.length > 0) this.peers?.send(outputs.peerSends)
    for (const event of outputs.events) this.eventLog.record(event, this.#turn.nowMs())
    this.core.clearOutputs()
    const { hasBatch } = this.core.view
    if (hasBatch) this.#histograms.recordBatchChange()
    if (hasBatch || this.core.view.hasMoreWork) this.#turn.planEnd()
    this.#setTimer()
  }

  #handleRequests(requests: CoreRequest[]): void {
    for (const request of requests) {
      if (isStoreRead(request)) this.#storeReads.add(request, this.#committedBatch)
      else if (request.kind === 'publish-hooks') this.#requestHooks(request)
      else this.#accessRequests.handle(request)
    }
  }

  #requestHooks({ requestId, publication }: Extract<CoreRequest, { kind: 'publish-hooks' }>): void {
    this.plugins.runPublish(publication, (result) => {
      this.core.handle({ kind: 'publish-hook-result', requestId, result }, this.#turn.nowMs())
    })
  }

  #close(output: ClientOutput, afterBatch: number): void {
    if (afterBatch > this.#committedBatch) this.writer.closeAfterBatch(output, afterBatch)
    else this.writer.close(output)
  }

  #endTurn(): void {
    this.#turn.startNext()
    this.reader.continueBacklog()
    this.peers?.continueBacklog()
    this.#inputDrains.continue()
    if (this.#timer.isDue || this.core.view.hasMoreWork) this.#tick()
    this.#startCommit()
    this.writer.flush()
    this.peers?.flush()
    this.plugins.flush()
    const { takenBytes } = this.writer.buffers
    publishCounters(this.#dependencies.counters, this.core.view, takenBytes)
    this.#memory.publish(this.core.view, { buffers: takenBytes, packets: this.reader.partialPacketBytes })
    this.#firstMessage.check(this.core.view)
    this.#waiting.check()
    this.#turn.forgetTime()
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
      else this.#handleCommitted(batch)
    }
  }

  #handleCommitted(batch: Batch): void {
    this.#committedBatch = batch.number
    this.#histograms.recordCommitted()
    this.writer.encode(batch.sendsAfterCommit)
    this.handleInput({ kind: 'committed', batch: batch.number })
    this.#storeReads.handleCommitted(batch.number)
    this.writer.handleCommitted(batch.number)
  }

  #changeHealth(isHealthy: boolean, why: string): void {
    if (isHealthy) this.#dependencies.endAlarm('storage', 'the disk works again')
    else
      this.#dependencies.raiseAlarm(
        'storage',
        `the disk fails: messages that must be stored are not acknowledged; repair the disk or free space: ${why}`,
      )
    this.handleInput({ kind: 'storage-health', isHealthy })
  }

  #setTimer(): void {
    this.#timer.schedule(this.core.findNextDeadlineMs(), this.#turn.nowMs)
  }

  #tick(): void {
    this.#timer.begin()
    this.handleInput({ kind: 'tick' })
  }

  #runGuarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#dependencies.fail(error)
    }
  }
}
