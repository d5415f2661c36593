// Sends entries from an action queue to the service, in batches, with retries. Entries with the same key stay in order.
//
//   action queue ──► waiting ──► batch ──► Sink.write ──► done: acknowledged, and so removed from the action queue
//                       ▲                        ├─────► retry: all entries wait, longer after each attempt
//                       └────── delayed ◄────────┴─────► refused: retried alone, then a dead letter
//
// This class stores nothing: after a crash, the action queue delivers unacknowledged entries again.

import { maskUrlSecrets } from '../../config/index.ts'
import type { ActionState } from '../plan/rule-plan.ts'
import type { DeliveryCounters } from '../statistics/action-counters.ts'
import { Backoff } from './backoff.ts'
import { checkSafely, writeSafely } from './safe-calls.ts'
import type { Sink, ActionEntry, WriteOutcome } from '../../sinks/index.ts'
import { WaitingEntries } from './waiting-entries.ts'
import { ActionQueueClient, type ActionQueueClientOptions, type DeliveredEntry } from './action-queue-client.ts'

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

/** An entry that the action queue has delivered and that has no final outcome. */
export interface QueuedEntry {
  /** Identifies the entry until the action queue is opened again. Older entries have lower numbers. */
  readonly sequence: number
  readonly entry: ActionEntry
  /** What the sink sends for the entry. */
  readonly prepared: ActionEntry
  /** Number of times that the service refused the entry. */
  readonly refusals: number
  /** Why the entry was refused last. */
  readonly why: string
}

export interface ActionDeliveryDependencies {
  nowMs(): number
  random(): number
  after(delayMs: number, work: () => void): { cancel(): void }
  /** Entries with the same key are sent one after the other; undefined: an entry waits for no other. */
  keyOf(entry: ActionEntry): string | undefined
  readonly queue: Pick<ActionQueueClientOptions, 'clientId' | 'userProperties' | 'open' | 'later'>
  /** Returns the entry as it is sent; `why`: it cannot be sent, and becomes a dead letter. Absent: as it is stored. */
  prepare?(entry: ActionEntry): ActionEntry | { readonly why: string }
  /** Stores a dead letter; false: it could not be stored and must be stored later. `isDiscarded`: an administrator has discarded the entry. */
  storeDeadLetter(entry: ActionEntry, why: string, isDiscarded: boolean): Promise<boolean>
  /** Reports the final outcome of an entry, for the statistics of its rule. */
  noteOutcome(entry: ActionEntry, isDone: boolean, why: string): void
  /** Called when the state has changed. */
  /** `hasFailed`: the last request or check failed. */
  noteState(state: ActionState, why: string, hasFailed: boolean): void
  /** Called when the action queue was opened for the first time. */
  noteReady(): void
}

interface Attempted extends QueuedEntry {
  readonly entry: DeliveredEntry
  readonly key: string | undefined
  refusals: number
  why: string
  /** The entry becomes a dead letter, unless the service has accepted it. */
  isDiscarded: boolean
}

/** The action queue delivers this many times the entries that the service may have at one time, so that the next batch is complete. */
const lookaheadFactor = 2
/** Receive Maximum at the action queue, unless the configured batch size is larger. */
const usualReceiveMaximum = 2_000
const maxReceiveMaximum = 65_535

/** If the service has not responded for this time, its state is no longer `connected`. */
const maxSilenceMs = 2_000

export class ActionDelivery {
  readonly counters: DeliveryCounters = { success: 0, failed: 0, retried: 0 }
  readonly #dependencies: ActionDeliveryDependencies
  readonly #settings: DeliverySettings
  readonly #client: ActionQueueClient
  readonly #backoff: Backoff
  #sink: Sink | undefined
  #state: ActionState = 'stopped'
  #stateReason = ''
  /** When the service was available last. */
  #stateSinceMs = 0
  #lastError = ''
  readonly #waiting = new WaitingEntries<Attempted>()
  /** Refused entries that wait for their next attempt. */
  readonly #delayed = new Set<Attempted>()
  /** Batches that the sink is sending. */
  readonly #sending = new Set<readonly Attempted[]>()
  #inflight = 0
  /** Time of the last response, or of the last request that was sent while no response was pending. */
  #lastResponseAtMs = 0
  #silenceTimer: { cancel(): void } | undefined
  #isChecking = false
  #hasFailed = false
  #sequence = 0
  /** Number of the connection to the action queue. Outcomes for an earlier connection are ignored: its entries are delivered again. */
  #connectionNumber = 0
  #retryTimer: { cancel(): void } | undefined
  #batchTimer: { cancel(): void } | undefined
  #healthTimer: { cancel(): void } | undefined
  #isClosed = false
  #wasReady = false

