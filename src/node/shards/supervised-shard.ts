// One shard as the main thread sees it: a thread that is started, monitored, restarted when it fails, and stopped.
//
//   starting --ready--> running --fails--> waiting --(delay)--> starting
//      |                   |                  |
//      '-------------- stop ------------------'--> stopping --> stopped

import { type Transferable, Worker } from 'node:worker_threads'
import type { StoredValueChange } from '../../actions/index.ts'
import { counterCells, Counters, type Logger } from '../../telemetry/index.ts'
import {
  type QueryResult,
  type BridgeReport,
  type FilterNotice,
  CrashMarker,
  type NodeToShard,
  type QueryName,
  type QueryOf,
  type ShardLink,
  type ShardQuery,
  type ShardStart,
  type ShardToNode,
  type CrashCandidate,
  type TraceLine,
} from '../../shard/index.ts'
import type { StoreConnection, StoreOwner } from '../../storage/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'

export interface RestartPolicy {
  /** Delay before the first restart; doubled for each further one. */
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** If the shard has run for this time, earlier failures are not counted. */
  readonly forgivenAfterMs: number
  /** After this number of consecutive restarts, a further failure stops the node, so that administrators notice it. */
  readonly maxConsecutiveRestarts: number
}

export const defaultRestartPolicy: RestartPolicy = {
  firstDelayMs: 100,
  maxDelayMs: 30_000,
  forgivenAfterMs: 60_000,
  maxConsecutiveRestarts: 10,
}

export interface SupervisedShardOptions {
  readonly entry: URL
  readonly start: ShardStart
  /** Gives the shard access to the store that all shards share. */
  readonly storeOwner: StoreOwner
  readonly log: Logger
  readonly restarts: RestartPolicy
  /** Maximum heap of the thread, in MiB. */
  readonly maxHeapMb: number
  /** Called when the shard failed after `maxConsecutiveRestarts`: it is not restarted. */
  onRestartLimit(message: string): void
  readonly alarms: Alarms
  onTrace(name: string, line: TraceLine): void
  onBridges(reports: readonly BridgeReport[]): void
  /** Called with values that rules on this shard have stored for the node. */
  onStoredValues(changes: readonly StoredValueChange[]): void
  /** Returns all stored values of rules, for a thread that starts. */
  listStoredValues(): readonly StoredValueChange[]
  /** Sends filters of clients of this shard to all other shards. */
  forwardFilters(notice: FilterNotice): void
  /** Called when another node is the home of the shard: it is not started again. */
  onHomeLost(reason: string): void
  /** Called when the shard could not read bytes of a peer, and its link to the peer has ended. */
  onLinkFailure(peer: number): void
  /** Called with a record that was being read at two failures of the shard. Resolves when the record is in quarantine. */
  quarantine(candidate: CrashCandidate): Promise<void>
  /** Returns ports to the other shards, for a thread that starts. */
  createLinks(): readonly ShardLink[]
  /** Called when a restarted shard serves again. */
  onRestart(): void
  /** Called when the thread has ended. `start`: parameters of the next thread. */
  onThreadEnd(start: ShardStart): void
}

export type ShardStartOutcome =
  | { readonly ready: true }
  /** `isInternal`: its thread failed with an internal error, as because of a record. */
  | { readonly ready: false; readonly message: string; readonly isInternal: boolean }

/** Maximum number of stored names of records; when it is exceeded, all are deleted. */
const maxEarlierCandidates = 1_000

/** Alarms about the thread itself, not about stored data. */
const threadAlarms = new Set(['storage', 'storage-reading', 'shards', 'connections', 'listener'])
/** Alarms about one listener or plugin of the thread, whose name follows. */
const listenerAlarm = /^(?:certificates|listener-closed|plugin_failed):/

/**
 * Size of the young generation of the heap. Objects of one turn are short-lived: with more space, fewer of them are copied into the old
 * generation.
 */
const youngGenerationMb = 64

