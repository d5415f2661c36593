// Drives the broker as a shard does, in the simulated world: feeds it what happens, carries out what it wants, lets
// it die and starts it again from the disk.
//
//   network, disk, clock --handle--> core --takeOutputs--> sends, questions, closes, readers --> network, disk, clock
//                                         --takeBatch----> disk --committed--> sendsAfterCommit

import {
  BrokerCore,
  type Batch,
  type BrokerEvent,
  type Close,
  type ConnectVerdict,
  type CoreSettings,
  type Input,
  type Question,
  type ReaderChange,
  type SendList,
} from '../../src/core/index.ts'
import { ProtocolError, TopicTable } from '../../src/protocol/index.ts'
import { BrokerStream, writeSends } from './broker-stream.ts'
import type { Death, Disk } from './disk.ts'
import { EdgeWatch } from './edge-watch.ts'
import { whenReady, type Eventually, type StartRecords } from './keeper.ts'
import { Link, type NetworkTraits } from './network.ts'
import type { PlannedEvent, Stage } from './stage.ts'

type ConnectQuestion = Question & { kind: 'may-connect' }

export interface HostTraits {
  /** A turn gathers what happens within this time. */
  maxTurnMs: number
  /** The answer to `may-connect`, and how long it takes. */
  verdict: (question: ConnectQuestion) => { verdict: ConnectVerdict; afterMs: number }
  /** What the broker's clock is ahead of the world's. */
  clockOffsetMs: number
  /** A mistake made on purpose, to see the oracles find it: what must wait for the disk leaves before. */
  promisesEarly: boolean
}

/** What the core has put out in this turn so far. */
interface Wanted {
  readonly touched: Set<BrokerStream>
  readonly questions: Question[]
  readonly closes: Close[]
  readonly readers: ReaderChange[]
}

const nothingWanted = (): Wanted => ({ touched: new Set(), questions: [], closes: [], readers: [] })

/** A stream that does not close by itself is destroyed after so long. */
const closeTimeoutMs = 5_000

export class BrokerHost {
  readonly traits: HostTraits
  settings: CoreSettings
  /** What the broker said for those who watch, of all its lives. */
  readonly events: BrokerEvent[]
  readonly watch: EdgeWatch
  readonly streams: Set<BrokerStream>
  /** It was asked to stop and has not yet. */
  isStopping: boolean
  private readonly stage: Stage
  private readonly disk: Disk
  private running: BrokerCore | undefined
  private turnEnd: PlannedEvent | undefined
  private deadline: PlannedEvent | undefined
  private reports: Set<BrokerStream>
  private wanted: Wanted
  private committedBatch: number
  private readonly waitingCloses: Close[]
  private topics: TopicTable
  private streamCount: number
  private aheadMs: number

  constructor(stage: Stage, disk: Disk, options: { settings: CoreSettings; traits: HostTraits }) {
    this.stage = stage
    this.disk = disk
    this.settings = options.settings
    this.traits = options.traits
    this.events = []
    this.streams = new Set()
    this.watch = new EdgeWatch(stage, () => ({
      maxInflightMessages: this.settings.maxInflightMessages,
      retryIntervalMs: this.settings.retryIntervalMs,
      nowMs: this.nowMs,
    }))
    this.running = undefined
    this.turnEnd = undefined
    this.deadline = undefined
    this.reports = new Set()
    this.wanted = nothingWanted()
    this.committedBatch = 0
    this.waitingCloses = []
    this.topics = new TopicTable(1_024)
    this.streamCount = 0
    this.aheadMs = 0
    this.isStopping = false
  }

  get isRunning(): boolean {
    return this.running !== undefined
  }

  /** The broker as it runs now. */
  get core(): BrokerCore {
    if (this.running === undefined) throw new Error('the broker is not running: world.start() it first')
    return this.running
  }

  /** The world's clock with this life's offset: goes on evenly, and begins not before what the last life recorded. */
  get nowMs(): number {
    return this.stage.nowMs + this.aheadMs
  }

  /** Starts a broker on what is on the disk. */
  start(): Eventually<void> {
    if (this.running !== undefined) throw new Error('the broker is running already')
    return whenReady(this.disk.readStart(), (found) => this.startWith(found))
  }

  /** The process is killed, or the power fails. Connections break; the disk keeps what it had. */
  die(death: Death): Eventually<void> {
    if (this.running === undefined) return undefined
    this.stage.tell('broker', () => `dies: ${death}`)
    for (const stream of this.streams) if (stream.watch.session === undefined) this.watch.ended(stream.watch)
    this.watch.wills.crashed()
    this.forget()
    return this.disk.die(death)
  }

