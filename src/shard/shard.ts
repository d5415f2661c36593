// One shard: a core and the adapters that give it a world. What arrives in one poll of the event loop is one turn:
//
//   chunks -> packets -> core -> buffers        for each chunk, as it comes
//   then, once: flush each buffer that was written to, start a commit, set the timer
//
// A turn is bounded. A connection that sends more than its part is set back: the others come first.

import { AccessControl, type AccessSettings, type RecordChange } from '../access/index.ts'
import { BrokerCore, Connection, type Batch, type CoreSettings, type Input, type Question } from '../core/index.ts'
import { PacketDecoder, ProtocolError, TopicTable, type Packet, type PacketDecoderOptions } from '../protocol/index.ts'
import type { Store } from '../storage/index.ts'
import { counterCells, type Counters, type Log } from '../telemetry/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { AccessAnswers } from './access-answers.ts'
import type { Time } from './clock.ts'
import { Commits } from './commits.ts'
import { drainSends } from './drain-sends.ts'
import { EventLog } from './event-log.ts'
import type { ShardListener, ShardStart } from './messages.ts'
import { Outlet, type OutletOwner } from './outlet.ts'
import { QueueLoads } from './queue-loads.ts'
import { WriteBuffers } from './write-buffers.ts'

/** So many sendings are gathered before they are written into buffers: what the core made is still in the cache then. */
const maxSendsBetweenDrains = 4_096
/** A turn ends after this; the rest of the input waits for the next one. */
const maxTurnMs = 4
/** Packets that bring nothing to send take time as well: the clock is looked at after so many. */
const packetsBetweenLooks = 1_024
/** More input of one connection than this waits for the next turn: the system hands out up to 2 MiB at once. */
const maxInputBytesPerTurn = 262_144
/** Reports of sent bytes are worth a call only where much had been handed out, by itself or of what is allowed. */
const reportUnsentFrom = 65_536
const reportUnsentShare = 1 / 4
const topicsRemembered = 262_144
const longestTimerMs = 2_147_483_647

export interface ShardWorld {
  readonly start: ShardStart
  readonly store: Store
  readonly clock: Time
  readonly counters: Counters
  readonly log: Log
  /** Random text: nobody is to guess the client ids that are assigned. */
  readonly identity: string
  alarm(name: string, message: string): void
  /** A mistake of ours: the thread ends and is started again. */
  fail(error: unknown): void
}

export class Shard implements OutletOwner {
  readonly core: BrokerCore
  readonly access: AccessControl
  readonly buffers = new WriteBuffers()
  draining = 0
  readonly #world: ShardWorld
  readonly #topics: TopicTable
  readonly #commits: Commits
  readonly #loads: QueueLoads
  readonly #answers: AccessAnswers
  readonly #outlets = new Set<Outlet>()
  readonly #eventLog: EventLog
  #dirty: Outlet[] = []
  #backlog: Outlet[] = []
  #committedBatch = 0
  /** The time of this turn, 0 between turns: the clock is read once. */
  #turnMs = 0
  #turnIsPlanned = false
  #turn = 0
  #settings: CoreSettings
  /** One object for all connections. */
  #decoderOptions: PacketDecoderOptions
  #timer: NodeJS.Timeout | undefined
  #timerAtMs = Infinity
  #tickIsDue = false
  #whenEmpty: (() => void) | undefined
  /** Made once: a turn ends for each connection that comes alone. */
  readonly #endOfTurn = (): void => this.#guarded(this.#turnEnd)
  readonly #turnEnd = (): void => this.#endTurn()
  readonly #packetInput: { kind: 'packet'; connection: Connection; packet: Packet }

