// Sends entries from an action queue to the service, in batches, with retries. Entries with the same key stay in order.
//
//   action queue ──► waiting ──► batch ──► Sink.write ──► done: acknowledged, and so removed from the action queue
//                       ▲                        ├─────► retry: all entries wait, longer after each attempt
//                       └────── delayed ◄────────┴─────► refused: retried alone, then a dead letter
//
// This class stores nothing: after a crash, the action queue delivers unacknowledged entries again.

import { maskUrlSecrets } from '../../config/index.ts'
import type { ActionEntry, Sink, WriteOutcome } from '../../sinks/index.ts'
import type { ActionState } from '../plan/rule-reports.ts'
import type { DeliveryCounters } from '../statistics/action-counters.ts'
import { ActionQueueClient, type ActionQueueClientOptions, type DeliveredEntry } from './action-queue-client.ts'
import { AttemptedEntries, type AttemptedEntry, markRefused, type QueuedEntry } from './attempted-entries.ts'
import { Backoff } from './backoff.ts'
import { DeliveryState, type DeliveryStateDependencies } from './delivery-state.ts'
import { writeSafely } from './safe-calls.ts'
import { ServiceWatch } from './service-watch.ts'

export interface DeliverySettings {
  readonly batchSize: number
  readonly batchTimeMs: number
  readonly inflightWindow: number
  readonly maxRetries: number
  readonly retryIntervalMs: number
  readonly healthCheckIntervalMs: number
  /** Whether the sink may send entries of one batch at the same time: a batch then has one entry of each key. */
  readonly onePerKey: boolean
}

export interface ActionDeliveryDependencies extends DeliveryStateDependencies {
  random(): number
  after(delayMs: number, work: () => void): { cancel(): void }
  /** Entries with the same key are sent one after the other; undefined: an entry waits for no other. */
  findOrderKey(entry: ActionEntry): string | undefined
  readonly queue: Pick<ActionQueueClientOptions, 'clientId' | 'userProperties' | 'open' | 'later'>
  /** Returns the entry as it is sent; `why`: it cannot be sent, and becomes a dead letter. Absent: as it is stored. */
  prepare?(entry: ActionEntry): ActionEntry | { readonly why: string }
  /** Stores a dead letter; false: it could not be stored and must be stored later. `isDiscarded`: an administrator has discarded the entry. */
  storeDeadLetter(entry: ActionEntry, why: string, isDiscarded: boolean): Promise<boolean>
  /** Reports the final outcome of an entry, for the statistics of its rule. */
  recordOutcome(entry: ActionEntry, isDone: boolean, why: string): void
  /** Called when the action queue was opened for the first time. */
  onReady(): void
}

/** The action queue delivers this many times the entries that the service may have at one time, so that the next batch is complete. */
const lookaheadFactor = 2
/** Receive Maximum at the action queue, unless the configured batch size is larger. */
const usualReceiveMaximum = 2_000
const maxReceiveMaximum = 65_535

export class ActionDelivery {
  readonly counters: DeliveryCounters = { success: 0, failed: 0, retried: 0 }
  readonly #dependencies: ActionDeliveryDependencies
  readonly #settings: DeliverySettings
  readonly #client: ActionQueueClient
  readonly #backoff: Backoff
  readonly #state: DeliveryState
  readonly #watch: ServiceWatch
  readonly #entries = new AttemptedEntries()
  #sink: Sink | undefined
  /** Number of the connection to the action queue. Outcomes for an earlier connection are ignored: its entries are delivered again. */
  #connectionNumber = 0
  #retryTimer: { cancel(): void } | undefined
  #batchTimer: { cancel(): void } | undefined
  #isClosed = false
  #wasReady = false