  /** Asks the broker to stop; it is gone once everybody has been told and everything is on disk. */
  stop(): void {
    if (this.running === undefined || this.isStopping) return
    this.stage.tell('broker', () => 'is asked to stop')
    this.isStopping = true
    this.handle({ kind: 'shutdown' })
    // Who has not said anything yet is nobody to the broker: the shard sends it away.
    for (const stream of this.streams) if (stream.connection.now.state === 'awaiting-connect') this.close(stream)
  }

  accept(network: NetworkTraits): Link | undefined {
    if (this.running === undefined || this.isStopping) return undefined
    const link = new Link(this.stage, network)
    const stream = new BrokerStream(link, {
      name: `stream-${++this.streamCount}`,
      topics: this.topics,
      maxPacketBytes: this.settings.maxPacketBytes,
      maxTopicLevels: this.settings.maxTopicLevels,
    })
    link.attachBroker({
      arrived: (chunk) => this.arrived(stream, chunk),
      ended: () => this.closed(stream),
      drained: () => this.report(stream),
    })
    this.streams.add(stream)
    this.handle({ kind: 'connection-opened', connection: stream.connection })
    return link
  }

  handle(input: Input): void {
    this.core.handle(input, this.nowMs)
    this.drain()
    this.turnEnd ??= this.stage.after(
      this.traits.maxTurnMs === 0 ? 0 : this.stage.random.between(0, this.traits.maxTurnMs),
      () => {
        this.turnEnd = undefined
        this.endTurn()
      },
    )
  }

  private startWith(found: StartRecords): void {
    const identity = this.stage.random.word().toString(36)
    this.topics = new TopicTable(1_024)
    this.running = new BrokerCore(this.settings, { identity, topics: this.topics })
    this.aheadMs = Math.max(this.traits.clockOffsetMs, recordedTimeMs(found.records) - this.stage.nowMs)
    this.isStopping = false
    this.watch.wills.restarted()
    this.disk.attach({
      committed: (batch) => this.committed(batch),
      health: (isHealthy) => this.handle({ kind: 'storage-health', isHealthy }),
    })
    this.stage.tell('broker', () => `starts with ${found.records.length} records and ${found.queues.length} queues`)
    this.handle({ kind: 'restore', records: found.records })
    for (const queue of found.queues) this.handle({ kind: 'restore-queue', ...queue })
    const half = Math.floor(found.bodies.length / 2)
    this.handle({ kind: 'bodies-counted', counts: found.bodies.slice(0, half), isEnd: false })
    this.handle({ kind: 'bodies-counted', counts: found.bodies.slice(half), isEnd: true })
  }

  private forget(): void {
    this.watch.restarted()
    this.running = undefined
    this.isStopping = false
    this.stage.cancel(this.turnEnd)
    this.stage.cancel(this.deadline)
    this.turnEnd = undefined
    this.deadline = undefined
    this.reports.clear()
    this.wanted = nothingWanted()
    this.committedBatch = 0
    this.waitingCloses.length = 0
    for (const stream of this.streams) {
      stream.isClosed = true
      stream.link.break({ clientAfterMs: 0, brokerAfterMs: undefined })
    }
    this.streams.clear()
  }

  private arrived(stream: BrokerStream, chunk: Buffer): void {
    if (stream.isClosed || stream.isBroken) return
    stream.decoder.push(chunk)
    this.readOn(stream)
  }

  private readOn(stream: BrokerStream): void {
    for (let packet = stream.next(); packet !== undefined; packet = stream.next()) {
      if (packet instanceof ProtocolError) {
        const error = packet
        this.stage.tell('broker', () => `does not understand ${stream.name}: ${error.message}`)
        this.handle({ kind: 'protocol-fault', connection: stream.connection, error })
        return
      }
      if (packet.type === 'connect') stream.connection.version = packet.version
      // What comes on a connection that is over for the broker has not come.
      const { state } = stream.connection.now
      if (state !== 'closing' && state !== 'closed') this.watch.cameIn(stream.watch, packet)
      this.handle({ kind: 'packet', connection: stream.connection, packet })
    }
  }

  private closed(stream: BrokerStream): void {
    if (stream.isClosed) return
    stream.isClosed = true
    this.watch.ended(stream.watch)
    this.streams.delete(stream)
    stream.link.toClient.end()
    this.handle({ kind: 'connection-closed', connection: stream.connection })
  }

  /** Tells the core, once in a while, how much this client has left unread. */
  private report(stream: BrokerStream): void {
    if (this.reports.has(stream) || this.running === undefined) return
    this.reports.add(stream)
    this.stage.after(0, () => {
      if (!this.reports.delete(stream) || stream.isClosed || this.running === undefined) return
      this.handle({ kind: 'unsent-bytes', connection: stream.connection, bytes: stream.link.toClient.unsentBytes })
    })
  }

