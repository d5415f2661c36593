// Queues of simulated shards, read by the code of real shards (`QueueReads`, `QueueReaders`) over a store whose steps take simulated
// time. Any event can occur between two steps: a commit, an acknowledgement, a reconnect, a reopening of the store.
//
//   core --load-queue--> QueueReads --> QueueReaders --> SlowStore --step, step, step--> Store
//
// The timers of that code use the clock of the stage.

import assert from 'node:assert/strict'
import { mock } from 'node:test'
import type { CoreRequest } from '../../src/core/index.ts'
import { QueueReads } from '../../src/shard/store/queue-reads.ts'
import { type QueueRange, ReadingInterrupted, StorageFailure, type Store } from '../../src/storage/index.ts'
import { withReadQueue } from '../storage/replace-queue-reads.ts'
import type { QueueSlice } from './record-store.ts'
import { Random } from './random.ts'
import { faultOf, type Stage } from './stage.ts'

export type LoadQueue = Extract<CoreRequest, { kind: 'load-queue' }>
type ReadQueue = Store['readQueue']
type Slice = IteratorResult<StoredSlice>
type StoredSlice = ReturnType<ReadQueue> extends AsyncIterable<infer Part> ? Part : never

/** The step of a read. A scenario may break connections at each step. */
export interface ReadStep {
  readonly clientId: string
  readonly at: 'requested' | 'before-slice' | 'after-slice' | 'closed' | 'responded'
}

/** Limits of the real readers, see `src/storage/queues/queue-readers.ts` and `src/shard/store/queue-reads.ts`. */
const maxKeptReadings = 64
const maxRecordsOfMoment = 8_192
const maxPartBytes = 4_194_304
const keptMs = 1_000
/** After this time, an abandoned read has read its remaining records, because queues of scenarios are short. */
const leftMs = 600

/** One shard from its start to its failure. */
interface ShardRun {
  isOver: boolean
  /** Number of open reads of the store, by client. */
  readonly open: Map<string, number>
  /** Number of requested parts without a response, by client. */
  readonly requested: Map<string, number>
  /** Time of the last request or response, by client. */
  readonly usedAtMs: Map<string, number>
}

export class SlowReads {
  readonly stage: Stage
  /** Maximum duration of each step of a read. */
  maxStepMs: number
  whenStep: (step: ReadStep) => void
  /** The probability that a slice cannot be read. */
  failures: number
  /** Number of failures that the readers reported. */
  failuresReported: number
  /** The first rule that the readers violated. */
  fault: string | undefined
  /** Number of requested parts, and of reads of the store for them. */
  parts: number
  opened: number
  private readonly source: () => Store
  private readonly random: Random
  private readonly shardRuns: ShardRun[]
  private epoch: number

  constructor(stage: Stage, source: () => Store) {
    this.stage = stage
    this.source = source
    // A separate generator, so that the scenario draws the same numbers with and without slow reads.
    this.random = new Random(stage.seed + 11 * 2 ** 32)
    this.maxStepMs = this.random.pick([0, 2, 20])
    this.whenStep = () => undefined
    this.failures = 0
    this.failuresReported = 0
    this.fault = undefined
    this.parts = 0
    this.opened = 0
    this.shardRuns = []
    this.epoch = 0
    mock.timers.reset()
    mock.timers.enable({ apis: ['setTimeout'] })
    stage.whenClockMoves = (ms) => {
      mock.timers.tick(ms)
      stage.notePromises()
    }
  }

  /** Returns the readers of one shard until it fails. */
  start(): ShardReads {
    const shardRun = { isOver: false, open: new Map(), requested: new Map(), usedAtMs: new Map() }
    this.shardRuns.push(shardRun)
    return new ShardReads(this, shardRun, this.slowStore(shardRun))
  }

  /** The store was opened again: reads in progress are interrupted. */
  interrupt(): void {
    this.stage.record('readers', () => 'are interrupted')
    this.epoch++
  }

