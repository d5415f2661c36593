// The disk of the simulated world. It writes one batch at a time:
//
//   taken --writeMs--> written --syncMs--> synced (reported to the broker)
//         lost in any crash    kept at SIGKILL,      always kept
//                              perhaps lost at a power loss
//
// While the disk fails, it retries the batch and reports nothing.

import type { Batch, MessageRecordKey } from '../../src/core/index.ts'
import type { StoredChange, StoredMessage } from '../../src/records/index.ts'
import {
  frozenChanges,
  whenReady,
  type Eventually,
  type RecordStore,
  type QueueSlice,
  type StartRecords,
} from './record-store.ts'
import type { LoadQueue, ShardReads, SlowReads } from './slow-reads.ts'
import type { PlannedEvent, Stage } from './stage.ts'

export interface DiskTraits {
  /** Maximum duration of each step above, and of each read. */
  maxStepMs: number
}

export interface DiskUser {
  committed(batch: Batch): void
  health(isHealthy: boolean): void
}

export type CrashKind = 'kill' | 'power-loss'

interface Write {
  readonly batch: Batch
  readonly changes: StoredChange[]
  isWritten: boolean
  next: PlannedEvent | undefined
}

const retryMs = 500

export class Disk {
  readonly traits: DiskTraits
  private readonly stage: Stage
  private readonly recordStore: RecordStore
  private readonly slowReads: SlowReads | undefined
  /** Reads of the attached shard, if a read takes more than one step. */
  private reads: ShardReads | undefined
  private user: DiskUser | undefined
  private write: Write | undefined
  private committedBatch: number
  private isHealthy: boolean
  private fails: boolean
  private isHeld: boolean
  private readsAreHeld: boolean
  private readonly heldReads: (() => void)[]
  private readonly waitingReads: { afterBatch: number; read: () => void }[]

  constructor(stage: Stage, recordStore: RecordStore, traits: DiskTraits, slowReads?: SlowReads) {
    this.stage = stage
    this.recordStore = recordStore
    this.traits = traits
    this.slowReads = slowReads
    this.reads = undefined
    this.user = undefined
    this.write = undefined
    this.committedBatch = 0
    this.isHealthy = true
    this.fails = false
    this.isHeld = false
    this.readsAreHeld = false
    this.heldReads = []
    this.waitingReads = []
  }

  get isFree(): boolean {
    return this.write === undefined
  }

  /** The disk fails, and the broker knows. */
  get isFailing(): boolean {
    return !this.isHealthy
  }

  /** Called when a broker has started on this disk. */
  attach(user: DiskUser): void {
    this.user = user
    this.reads = this.slowReads?.start()
    this.committedBatch = 0
    this.isHealthy = true
  }

  commit(batch: Batch): void {
    this.write = { batch, changes: frozenChanges(batch.changes), isWritten: false, next: undefined }
    this.proceed(this.write)
  }

  /** Reads a queue when `afterBatch` is durable. A shard that failed meanwhile gets no response. */
  readQueue(from: LoadQueue, respond: (slice: QueueSlice) => void): void {
    const { user } = this
    if (this.reads !== undefined) return this.reads.add(from, this.committedBatch, respond)
    const read = (): void => {
      this.stage.after(this.stepMs(), () => {
        if (this.user !== user) return undefined
        const slice = this.recordStore.readQueue(from)
        return whenReady(slice, (found) => {
          this.stage.after(this.stepMs(), () => {
            if (this.user === user) respond(found)
          })
        })
      })
    }
    if (from.afterBatch <= this.committedBatch) read()
    else this.waitingReads.push({ afterBatch: from.afterBatch, read })
  }

  /** Reads a will or a retained message. */
  readMessage(of: MessageRecordKey, respond: (message: StoredMessage | undefined) => void): void {
    const { user } = this
    const read = (): void => {
      this.stage.after(this.stepMs(), () => {
        if (this.user !== user) return undefined
        return whenReady(this.recordStore.readMessage(of), (found) => {
          this.stage.after(this.stepMs(), () => {
            if (this.user === user) respond(found)
          })
        })
      })
    }
    if (this.readsAreHeld) this.heldReads.push(read)
    else read()
  }

  /** Delays all reads of messages until `releaseReads`. */
  holdReads(): void {
    this.readsAreHeld = true
  }