  /** What is sent is written into the streams at once, in the order in which the core made it; it leaves with the turn. */
  private drain(): void {
    const { core, wanted } = this
    const outputs = core.takeOutputs()
    for (const stream of this.writeSends(outputs.sends, false)) wanted.touched.add(stream)
    this.events.push(...outputs.events)
    wanted.questions.push(...outputs.questions)
    wanted.readers.push(...outputs.readers)
    for (const close of outputs.closes) {
      const stream = close.connection.outlet as BrokerStream
      this.watch.ended(stream.watch)
      if (close.afterBatch <= this.committedBatch) stream.isFinished = true
      wanted.closes.push(close)
    }
    core.clearOutputs()
  }

  private endTurn(): void {
    const { touched, questions, closes, readers } = this.wanted
    this.wanted = nothingWanted()
    this.flush(touched)
    for (const question of questions) this.answer(question)
    for (const change of readers) this.setReader(change.connection.outlet as BrokerStream, change.isPaused)
    for (const close of closes) this.closeAfter(close)
    this.feedDisk()
    this.planDeadline()
    if (this.isStopping) this.stopIfDone()
  }

  private writeSends(sends: SendList, isAfterCommit: boolean): Set<BrokerStream> {
    return writeSends(sends, this.watch, { nowMs: this.nowMs, isAfterCommit })
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
    if (batch === undefined) return
    if (this.traits.promisesEarly) this.flush(this.writeSends(batch.sendsAfterCommit, true))
    this.disk.commit(batch)
  }

  private committed(batch: Batch): void {
    if (!this.traits.promisesEarly) this.flush(this.writeSends(batch.sendsAfterCommit, true))
    this.committedBatch = batch.number
    for (const close of this.waitingCloses.splice(0)) this.closeAfter(close)
    this.handle({ kind: 'committed', batch: batch.number })
  }

  private planDeadline(): void {
    const { core } = this
    const atMs = core.view.hasMoreWork ? this.nowMs : core.nextDeadlineMs()
    const delayMs = atMs - this.nowMs
    this.stage.cancel(this.deadline)
    this.deadline = undefined
    if (delayMs === Infinity) return
    this.deadline = this.stage.after(delayMs, () => {
      this.deadline = undefined
      this.handle({ kind: 'tick' })
    })
  }

  private answer(question: Question): void {
    const core = this.running
    if (question.kind === 'may-connect') {
      const { verdict, afterMs } = this.traits.verdict(question)
      this.stage.after(afterMs, () => {
        if (this.running === core) this.handle({ kind: 'connect-verdict', question: question.question, verdict })
      })
      return
    }
    if (question.kind !== 'load-queue') throw new Error(`nobody answers ${question.kind} in this world`)
    this.disk.readQueue(question, ({ records, isEnd }) => {
      if (this.running === core) this.handle({ kind: 'queue-loaded', question: question.question, records, isEnd })
    })
  }

  private setReader(stream: BrokerStream, isPaused: boolean): void {
    if (stream.isClosed) return
    if (isPaused) stream.link.toBroker.pause()
    // Not within this turn: between its sends and its batch nothing may be handled, or a later answer passes an earlier.
    else this.stage.after(0, () => this.readAgain(stream))
  }

  /** What had been decoded half is read before the network gives more. */
  private readAgain(stream: BrokerStream): void {
    if (stream.isClosed) return
    this.readOn(stream)
    if (!stream.connection.isPaused) stream.link.toBroker.resume()
  }

  /** What is to be said before may still wait for the disk. */
  private closeAfter(close: Close): void {
    const stream = close.connection.outlet as BrokerStream
    if (close.afterBatch <= this.committedBatch) this.close(stream)
    else this.waitingCloses.push(close)
  }

  private close(stream: BrokerStream): void {
    if (stream.isClosed || stream.isClosing) return
    stream.isFinished = true
    stream.isClosing = true
    stream.link.toClient.end()
    stream.link.toBroker.resume()
    this.stage.after(closeTimeoutMs, () => {
      if (!stream.isClosed) stream.link.break({ clientAfterMs: 0, brokerAfterMs: 0 })
    })
  }

  private stopIfDone(): void {
    if (this.streams.size > 0 || !this.disk.isFree || this.turnEnd !== undefined) return
    this.stage.tell('broker', () => 'has stopped')
    this.forget()
    void this.disk.die('kill')
  }
}

function recordedTimeMs(records: StartRecords['records']): number {
  const clock = records.find((record) => record.kind === 'fact' && record.name === 'clock')
  return clock?.kind === 'fact' ? Number(clock.value) : 0
}