export class SupervisedShard {
  readonly #options: SupervisedShardOptions
  readonly #counters: Counters
  #state: 'starting' | 'running' | 'waiting' | 'stopping' | 'stopped'
  #worker: Worker | undefined
  #storeClient: StoreConnection | undefined
  /** Parameters of the next thread. */
  #start: ShardStart
  /** Callbacks that wait until the shard has applied a change, by the number of the change. */
  readonly #changes: Map<number, (problem: string | undefined) => void>
  /** Callbacks that wait for a response, by the number of the query. */
  readonly #pendingQueries: Map<number, (response: unknown) => void>
  #failuresInARow: number
  #restarts: number
  #startedAtMs: number
  /** The report of the thread about its end, for the log. */
  #endReport: string | undefined
  /** The thread failed with an internal error, and the report is a stack. */
  #isInternalError: boolean
  /** The thread ran out of memory: the record that it was reading then may not be the cause. */
  #isOutOfMemory: boolean
  /** Records that the shard was reading at earlier failures, by kind and name. */
  readonly #earlierCandidates: Set<string>
  #timer: NodeJS.Timeout | undefined
  #settleFirstStart: ((outcome: ShardStartOutcome) => void) | undefined
  #settleStop: (() => void) | undefined

  constructor(options: SupervisedShardOptions) {
    this.#options = options
    this.#counters = new Counters(options.start.counters, options.start.shardNumber)
    this.#state = 'starting'
    this.#worker = undefined
    this.#storeClient = undefined
    this.#start = options.start
    this.#changes = new Map()
    this.#pendingQueries = new Map()
    this.#earlierCandidates = new Set()
    this.#failuresInARow = 0
    this.#restarts = 0
    this.#startedAtMs = 0
    this.#endReport = undefined
    this.#isInternalError = false
    this.#isOutOfMemory = false
    this.#timer = undefined
    this.#settleFirstStart = undefined
    this.#settleStop = undefined
  }

  /** Resolves when the shard accepts connections, or with the reason why it cannot; then it is not started again. */
  start(changes: Partial<ShardStart> = {}): Promise<ShardStartOutcome> {
    this.#start = { ...this.#start, ...changes }
    return new Promise((resolve) => {
      this.#settleFirstStart = resolve
      this.#startThread()
    })
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  get restarts(): number {
    return this.#restarts
  }

  get #source(): string {
    return `shard ${this.#start.shardNumber}`
  }

  get hasThread(): boolean {
    return this.#worker !== undefined
  }

  /** Sends a message to the shard; it is dropped if the shard has no thread. */
  send(message: NodeToShard, transfer: readonly Transferable[] = []): void {
    this.#worker?.postMessage(message, transfer)
  }