  constructor(settings: DeliverySettings, dependencies: ActionDeliveryDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
    this.#state = new DeliveryState(dependencies)
    this.#watch = new ServiceWatch({
      healthCheckIntervalMs: settings.healthCheckIntervalMs,
      nowMs: () => dependencies.nowMs(),
      after: (delayMs, work) => dependencies.after(delayMs, work),
      isBusy: () => this.#entries.inflight > 0,
      isIdle: () => this.#isIdle(),
      onReached: () => this.#handleReached(),
      onProblem: (why) => this.#state.setFailed(why),
      onSilence: (silentMs) => this.#state.setSilent(silentMs),
    })
    this.#backoff = new Backoff(settings.retryIntervalMs, () => dependencies.random())
    const wanted = Math.max(settings.inflightWindow, settings.batchSize) * lookaheadFactor
    const receiveMaximum = Math.min(maxReceiveMaximum, Math.max(usualReceiveMaximum, settings.batchSize), wanted)
    const options = {
      ...dependencies.queue,
      receiveMaximum,
      after: (delayMs: number, work: () => void) => dependencies.after(delayMs, work),
    }
    this.#client = new ActionQueueClient(options, {
      onOpened: () => this.#handleOpened(),
      onEntry: (entry) => this.#add(entry),
      onClosed: () => this.#clear(),
    })
  }

  get clientId(): string {
    return this.#dependencies.queue.clientId
  }

  get state(): ActionState {
    return this.#state.state
  }

  get stateReason(): string {
    return this.#state.reason
  }

  get hasFailed(): boolean {
    return this.#state.hasFailed
  }

  get outage(): DeliveryState['outage'] {
    return this.#state.outage
  }

  get lastError(): string {
    return this.#state.lastError
  }

  /** Number of entries that were sent and have no outcome yet. */
  get inflight(): number {
    return this.#entries.inflight
  }

  /** Opens the action queue, and sends entries if there is a sink. */
  start(sink: Sink | undefined, why: string): void {
    this.#sink = sink
    this.#begin(why)
    this.#client.start()
    this.#watch.check()
  }

  /** Replaces the sink; `undefined`: there is no sink. Entries that the previous sink was sending are sent again. */
  changeSink(sink: Sink | undefined, why: string): void {
    const previous = this.#sink
    this.#sink = sink
    this.#backoff.reset()
    this.#retryTimer?.cancel()
    this.#retryTimer = undefined
    previous?.close()
    this.#begin(why)
    this.#watch.check()
    this.#sendBatches()
  }

  #begin(why: string): void {
    this.#watch.replace(this.#sink)
    this.#state.begin(this.#sink === undefined ? 'stopped' : 'connecting', why)
  }

  /**
   * Replaces a sink whose client library has failed. Nothing is sent before the delay is over. Entries that the previous sink was sending
   * are sent again.
   */
  restartSink(sink: Sink, why: string, delayMs: number): void {
    const previous = this.#sink
    if (previous === undefined || this.#isClosed) return sink.close()
    this.#sink = sink
    previous.close()
    this.#watch.replace(sink)
    this.#retryTimer?.cancel()
    this.#state.setFailed(why)
    this.#retryTimer = this.#dependencies.after(delayMs, () => {
      this.#retryTimer = undefined
      this.#watch.check()
      this.#sendBatches()
    })
  }

  stop(): void {
    this.#isClosed = true
    for (const timer of [this.#retryTimer, this.#batchTimer]) timer?.cancel()
    this.#watch.stop()
    this.#client.stop()
    this.#sink?.close()
    this.#sink = undefined
  }

  /** Returns the oldest entries without a final outcome. */
  listOldestEntries(maxEntries: number): readonly QueuedEntry[] {
    return this.#entries.listOldest(maxEntries)
  }

  /**
   * Makes one of the oldest entries a dead letter, or all of them. Those that the service has at this time only if it does not accept
   * them. Returns their number.
   */
  discard(sequence: number | undefined, why: string, maxEntries: number): number {
    const { count, removed } = this.#entries.discard(sequence, why, maxEntries)
    for (const attempted of removed) this.#storeDeadLetter(attempted, why)
    this.#sendBatches()
    return count
  }

  #handleOpened(): void {
    this.#clear()
    if (this.#wasReady) return
    this.#wasReady = true
    this.#dependencies.onReady()
  }

  #clear(): void {
    this.#connectionNumber++
    this.#entries.clear()
  }

  #add(entry: DeliveredEntry): void {
    const prepared = this.#dependencies.prepare?.(entry) ?? entry
    const isRefused = 'why' in prepared
    const key = this.#dependencies.findOrderKey(entry)
    const attempted = this.#entries.create(entry, isRefused ? entry : prepared, key)
    if (isRefused) return this.#refuseForGood(attempted, prepared.why)
    this.#entries.waiting.add(attempted)
    this.#sendBatches()
  }

  /** Sends batches until a limit is reached. */
  #sendBatches(): void {
    while (this.#canSend()) {
      const { batchSize, onePerKey } = this.#settings
      const batch = this.#entries.waiting.take(Math.min(batchSize, this.#freeWindow()), onePerKey)
      this.#watch.recordRequest()
      this.#send(batch)
    }
  }

  #freeWindow(): number {
    return Math.max(this.#settings.inflightWindow, this.#settings.batchSize) - this.#entries.inflight
  }

  /**
   * Free window that the next batch needs. A batch is not divided to fit into the window: each completed part would make space for a
   * part of the same size only, so batches would stay small. With one entry of each key, batches are small anyway.
   */
  get #nextBatchSize(): number {
    const { batchSize, onePerKey } = this.#settings
    return onePerKey ? 1 : Math.min(batchSize, this.#entries.waiting.size)
  }

  #canSend(): boolean {
    if (this.#sink === undefined || this.#retryTimer !== undefined || this.#isClosed) return false
    if (!this.#entries.waiting.hasReady || this.#freeWindow() < this.#nextBatchSize) return false
    // After a failure, one batch at a time is sent until the service works again.
    if (this.#backoff.failures > 0 && this.#entries.inflight > 0) return false
    const { batchSize, batchTimeMs } = this.#settings
    if (this.#entries.waiting.size >= batchSize || batchTimeMs === 0) return true
    return this.#isBatchDue(batchTimeMs)
  }

  #isBatchTimeOver = false

  #isBatchDue(batchTimeMs: number): boolean {
    if (this.#isBatchTimeOver) {
      this.#isBatchTimeOver = false
      return true
    }
    this.#batchTimer ??= this.#dependencies.after(batchTimeMs, () => {
      this.#batchTimer = undefined
      this.#isBatchTimeOver = true
      this.#sendBatches()
    })
    return false
  }

  #send(batch: readonly AttemptedEntry[]): void {
    const sink = this.#sink
    const connectionNumber = this.#connectionNumber
    if (sink === undefined) return
    this.#entries.startBatch(batch)
    writeSafely(sink, batch, (outcomes) => {
      if (connectionNumber !== this.#connectionNumber || this.#isClosed) return
      this.#entries.endBatch(batch)
      // The batch failed because its sink was replaced, not because of the service.
      this.#handleOutcomes(batch, outcomes, sink === this.#sink)
      this.#sendBatches()
    })
  }

  /** An internal error of this class: sinks and checks that fail are handled. */
  readonly #rethrow = (error: unknown): void => {
    this.#dependencies.after(0, () => {
      throw error
    })
  }

  #handleOutcomes(batch: readonly AttemptedEntry[], outcomes: readonly WriteOutcome[], isCurrentSink: boolean): void {
    const again: AttemptedEntry[] = []
    let failure: string | undefined
    for (const [index, attempted] of batch.entries()) {
      const outcome = outcomes[index] ?? { outcome: 'retry', why: 'the sink returned no outcome' }
      if (outcome.outcome === 'done') this.#handleDone(attempted)
      else if (outcome.outcome === 'refused') this.#handleRefusal(attempted, outcome.why)
      else {
        failure ??= outcome.why
        if (attempted.isDiscarded) this.#storeDeadLetter(attempted, attempted.why)
        else again.push(attempted)
      }
    }
    if (again.length > 0) {
      this.counters.retried += again.length
      this.#entries.waiting.putBack(again)
    }
    if (!isCurrentSink) return
    if (failure === undefined) return this.#handleReached()
    this.#handleConnectionFailure(failure)
  }

  #handleDone({ entry }: AttemptedEntry): void {
    this.counters.success++
    this.#client.acknowledge(entry)
    this.#dependencies.recordOutcome(entry, true, '')
  }

  #handleRefusal(attempted: AttemptedEntry, why: string): void {
    this.#state.recordError(why)
    attempted.refusals++
    attempted.why = why
    if (attempted.refusals > this.#settings.maxRetries) return this.#storeDeadLetter(attempted, why)
    this.counters.retried++
    this.#retryLater(attempted, this.#settings.retryIntervalMs * 2 ** Math.min(attempted.refusals - 1, 10))
  }

  /** The entry cannot be sent, so it is not tried again. */
  #refuseForGood(attempted: AttemptedEntry, why: string): void {
    this.#state.recordError(why)
    markRefused(attempted, why)
    this.#storeDeadLetter(attempted, why)
  }

  #retryLater(attempted: AttemptedEntry, delayMs: number): void {
    const connectionNumber = this.#connectionNumber
    this.#entries.delay(attempted)
    this.#dependencies.after(delayMs, () => {
      if (connectionNumber !== this.#connectionNumber || !this.#entries.endDelay(attempted)) return
      if (attempted.refusals > this.#settings.maxRetries) return this.#storeDeadLetter(attempted, attempted.why)
      this.#entries.waiting.putBack([attempted])
      this.#sendBatches()
    })
  }

  #storeDeadLetter(attempted: AttemptedEntry, why: string): void {
    const connectionNumber = this.#connectionNumber
    this.#dependencies.storeDeadLetter(attempted.entry, maskUrlSecrets(why), attempted.isDiscarded).then((isStored) => {
      if (connectionNumber !== this.#connectionNumber || this.#isClosed) return
      if (!isStored) return this.#retryLater(attempted, this.#settings.retryIntervalMs)
      this.counters.failed++
      this.#client.acknowledge(attempted.entry)
      this.#dependencies.recordOutcome(attempted.entry, false, maskUrlSecrets(why))
    }, this.#rethrow)
  }

  #handleReached(): void {
    this.#watch.restartSilence()
    this.#backoff.reset()
    this.#state.setConnected()
  }

  #handleConnectionFailure(why: string): void {
    this.#state.setFailed(why)
    if (this.#retryTimer !== undefined) return
    this.#retryTimer = this.#dependencies.after(this.#backoff.computeNextMs(), () => {
      this.#retryTimer = undefined
      this.#sendBatches()
    })
  }

  /** True if no batch is in progress or has failed. Waiting messages then belong to an incomplete batch. */
  #isIdle(): boolean {
    const isCollecting = this.#batchTimer !== undefined && this.#backoff.failures === 0
    return this.#entries.inflight === 0 && (this.#entries.waiting.size === 0 || isCollecting)
  }
}