  constructor(world: ShardWorld) {
    this.#world = world
    this.#settings = world.start.core
    const { core } = world.start
    this.#topics = new TopicTable(topicsRemembered)
    this.#decoderOptions = this.#optionsOfDecoders()
    this.#eventLog = new EventLog(world.log, () => this.#dropped())
    this.access = new AccessControl(world.start.access, {
      log: world.log,
      nowMs: () => this.#now(),
      permissionsChanged: () => this.#guarded(() => this.input({ kind: 'permissions-changed' })),
    })
    const { permissions } = this.access
    this.core = new BrokerCore(core, { identity: world.identity, topics: this.#topics, permissions })
    this.#answers = new AccessAnswers(this.access, {
      answer: (input) => this.core.handle(input, this.#now()),
      answerLater: (input) => this.#guarded(() => this.input(input)),
      fail: (error) => world.fail(error),
    })
    this.#commits = new Commits(world.store, {
      noteCommitted: (batch) => this.#guarded(() => this.#afterCommit(batch)),
      noteHealth: (isHealthy, why) => this.#guarded(() => this.#changeHealth(isHealthy, why)),
      fail: (error) => world.fail(error),
    })
    this.#loads = new QueueLoads(world.store, {
      answer: (answer) => this.#guarded(() => this.input(answer)),
      noteFailure: (text) => world.alarm('storage', text),
      fail: (error) => world.fail(error),
    })
    // One object for the input that comes by the million.
    this.#packetInput = { kind: 'packet', connection: undefined as never, packet: undefined as never }
  }

  get connections(): number {
    return this.#outlets.size
  }

  accept(stream: ByteStream, listener: ShardListener): void {
    const outlet = new Outlet(this, stream, new PacketDecoder(this.#decoderOptions))
    outlet.connection = new Connection(outlet, listener, stream.remoteAddress)
    this.#outlets.add(outlet)
    this.#count(counterCells.connectionsAccepted, 1)
    // Nothing is put out for it, so no turn is begun: most connections come in a poll of their own.
    this.core.handle({ kind: 'connection-opened', connection: outlet.connection }, this.#world.clock.nowMs())
    this.#setTimer()
  }

  /** New limits, in force from here on; what a decoder allows, for connections that come. */
  changeSettings(settings: CoreSettings, access: AccessSettings): void {
    this.#settings = settings
    const { permissions } = this.access
    const wasOpen = permissions.allowsEverything
    this.access.changeSettings(access)
    this.#decoderOptions = this.#optionsOfDecoders()
    if (!wasOpen || !permissions.allowsEverything) this.input({ kind: 'permissions-changed' })
    this.input({ kind: 'settings', settings })
  }

  /** What is stored of who may come in and what they may do has changed. */
  applyAccess(change: RecordChange): void {
    if (this.access.applyRecords(change)) this.input({ kind: 'permissions-changed' })
  }

  #optionsOfDecoders(): PacketDecoderOptions {
    const { maxPacketBytes, maxTopicLevels } = this.#settings
    const { maxPropertyBytes } = this.#world.start
    return { role: 'server', topics: this.#topics, maxPacketBytes, maxPropertyBytes, maxTopicLevels }
  }

  /** Anything but packets. */
  input(input: Input): void {
    this.core.handle(input, this.#now())
    this.#carryOut()
  }

  noteChunk(outlet: Outlet, chunk: Buffer): void {
    this.#count(counterCells.bytesReceived, chunk.length)
    outlet.decoder.push(chunk)
    if (outlet.isBacklogged) return
    if (outlet.inputTurn !== this.#turn) {
      outlet.inputTurn = this.#turn
      outlet.inputBytes = 0
    }
    outlet.inputBytes += chunk.length
    this.#read(outlet)
    if (outlet.inputBytes >= maxInputBytesPerTurn && !outlet.isBacklogged) this.#setBack(outlet)
  }

  noteDirty(outlet: Outlet): void {
    this.#dirty.push(outlet)
    this.#planTurnEnd()
  }

  noteWritten(bytes: number): void {
    this.#count(counterCells.bytesSent, bytes)
  }

  noteSent(outlet: Outlet): void {
    const { connection } = outlet
    const reportFrom = Math.min(reportUnsentFrom, this.#settings.maxUnsentBytes * reportUnsentShare)
    if (connection !== undefined && connection.unsentBytes >= reportFrom) this.#reportUnsent(outlet, connection)
    if (outlet.isReaderStopped) this.#startReader(outlet)
  }

  noteClosed(outlet: Outlet, error: Error | undefined): void {
    this.#outlets.delete(outlet)
    const { connection } = outlet
    if (connection !== undefined) {
      this.access.forget(connection)
      this.input({ kind: 'connection-closed', connection })
    }
    if (error !== undefined)
      this.#world.log.debug('stream failed', { address: outlet.stream.remoteAddress, error: error.message })
    if (this.#outlets.size === 0) this.#whenEmpty?.()
  }

  /** Clients are told and their streams ended; what was promised is on disk when it resolves. */
  async stop(patienceMs: number): Promise<void> {
    this.input({ kind: 'shutdown' })
    // Who has not said who they are cannot be told.
    for (const outlet of this.#outlets) if (outlet.connection?.now.state === 'awaiting-connect') outlet.stream.end()
    await new Promise<void>((resolve) => {
      if (this.#outlets.size === 0) return resolve()
      this.#whenEmpty = resolve
      setTimeout(resolve, patienceMs).unref()
    })
    for (const outlet of this.#outlets) outlet.stream.destroy()
    this.access.close()
    await this.#loads.end()
    this.#endTurn()
    while (this.core.view.hasBatch || this.#commits.isBusy) {
      await this.#commits.whenIdle()
      this.#startCommit()
    }
    clearTimeout(this.#timer)
  }

  /** Packets of one connection, until they are used up or the turn is over. */
  #read(outlet: Outlet): void {
    const { connection, decoder } = outlet
    if (connection === undefined) return
    const nowMs = this.#now()
    const input = this.#packetInput
    const { sends } = this.core.takeOutputs()
    let packets = 0
    try {
      while (!connection.isPaused) {
        const packet = decoder.next()
        if (packet === undefined) break
        packets++
        input.connection = connection
        input.packet = packet
        this.core.handle(input, nowMs)
        if (sends.length >= maxSendsBetweenDrains) this.#carryOut()
        else if (packets % packetsBetweenLooks !== 0) continue
        if (this.#world.clock.nowMs() - nowMs >= maxTurnMs) {
          this.#setBack(outlet)
          break
        }
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      connection.version = connection.now.state === 'awaiting-connect' ? decoder.version : connection.version
      this.core.handle({ kind: 'protocol-fault', connection, error }, nowMs)
    }
    this.#count(counterCells.packetsReceived, packets)
    this.#carryOut()
    if (this.#owesTooMuch(outlet)) this.#stopReader(outlet)
  }

  /** Who asks and does not read the answers is not read from either: nothing else bounds what they take. */
  #owesTooMuch(outlet: Outlet): boolean {
    return outlet.unreadAnswerBytes > this.#settings.maxUnsentBytes
  }

  /** More input than fits this turn: the reader stands still and the rest waits its turn behind the others. */
  #setBack(outlet: Outlet): void {
    outlet.isBacklogged = true
    this.#backlog.push(outlet)
    this.#stopReader(outlet)
    this.#planTurnEnd()
  }

  /** What the core has put out since the last time. */
  #carryOut(): void {
    const outputs = this.core.takeOutputs()
    // Answers at hand come back in the same turn, and bring outputs of their own.
    while (outputs.questions.length > 0) this.#answerQuestions(outputs.questions.splice(0))
    this.#drain(outputs.sends)
    for (const { connection, isPaused } of outputs.readers) this.#changeReader(connection.outlet as Outlet, isPaused)
    for (const { connection, afterBatch } of outputs.closes) this.#close(connection.outlet as Outlet, afterBatch)
    for (const event of outputs.events) this.#eventLog.tell(event, this.#now())
    this.core.clearOutputs()
    if (this.core.view.hasBatch || this.core.view.hasMoreWork) this.#planTurnEnd()
    this.#setTimer()
  }

  #drain(sends: Batch['sendsAfterCommit']): void {
    if (sends.length === 0) return
    this.draining++
    this.#count(counterCells.packetsSent, sends.length)
    drainSends(sends, this.#now())
  }

  #answerQuestions(questions: Question[]): void {
    for (const question of questions) {
      if (question.kind === 'load-queue') this.#loads.add(question, this.#committedBatch)
      else this.#answers.take(question)
    }
  }

  #changeReader(outlet: Outlet, isPaused: boolean): void {
    if (isPaused) return this.#stopReader(outlet)
    if (outlet.isClosed || outlet.isBacklogged) return
    // What has arrived already comes first, at the next turn: now other handlers may be under way.
    outlet.isBacklogged = true
    this.#backlog.push(outlet)
    this.#planTurnEnd()
  }

  #stopReader(outlet: Outlet): void {
    if (outlet.isReaderStopped) return
    outlet.isReaderStopped = true
    outlet.stream.pause()
  }

  #startReader(outlet: Outlet): void {
    if (!outlet.isReaderStopped || outlet.isBacklogged || outlet.connection?.isPaused === true) return
    if (this.#owesTooMuch(outlet)) return
    outlet.isReaderStopped = false
    outlet.stream.resume()
  }

  #close(outlet: Outlet, afterBatch: number): void {
    if (outlet.isClosed) return
    if (afterBatch > this.#committedBatch) {
      this.#closesAfter.push({ outlet, afterBatch })
      return
    }
    outlet.endsAfterFlush = true
    this.noteDirty(outlet)
  }
  #closesAfter: { outlet: Outlet; afterBatch: number }[] = []

  #reportUnsent(outlet: Outlet, connection: Connection): void {
    this.input({ kind: 'unsent-bytes', connection, bytes: outlet.unsentBytes })
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
    this.#goOnWithBacklog()
    if (this.#tickIsDue || this.core.view.hasMoreWork) this.#tick()
    this.#startCommit()
    this.#flush()
    this.#publishCounters()
    this.#turnMs = 0
  }

  /** As many as fit into the time of a turn; the others keep their place before those that are set back anew. */
  #goOnWithBacklog(): void {
    if (this.#backlog.length === 0) return
    const backlog = this.#backlog
    this.#backlog = []
    const beganMs = this.#now()
    let index = 0
    do {
      const outlet = backlog[index++]
      outlet.isBacklogged = false
      if (!outlet.isClosed) this.#read(outlet)
      this.#startReader(outlet)
    } while (index < backlog.length && this.#world.clock.nowMs() - beganMs < maxTurnMs)
    if (index < backlog.length) this.#backlog = [...backlog.slice(index), ...this.#backlog]
  }

  #flush(): void {
    const dirty = this.#dirty
    this.#dirty = []
    const isShortOfRoom = this.buffers.takenBytes > this.#world.start.maxUnsentBytesTotal
    for (const outlet of dirty) {
      outlet.flush()
      // All readers together hold too much: those that have not taken their last write get nothing more for now.
      if (isShortOfRoom && outlet.isWriting && outlet.connection !== undefined) outlet.connection.unsentBytes = Infinity
    }
  }

  /** What others may read of this shard without asking it. */
  #publishCounters(): void {
    const { cells } = this.#world.counters
    const { view } = this.core
    cells[counterCells.unsentBytes] = this.buffers.takenBytes
    cells[counterCells.connectionsOpen] = view.connections
    cells[counterCells.sessionsStored] = view.sessions
    cells[counterCells.retainedStored] = view.retainedMessages
    cells[counterCells.messagesReceived] = view.counts.publishesReceived
    cells[counterCells.messagesSent] = view.counts.publishesSent
    cells[counterCells.messagesDropped] = this.#dropped()
  }

  /** The next batch goes to disk when the last one is there. One without changes has only waited its turn. */
  #startCommit(): void {
    while (!this.#commits.isBusy) {
      const batch = this.core.takeBatch()
      if (batch === undefined) return
      if (batch.changes.some((change) => change !== undefined)) this.#commits.start(batch)
      else this.#afterCommit(batch)
    }
  }

  #afterCommit(batch: Batch): void {
    this.#committedBatch = batch.number
    this.#drain(batch.sendsAfterCommit)
    this.input({ kind: 'committed', batch: batch.number })
    this.#loads.noteCommitted(batch.number)
    const ready = this.#closesAfter.filter(({ afterBatch }) => afterBatch <= batch.number)
    this.#closesAfter = this.#closesAfter.filter(({ afterBatch }) => afterBatch > batch.number)
    for (const { outlet } of ready) this.#close(outlet, 0)
  }

  #changeHealth(isHealthy: boolean, why: string): void {
    this.#world.alarm(
      'storage',
      isHealthy ? 'the disk serves again' : `the disk fails, nothing durable is acknowledged: ${why}`,
    )
    this.input({ kind: 'storage-health', isHealthy })
  }

  #setTimer(): void {
    const atMs = this.core.nextDeadlineMs()
    if (atMs >= this.#timerAtMs || atMs === Infinity) return
    clearTimeout(this.#timer)
    this.#timerAtMs = atMs
    const delayMs = Math.min(longestTimerMs, Math.max(1, atMs - this.#now()))
    this.#timer = setTimeout(() => this.#guarded(() => this.#onTimer()), delayMs)
  }

  /**
   * Timers come before what has arrived: after a standstill of the whole process every client would be found silent.
   * So deadlines are looked at when the turn ends.
   */
  #onTimer(): void {
    this.#tickIsDue = true
    this.#planTurnEnd()
  }

  #tick(): void {
    if (this.#tickIsDue) this.#timerAtMs = Infinity
    this.#tickIsDue = false
    this.input({ kind: 'tick' })
  }

  #now(): number {
    if (this.#turnMs === 0) {
      this.#turnMs = this.#world.clock.nowMs()
      this.#planTurnEnd()
    }
    return this.#turnMs
  }

  #count(cell: number, by: number): void {
    this.#world.counters.cells[cell] += by
  }

  #dropped(): number {
    return Object.values(this.core.view.counts.dropped).reduce((sum, count) => sum + count, 0)
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#world.fail(error)
    }
  }
}