  releaseReads(): void {
    this.readsAreHeld = false
    for (const read of this.heldReads.splice(0)) read()
  }

  readStart(): Eventually<StartRecords> {
    return whenReady(this.recordStore.reopen(), () => this.recordStore.readStart())
  }

  /** Reads the records for a shard that restarts while the disk continues. The store is reopened, so that no cache remains. */
  readAgain(): Eventually<StartRecords> {
    return whenReady(this.recordStore.reopen(), () => this.recordStore.readStart())
  }

  /** Makes all writes and syncs fail until `mend`. */
  fail(): void {
    this.stage.record('disk', () => 'begins to fail')
    this.fails = true
  }

  mend(): void {
    if (!this.fails) return
    this.stage.record('disk', () => 'works again')
    this.fails = false
  }

  /** Stops writing until `release`, for scenarios about the time before a commit. */
  hold(): void {
    this.isHeld = true
  }

  release(): void {
    this.isHeld = false
    if (this.write !== undefined && this.write.next === undefined) this.proceed(this.write)
  }

  /** The broker crashes. The generator decides which part of the pending batch survives, as far as `death` allows. */
  die(death: CrashKind): Eventually<void> {
    const { write } = this
    this.user = undefined
    this.reads?.stop()
    this.write = undefined
    this.waitingReads.length = 0
    this.heldReads.length = 0
    if (write === undefined) return undefined
    this.stage.cancel(write.next)
    const survives = write.isWritten && (death === 'kill' || this.stage.random.chance(0.5))
    this.stage.record('disk', () => `batch ${write.batch.number} ${survives ? 'survived' : 'is lost'}`)
    return survives ? this.recordStore.apply(write.changes) : undefined
  }

  private stepMs(): number {
    return this.traits.maxStepMs === 0 ? 0 : this.stage.random.between(0, this.traits.maxStepMs)
  }

  private proceed(write: Write): void {
    if (this.isHeld) {
      write.next = undefined
      return
    }
    write.next = this.stage.after(this.stepMs(), () => {
      write.isWritten = true
      write.next = this.stage.after(this.stepMs(), () => this.sync(write))
    })
  }

  private sync(write: Write): Eventually<void> {
    if (this.isHeld) {
      write.next = undefined
      return undefined
    }
    if (this.fails) {
      this.reportHealth(false)
      write.next = this.stage.after(retryMs, () => this.proceed(write))
      return undefined
    }
    return whenReady(this.recordStore.apply(write.changes), () => {
      this.write = undefined
      this.committedBatch = write.batch.number
      this.stage.record('disk', () => `batch ${write.batch.number} is on disk (${write.changes.length} changes)`)
      this.reportHealth(true)
      this.user?.committed(write.batch)
      this.startWaitingReads()
    })
  }

  private startWaitingReads(): void {
    this.reads?.noteCommitted(this.committedBatch)
    for (let at = 0; at < this.waitingReads.length;) {
      const waiting = this.waitingReads[at]
      if (waiting === undefined || waiting.afterBatch > this.committedBatch) at++
      else {
        this.waitingReads.splice(at, 1)
        waiting.read()
      }
    }
  }

  private reportHealth(isHealthy: boolean): void {
    if (isHealthy === this.isHealthy) return
    this.isHealthy = isHealthy
    this.user?.health(isHealthy)
  }
}

/** The disks of all shards. They are one device and fail together. */
export class DiskGroup {
  private readonly disks: readonly Disk[]

  constructor(disks: readonly Disk[]) {
    this.disks = disks
  }

  get isFree(): boolean {
    return this.disks.every((disk) => disk.isFree)
  }

  set maxStepMs(ms: number) {
    for (const disk of this.disks) disk.traits.maxStepMs = ms
  }

  fail(): void {
    for (const disk of this.disks) disk.fail()
  }

  mend(): void {
    for (const disk of this.disks) disk.mend()
  }

  hold(): void {
    for (const disk of this.disks) disk.hold()
  }

  release(): void {
    for (const disk of this.disks) disk.release()
  }

  holdReads(): void {
    for (const disk of this.disks) disk.holdReads()
  }

  releaseReads(): void {
    for (const disk of this.disks) disk.releaseReads()
  }
}