  /** Restores the timers of the process. */
  end(): void {
    this.stage.whenClockMoves = () => undefined
    mock.timers.reset()
  }

  /** Checks that all reads are closed. Call it when nothing was read for `keptMs`. */
  checkEnd(hadFailures: boolean): void {
    const open = this.shardRuns
      .flatMap((shardRun) => (shardRun.isOver ? [] : [...shardRun.open.values()]))
      .reduce(add, 0)
    if (open > 0) this.stage.fail(`${open} reads of queues are open, although none is in progress`)
    if (!hadFailures && this.failuresReported > 0)
      this.stage.fail(`the readers reported ${this.failuresReported} failures, although the disk had none`)
  }

  /** Time between the last read and `checkEnd`. */
  static readonly endMs = keptMs * 2

  private slowStore(shardRun: ShardRun): Store {
    const inner: Pick<Store, 'readQueue'> = { readQueue: (range) => this.source().readQueue(range) }
    const others = new Proxy({} as Store, {
      get: (_, key) => (key === 'keepsSnapshots' ? true : assert.fail('the readers only read queues')),
    })
    return withReadQueue(others, (range) => this.readQueue(inner, shardRun, range))
  }

  private async *readQueue(
    store: Pick<Store, 'readQueue'>,
    shardRun: ShardRun,
    range: QueueRange,
  ): ReturnType<ReadQueue> {
    const { clientId, limit = Infinity } = range
    if (limit > maxRecordsOfMoment) this.fail(`a read of ${clientId} has a limit of ${limit} records`)
    const { epoch } = this
    let slices: AsyncIterator<StoredSlice> | undefined
    this.noteOpened(shardRun, clientId)
    try {
      for (;;) {
        this.whenStep({ clientId, at: 'before-slice' })
        const next = await this.step<Slice>(shardRun, () => {
          if (this.epoch !== epoch) throw new ReadingInterrupted('the database was opened again during a reading')
          if (this.random.chance(this.failures)) throw new StorageFailure('input/output error')
          slices ??= store.readQueue(range)[Symbol.asyncIterator]()
          return slices.next()
        })
        this.whenStep({ clientId, at: 'after-slice' })
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await this.step(shardRun, async () => void (await slices?.return?.()))
      count(shardRun.open, clientId, -1)
      this.whenStep({ clientId, at: 'closed' })
    }
  }

  /** The operation of the store takes no simulated time; time passes before and after it. */
  private step<T>(shardRun: ShardRun, act: () => Promise<T>): Promise<T> {
    const { stage } = this
    return new Promise<T>((resolve, reject) => {
      // A failed shard gets no result.
      const settle = (go: () => void): void => {
        stage.after(this.stepMs(), () => {
          if (shardRun.isOver) return
          stage.notePromises()
          go()
        })
      }
      stage.after(this.stepMs(), async () => {
        if (shardRun.isOver) return
        try {
          const result = await act()
          settle(() => resolve(result))
        } catch (error) {
          settle(() => reject(error))
        }
      })
    })
  }

  private stepMs(): number {
    return this.maxStepMs === 0 ? 0 : this.random.between(0, this.maxStepMs)
  }

  private noteOpened(shardRun: ShardRun, clientId: string): void {
    this.opened++
    count(shardRun.open, clientId, 1)
  }

  /** Called for each request and each response. */
  noteUse(shardRun: ShardRun, clientId: string): void {
    shardRun.usedAtMs.set(clientId, this.stage.nowMs)
    this.stage.after(leftMs, () => this.checkKept(shardRun, clientId))
  }

  /** Checks that replaced and abandoned reads are closed, and that only the allowed number is kept for a next part. */
  private checkKept(shardRun: ShardRun, clientId: string): void {
    const isUnused = (id: string): boolean =>
      !shardRun.requested.has(id) && this.stage.nowMs - (shardRun.usedAtMs.get(id) ?? 0) >= leftMs
    if (shardRun.isOver || !isUnused(clientId)) return
    const open = shardRun.open.get(clientId) ?? 0
    if (open > 1) this.fail(`${open} reads of the queue of ${clientId} are kept`)
    const kept = [...shardRun.open].filter(([id]) => isUnused(id)).reduce((sum, [, ofClient]) => sum + ofClient, 0)
    if (kept > maxKeptReadings) this.fail(`${kept} reads are kept at the same time`)
  }

  /** Keeps the first violation. It is not thrown, because the reader would catch it. */
  fail(sentence: string): void {
    this.fault ??= `${sentence} [seed ${this.stage.seed}, at ${(this.stage.elapsedMs / 1_000).toFixed(3)} s]`
  }
}

function count(counts: Map<string, number>, key: string, by: number): void {
  const now = (counts.get(key) ?? 0) + by
  if (now === 0) counts.delete(key)
  else counts.set(key, now)
}

const add = (sum: number, one: number): number => sum + one

/** The reads of one shard until it fails. */
export class ShardReads {
  private readonly reads: SlowReads
  private readonly loads: QueueReads
  private readonly shardRun: ShardRun
  private readonly pending: Map<number, { request: LoadQueue; respond: (slice: QueueSlice) => void }>