  constructor(settings: DeliverySettings, dependencies: ActionDeliveryDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
    this.#backoff = new Backoff(settings.retryIntervalMs, () => dependencies.random())
    const wanted = Math.max(settings.inflightWindow, settings.batchSize) * lookaheadFactor
    const receiveMaximum = Math.min(maxReceiveMaximum, Math.max(usualReceiveMaximum, settings.batchSize), wanted)
    const options = {
      ...dependencies.queue,
      receiveMaximum,
      after: (delayMs: number, work: () => void) => dependencies.after(delayMs, work),
    }
    this.#client = new ActionQueueClient(options, {
      noteOpened: () => this.#handleOpened(),
      noteEntry: (entry) => this.#add(entry),
      noteClosed: () => this.#clear(),
    })
  }

  get clientId(): string {
    return this.#dependencies.queue.clientId
  }

  get state(): ActionState {
    return this.#state
  }

  get stateReason(): string {
    return this.#stateReason
  }

  /** Whether the last request or check failed. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Why the service does not accept entries, and since when; undefined: it does. */
  get outage(): { readonly why: string; readonly sinceMs: number } | undefined {
    if (this.#state === 'connected') return undefined
    const why = this.#stateReason === '' ? 'the service has not responded yet' : this.#stateReason
    return { why, sinceMs: this.#stateSinceMs }
  }

  get lastError(): string {
    return this.#lastError
  }

  /** Number of entries that were sent and have no outcome yet. */
  get inflight(): number {
    return this.#inflight
  }

  /** Opens the action queue, and sends entries if there is a sink. */
  start(sink: Sink | undefined, why: string): void {
    this.#sink = sink
    this.#setState(sink === undefined ? 'stopped' : 'connecting', why)
    this.#client.start()
    this.#checkHealth()
  }

  /** Replaces the sink; `undefined`: there is no sink. Entries that the previous sink was sending are sent again. */
  changeSink(sink: Sink | undefined, why: string): void {
    const previous = this.#sink
    this.#sink = sink
    this.#backoff.reset()
    this.#retryTimer?.cancel()
    this.#retryTimer = undefined
    previous?.close()
    this.#isChecking = false
    this.#hasFailed = false
    this.#setState(sink === undefined ? 'stopped' : 'connecting', why)
    this.#checkHealth()
    this.#sendBatches()
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
    this.#isChecking = false
    for (const timer of [this.#healthTimer, this.#retryTimer]) timer?.cancel()
    this.#setFailedState(why)
    this.#retryTimer = this.#dependencies.after(delayMs, () => {
      this.#retryTimer = undefined
      this.#checkHealth()
      this.#sendBatches()
    })
  }

  stop(): void {
    this.#isClosed = true
    for (const timer of [this.#retryTimer, this.#batchTimer, this.#healthTimer, this.#silenceTimer]) timer?.cancel()
    this.#client.stop()
    this.#sink?.close()
    this.#sink = undefined
  }

  /** Returns the oldest entries without a final outcome. */
  oldestEntries(maxEntries: number): readonly QueuedEntry[] {
    return this.#oldest(maxEntries)
  }

  #oldest(maxEntries: number): readonly Attempted[] {
    const isKept = ({ isDiscarded }: Attempted): boolean => !isDiscarded
    const all = [...[...this.#sending].flat(), ...this.#delayed, ...this.#waiting.all].filter(isKept)
    return all.toSorted((one, other) => one.sequence - other.sequence).slice(0, maxEntries)
  }

  /**
   * Makes one of the oldest entries a dead letter, or all of them. Those that the service has at this time only if it does not accept
   * them. Returns their number.
   */
  discard(sequence: number | undefined, why: string, maxEntries: number): number {
    const found = this.#oldest(maxEntries).filter((entry) => sequence === undefined || entry.sequence === sequence)
    const sending = new Set([...this.#sending].flat())
    this.#waiting.remove(new Set(found.filter((entry) => !sending.has(entry) && !this.#delayed.has(entry))))
    for (const attempted of found) {
      attempted.isDiscarded = true
      attempted.refusals = Number.POSITIVE_INFINITY
      attempted.why = why
      this.#delayed.delete(attempted)
      if (!sending.has(attempted)) this.#storeDeadLetter(attempted, why)
    }
    this.#sendBatches()
    return found.length
  }

  #handleOpened(): void {
    this.#clear()
    if (this.#wasReady) return
    this.#wasReady = true
    this.#dependencies.noteReady()
  }

  #clear(): void {
    this.#connectionNumber++
    this.#waiting.clear()
    this.#delayed.clear()
    this.#sending.clear()
    this.#inflight = 0
  }

  #add(entry: DeliveredEntry): void {
    const prepared = this.#dependencies.prepare?.(entry) ?? entry
    const isRefused = 'why' in prepared
    const attempted = {
      entry,
      prepared: isRefused ? entry : prepared,
      sequence: ++this.#sequence,
      key: this.#dependencies.keyOf(entry),
      refusals: 0,
      why: '',
      isDiscarded: false,
    }
    if (isRefused) return this.#refuseForGood(attempted, prepared.why)
    this.#waiting.add(attempted)
    this.#sendBatches()
  }

  /** Sends batches until a limit is reached. */
  #sendBatches(): void {
    while (this.#canSend()) {
      const { batchSize, onePerKey } = this.#settings
      const batch = this.#waiting.take(Math.min(batchSize, this.#freeWindow()), onePerKey)
      if (this.#inflight === 0 && !this.#isChecking) this.#lastResponseAtMs = this.#dependencies.nowMs()
      this.#inflight += batch.length
      this.#watchSilence()
      this.#send(batch)
    }
  }

  #freeWindow(): number {
    return Math.max(this.#settings.inflightWindow, this.#settings.batchSize) - this.#inflight
  }

  /**
   * Free window that the next batch needs. A batch is not divided to fit into the window: each completed part would make space for a
   * part of the same size only, so batches would stay small. With one entry of each key, batches are small anyway.
   */
  get #nextBatchSize(): number {
    const { batchSize, onePerKey } = this.#settings
    return onePerKey ? 1 : Math.min(batchSize, this.#waiting.size)
  }

  #canSend(): boolean {
    if (this.#sink === undefined || this.#retryTimer !== undefined || this.#isClosed) return false
    if (!this.#waiting.hasReady || this.#freeWindow() < this.#nextBatchSize) return false
    // After a failure, one batch at a time is sent until the service works again.
    if (this.#backoff.failures > 0 && this.#inflight > 0) return false
    const { batchSize, batchTimeMs } = this.#settings
    if (this.#waiting.size >= batchSize || batchTimeMs === 0) return true
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

  #send(batch: readonly Attempted[]): void {
    const sink = this.#sink
    const connectionNumber = this.#connectionNumber
    if (sink === undefined) return
    this.#sending.add(batch)
    writeSafely(sink, batch, (outcomes) => {
      if (connectionNumber !== this.#connectionNumber || this.#isClosed) return
      this.#sending.delete(batch)
      this.#inflight -= batch.length
      this.#waiting.release(batch)
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

  #handleOutcomes(batch: readonly Attempted[], outcomes: readonly WriteOutcome[], isCurrentSink: boolean): void {
    const again: Attempted[] = []
    let failure: string | undefined
    for (const [index, attempted] of batch.entries()) {
      const outcome = outcomes[index] ?? { outcome: 'retry', why: 'the sink returned no outcome' }
      if (outcome.outcome === 'done') this.#noteDone(attempted)
      else if (outcome.outcome === 'refused') this.#noteRefused(attempted, outcome.why)
      else {
        failure ??= outcome.why
        if (attempted.isDiscarded) this.#storeDeadLetter(attempted, attempted.why)
        else again.push(attempted)
      }
    }
    if (again.length > 0) {
      this.counters.retried += again.length
      this.#waiting.putBack(again)
    }
    if (!isCurrentSink) return
    if (failure === undefined) return this.#noteReached()
    this.#noteFailure(failure)
  }

  #noteDone({ entry }: Attempted): void {
    this.counters.success++
    this.#client.acknowledge(entry)
    this.#dependencies.noteOutcome(entry, true, '')
  }

  #noteRefused(attempted: Attempted, why: string): void {
    this.#lastError = maskUrlSecrets(why)
    attempted.refusals++
    attempted.why = why
    if (attempted.refusals > this.#settings.maxRetries) return this.#storeDeadLetter(attempted, why)
    this.counters.retried++
    this.#retryLater(attempted, this.#settings.retryIntervalMs * 2 ** Math.min(attempted.refusals - 1, 10))
  }

  /** The entry cannot be sent, so it is not tried again. */
  #refuseForGood(attempted: Attempted, why: string): void {
    this.#lastError = why
    attempted.refusals = Number.POSITIVE_INFINITY
    attempted.why = why
    this.#storeDeadLetter(attempted, why)
  }

  #retryLater(attempted: Attempted, delayMs: number): void {
    const connectionNumber = this.#connectionNumber
    this.#delayed.add(attempted)
    this.#dependencies.after(delayMs, () => {
      if (connectionNumber !== this.#connectionNumber || !this.#delayed.delete(attempted)) return
      if (attempted.refusals > this.#settings.maxRetries) return this.#storeDeadLetter(attempted, attempted.why)
      this.#waiting.putBack([attempted])
      this.#sendBatches()
    })
  }

  #storeDeadLetter(attempted: Attempted, why: string): void {
    const connectionNumber = this.#connectionNumber
    this.#dependencies.storeDeadLetter(attempted.entry, maskUrlSecrets(why), attempted.isDiscarded).then((isStored) => {
      if (connectionNumber !== this.#connectionNumber || this.#isClosed) return
      if (!isStored) return this.#retryLater(attempted, this.#settings.retryIntervalMs)
      this.counters.failed++
      this.#client.acknowledge(attempted.entry)
      this.#dependencies.noteOutcome(attempted.entry, false, maskUrlSecrets(why))
    }, this.#rethrow)
  }

  #watchSilence(): void {
    this.#silenceTimer ??= this.#dependencies.after(maxSilenceMs, () => this.#noteSilence())
  }

  /** Checks whether the service has been silent for too long. All batches in progress and the check share this timer. */
  #noteSilence(): void {
    this.#silenceTimer = undefined
    if (this.#inflight === 0 && !this.#isChecking) return
    const silentMs = this.#dependencies.nowMs() - this.#lastResponseAtMs
    if (silentMs >= maxSilenceMs && this.#state !== 'stopped')
      this.#setState('connecting', `the service has not responded for ${maxSilenceMs / 1_000} s`)
    const nextMs = silentMs >= maxSilenceMs ? maxSilenceMs : maxSilenceMs - silentMs
    this.#silenceTimer = this.#dependencies.after(nextMs, () => this.#noteSilence())
  }

  #noteReached(): void {
    this.#lastResponseAtMs = this.#dependencies.nowMs()
    this.#backoff.reset()
    this.#hasFailed = false
    this.#setState('connected', '')
  }

  #setFailedState(why: string): void {
    this.#hasFailed = true
    this.#lastError = maskUrlSecrets(why)
    this.#setState('disconnected', why)
  }

  #noteFailure(why: string): void {
    this.#setFailedState(why)
    if (this.#retryTimer !== undefined) return
    this.#retryTimer = this.#dependencies.after(this.#backoff.nextMs(), () => {
      this.#retryTimer = undefined
      this.#sendBatches()
    })
  }

  /** Checks the service at intervals while there is nothing to send. */
  #checkHealth(): void {
    this.#healthTimer?.cancel()
    this.#healthTimer = undefined
    const sink = this.#sink
    if (sink === undefined || this.#isClosed) return
    const planNext = (): void => {
      if (sink !== this.#sink || this.#isClosed) return
      this.#healthTimer = this.#dependencies.after(this.#settings.healthCheckIntervalMs, () => this.#checkHealth())
    }
    if (!this.#isIdle()) return planNext()
    this.#isChecking = true
    this.#lastResponseAtMs = this.#dependencies.nowMs()
    this.#watchSilence()
    checkSafely(sink, (problem) => {
      if (sink !== this.#sink || this.#isClosed) return
      this.#isChecking = false
      // A batch was sent meanwhile, and its result is more recent.
      if (this.#isIdle()) {
        if (problem === undefined) this.#noteReached()
        else this.#setFailedState(problem)
      }
      planNext()
    })
  }

  /** True if no batch is in progress or has failed. Waiting messages then belong to an incomplete batch. */
  #isIdle(): boolean {
    const isCollecting = this.#batchTimer !== undefined && this.#backoff.failures === 0
    return this.#inflight === 0 && (this.#waiting.size === 0 || isCollecting)
  }

  #setState(state: ActionState, reason: string): void {
    const why = maskUrlSecrets(reason)
    if (state === this.#state && why === this.#stateReason) return
    if (this.#state === 'connected' || this.#stateSinceMs === 0) this.#stateSinceMs = this.#dependencies.nowMs()
    this.#state = state
    this.#stateReason = why
    this.#dependencies.noteState(state, why, this.#hasFailed)
  }
}