  /**
   * Resolves when the shard has applied the change, or with the problem; also if its thread ends: the next one starts
   * with the change.
   */
  change(number: number, message: NodeToShard, startChanges: Partial<ShardStart>): Promise<string | undefined> {
    this.#start = { ...this.#start, ...startChanges }
    if (this.#worker === undefined) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#changes.set(number, resolve)
      this.send(message)
    })
  }

  /** Resolves with the response of the shard, or with undefined if it has no thread or fails meanwhile. */
  query<Name extends QueryName>(number: number, query: QueryOf<Name>): Promise<QueryResult<Name> | undefined> {
    if (this.#worker === undefined) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#pendingQueries.set(number, resolve as (result: unknown) => void)
      this.send({ kind: 'query', number, query: query as ShardQuery })
    })
  }

  /**
   * Requests the shard to disconnect its clients and to close its store; terminates the thread afterwards, or after
   * `deadlineMs`.
   */
  async stop(deadlineMs: number): Promise<void> {
    clearTimeout(this.#timer)
    const worker = this.#worker
    this.#state = 'stopping'
    if (worker !== undefined) {
      await this.#requestStop(deadlineMs)
      await worker.terminate()
    }
    this.#state = 'stopped'
    this.#settleFirstStart?.({ ready: false, message: 'the node is stopped', isInternal: false })
  }

  #requestStop(deadlineMs: number): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#settleStop = resolve
      this.#timer = setTimeout(() => {
        this.#logEvent('warn', 'shard terminated: it did not stop in time', undefined)
        resolve()
      }, deadlineMs)
      this.send({ kind: 'stop' })
    }).then(() => clearTimeout(this.#timer))
  }

  #startThread(): void {
    this.#state = 'starting'
    this.#endReport = undefined
    this.#isInternalError = false
    this.#isOutOfMemory = false
    this.#startedAtMs = performance.now()
    this.#counters.clearGauges()
    const links = this.#options.createLinks()
    const worker = new Worker(this.#options.entry, {
      name: `shard ${this.#start.shardNumber}`,
      workerData: { ...this.#start, links, hasServed: this.#settleFirstStart === undefined } satisfies ShardStart,
      transferList: links.map(({ port }) => port),
      resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb, maxOldGenerationSizeMb: this.#options.maxHeapMb },
    })
    this.#worker = worker
    this.#storeClient = this.#options.storeOwner.connectClient((notice) =>
      worker.postMessage({ kind: 'store', notice }),
    )
    worker.on('message', (message: ShardToNode) => this.#handleMessage(message))
    worker.on('error', (error) => {
      this.#endReport = error instanceof Error ? (error.stack ?? error.message) : String(error)
      this.#isInternalError = true
      this.#isOutOfMemory = error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    })
    worker.on('exit', () => this.#handleThreadEnd())
    const changes = this.#options.listStoredValues()
    if (changes.length > 0) this.send({ kind: 'stored-values', changes, isOwn: false })
  }

  #handleMessage(message: ShardToNode): void {
    switch (message.kind) {
      case 'ready':
        return this.#handleReady()
      case 'home-lost':
        this.#state = 'stopping'
        return this.#options.onHomeLost(message.reason)
      // The thread ends by itself: terminating it within a call of LevelDB would end the process.
      case 'failed':
        this.#endReport = message.message
        return
      case 'log':
        this.#counters.add(counterCells.logLinesTaken, 1)
        this.#options.log.write(message.level, message.event, message.fields)
        return
      case 'trace':
        return this.#options.onTrace(message.name, message.line)
      case 'bridges':
        return this.#options.onBridges(message.reports)
      case 'stored-values':
        return this.#options.onStoredValues(message.changes)
      case 'client-filters':
        return this.#options.forwardFilters(message.notice)
      case 'link-failed':
        return this.#options.onLinkFailure(message.peer)
      case 'alarm':
        return this.#options.alarms.raise(message.name, message.message, this.#source)
      case 'alarm-over':
        return this.#options.alarms.end(message.name, message.message, this.#source)
      case 'store':
        return this.#storeClient?.handleRequest(message.request)
      case 'query-result':
        this.#pendingQueries.get(message.number)?.(message.result)
        this.#pendingQueries.delete(message.number)
        return
      case 'changed':
        this.#changes.get(message.change)?.(message.problem)
        this.#changes.delete(message.change)
        return
      case 'stopped':
        return this.#settleStop?.()
      default:
        message satisfies never
    }
  }

  #handleReady(): void {
    // The shard was stopped while it was starting: the response to `stop` follows.
    if (this.#state !== 'starting') return
    this.#state = 'running'
    if (this.#failuresInARow > 0) {
      this.#logEvent('warn', 'shard restarted', undefined)
      this.#options.alarms.end('shard-restarting', `${this.#source} serves again`, this.#source)
    }
    if (this.#settleFirstStart === undefined) this.#options.onRestart()
    this.#settleFirstStart?.({ ready: true })
    this.#settleFirstStart = undefined
  }

  #handleThreadEnd(): void {
    this.#worker = undefined
    this.#storeClient?.handleDisconnect()
    this.#options.onThreadEnd(this.#start)
    // The next thread reports bridges only when they have problems: the earlier reports are forgotten.
    this.#options.onBridges([])
    const { alarms } = this.#options
    for (const name of alarms.listRaised(this.#source)) {
      if (isThreadAlarm(name)) alarms.end(name, 'the shard has ended', this.#source)
    }
    for (const settle of this.#changes.values()) settle(undefined)
    this.#changes.clear()
    for (const settle of this.#pendingQueries.values()) settle(undefined)
    this.#pendingQueries.clear()
    this.#settleStop?.()
    const endReport = this.#endReport ?? 'its thread ended without a report'
    const candidate = this.#takeCrashCandidate()
    const mustRestart = this.#settleFirstStart === undefined || candidate !== undefined
    if (this.#state !== 'stopping' && mustRestart) this.#restartLater(endReport, candidate)
    else if (this.#settleFirstStart !== undefined) this.#failFirstStart(this.#settleFirstStart, endReport)
  }

  #failFirstStart(settle: (outcome: ShardStartOutcome) => void, endReport: string): void {
    this.#settleFirstStart = undefined
    if (this.#state !== 'stopping') this.#state = 'stopped'
    if (this.#isInternalError) this.#logEvent('error', 'shard did not start', endReport)
    settle({
      ready: false,
      isInternal: this.#isInternalError,
      message: this.#isInternalError ? `a shard did not start: ${selectFirstLine(endReport)}` : endReport,
    })
  }

  #restartLater(endReport: string, candidate: CrashCandidate | undefined): void {
    const { restarts } = this.#options
    const ranForMs = performance.now() - this.#startedAtMs
    const isForgiven = this.#state === 'running' && ranForMs >= restarts.forgivenAfterMs
    this.#failuresInARow = isForgiven ? 1 : this.#failuresInARow + 1
    if (this.#failuresInARow > restarts.maxConsecutiveRestarts) {
      this.#state = 'stopped'
      this.#logEvent('error', 'shard restart limit reached', endReport)
      if (this.#settleFirstStart !== undefined) return this.#failFirstStart(this.#settleFirstStart, endReport)
      this.#options.onRestartLimit(
        `a shard failed ${this.#failuresInARow} times in a row: ${selectFirstLine(endReport)}; the log has the stack`,
      )
      return
    }
    const delayMs = Math.min(restarts.maxDelayMs, restarts.firstDelayMs * 2 ** (this.#failuresInARow - 1))
    this.#state = 'waiting'
    this.#restarts += 1
    this.#logEvent('error', 'shard failed and is restarting', endReport)
    const text = `${this.#source} failed and is restarting: ${selectFirstLine(endReport)}`
    this.#options.alarms.raise('shard-restarting', text, this.#source)
    const quarantined = this.#quarantineRepeated(candidate)
    this.#timer = setTimeout(() => void quarantined.then(() => this.#startAgain()), delayMs)
  }

  #startAgain(): void {
    if (this.#state === 'waiting') this.#startThread()
  }

  /** Returns the record that was being read when the thread ended, if it may be the cause. */
  #takeCrashCandidate(): CrashCandidate | undefined {
    const { crashMarker } = this.#start
    if (crashMarker === undefined) return undefined
    const marker = new CrashMarker(crashMarker)
    const { suspect: candidate } = marker
    marker.clear()
    // While a shard starts, any record may be the one that exceeds the memory.
    return this.#isOutOfMemory && this.#state === 'starting' ? undefined : candidate
  }

  /** Quarantines the record if it was also being read at an earlier failure. */
  async #quarantineRepeated(candidate: CrashCandidate | undefined): Promise<void> {
    if (candidate === undefined) return
    const name = `${candidate.kind} ${candidate.kind === 'session' ? candidate.clientId : candidate.topic}`
    if (this.#earlierCandidates.delete(name)) return this.#options.quarantine(candidate)
    if (this.#earlierCandidates.size >= maxEarlierCandidates) this.#earlierCandidates.clear()
    this.#earlierCandidates.add(name)
  }

  #logEvent(level: 'warn' | 'error', event: string, endReport: string | undefined): void {
    const { shardNumber } = this.#options.start
    this.#options.log.write(level, event, {
      shard: shardNumber,
      failuresInARow: this.#failuresInARow,
      lastWords: endReport,
    })
  }
}

function isThreadAlarm(alarm: string): boolean {
  return threadAlarms.has(alarm) || listenerAlarm.test(alarm)
}

/** Returns the first line of a report: texts for administrators have one line, and the log has the whole stack. */
const selectFirstLine = (text: string): string => text.split('\n', 1)[0]