  constructor(reads: SlowReads, shardRun: ShardRun, store: Store) {
    this.reads = reads
    this.shardRun = shardRun
    this.pending = new Map()
    this.loads = new QueueReads(store, {
      respond: ({ requestId, records, isEnd }) => {
        const waiting = this.pending.get(requestId)
        this.pending.delete(requestId)
        if (waiting !== undefined && !this.shardRun.isOver) this.take(waiting, { records, isEnd })
      },
      onFailure: () => void reads.failuresReported++,
      onRecovery: () => undefined,
      fail: (error) => reads.fail(`the readers failed: ${String(error)}`),
    })
  }

  add(request: LoadQueue, committedBatch: number, respond: (slice: QueueSlice) => void): void {
    const { clientId } = request
    this.reads.parts++
    this.pending.set(request.requestId, { request, respond })
    count(this.shardRun.requested, clientId, 1)
    this.reads.noteUse(this.shardRun, clientId)
    this.loads.add(request, committedBatch)
    this.reads.stage.notePromises()
    this.reads.whenStep({ clientId, at: 'requested' })
  }

  noteCommitted(batch: number): void {
    this.loads.handleCommitted(batch)
    this.reads.stage.notePromises()
  }

  stop(): void {
    this.shardRun.isOver = true
  }

  private take(
    { request, respond }: { request: LoadQueue; respond: (slice: QueueSlice) => void },
    slice: QueueSlice,
  ): void {
    const { clientId } = request
    count(this.shardRun.requested, clientId, -1)
    this.reads.noteUse(this.shardRun, clientId)
    this.check(request, slice)
    try {
      respond(slice)
    } catch (error) {
      // It would end the process as a rejected promise of the readers.
      this.reads.fault ??= faultOf(error, this.reads.stage.seed)
    }
    this.reads.whenStep({ clientId, at: 'responded' })
  }

  /** Each response matches its request, also if the core does not need it any more. */
  private check({ clientId, fromSequence, limit }: LoadQueue, { records, isEnd }: QueueSlice): void {
    const what = `a part of the queue of ${clientId}`
    let next = fromSequence
    let bytes = 0
    for (const record of records) {
      if (record.kind !== 'queued') continue
      if (record.sequence < next) this.reads.fail(`${what} has ${record.sequence} where ${next} could be next`)
      next = record.sequence + 1
      bytes += typeof record.message === 'number' ? 0 : record.message.payload.length
    }
    if (records.length > limit) this.reads.fail(`${what} has ${records.length} records, and ${limit} were requested`)
    if (!isEnd && records.length < limit && bytes < maxPartBytes)
      this.reads.fail(`${what} has ${records.length} records of ${limit}, and is not the end`)
  }
}
