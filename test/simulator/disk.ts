// The disk of the simulated world. One batch at a time is on its way:
//
//   taken --writeMs--> written --syncMs--> synced (told to the broker)
//         lost by any death    kept by kill -9,      kept by everything
//                              by a power loss perhaps
//
// While it fails, a batch is tried again and again and nothing is told.

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
  /** Each of the steps above, and each reading, takes up to so long. */
  maxStepMs: number
}

export interface DiskUser {
  committed(batch: Batch): void
  health(isHealthy: boolean): void
}

export type Death = 'kill' | 'power-loss'

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
  /** Of the user, where readings take more than a step. */
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

  /** It fails, and its broker has been told. */
  get isSick(): boolean {
    return !this.isHealthy
  }

  /** A broker has started on it. */
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

  /** Reads a queue once `afterBatch` is on disk; `isWanted` says at the end whether the asker still lives. */
  readQueue(from: LoadQueue, answer: (slice: QueueSlice) => void): void {
    const { user } = this
    if (this.reads !== undefined) return this.reads.add(from, this.committedBatch, answer)
    const read = (): void => {
      this.stage.after(this.stepMs(), () => {
        if (this.user !== user) return undefined
        const slice = this.recordStore.readQueue(from)
        return whenReady(slice, (found) => {
          this.stage.after(this.stepMs(), () => {
            if (this.user === user) answer(found)
          })
        })
      })
    }
    if (from.afterBatch <= this.committedBatch) read()
    else this.waitingReads.push({ afterBatch: from.afterBatch, read })
  }

  /** Reads a will or a retained message. */
  readMessage(of: MessageRecordKey, answer: (message: StoredMessage | undefined) => void): void {
    const { user } = this
    const read = (): void => {
      this.stage.after(this.stepMs(), () => {
        if (this.user !== user) return undefined
        return whenReady(this.recordStore.readMessage(of), (found) => {
          this.stage.after(this.stepMs(), () => {
            if (this.user === user) answer(found)
          })
        })
      })
    }
    if (this.readsAreHeld) this.heldReads.push(read)
    else read()
  }

  /** No message is read until `releaseReads`. */
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

  /** For one user of several, whose disk goes on. It does not remember what it has read recently: it reopens the store. */
  readAgain(): Eventually<StartRecords> {
    return whenReady(this.recordStore.reopen(), () => this.recordStore.readStart())
  }

  /** Writes and syncs fail from now on until `mend`. */
  fail(): void {
    this.stage.tell('disk', () => 'begins to fail')
    this.fails = true
  }

  mend(): void {
    if (!this.fails) return
    this.stage.tell('disk', () => 'works again')
    this.fails = false
  }

  /** Nothing is written until `release`: for scenarios about what may happen before the disk has it. */
  hold(): void {
    this.isHeld = true
  }

  release(): void {
    this.isHeld = false
    if (this.write !== undefined && this.write.next === undefined) this.proceed(this.write)
  }

  /** The broker dies. What of the batch under way survives is the generator's choice within what `death` allows. */
  die(death: Death): Eventually<void> {
    const { write } = this
    this.user = undefined
    this.reads?.stop()
    this.write = undefined
    this.waitingReads.length = 0
    this.heldReads.length = 0
    if (write === undefined) return undefined
    this.stage.cancel(write.next)
    const survives = write.isWritten && (death === 'kill' || this.stage.random.chance(0.5))
    this.stage.tell('disk', () => `batch ${write.batch.number} ${survives ? 'survived' : 'is lost'}`)
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
      this.tellHealth(false)
      write.next = this.stage.after(retryMs, () => this.proceed(write))
      return undefined
    }
    return whenReady(this.recordStore.apply(write.changes), () => {
      this.write = undefined
      this.committedBatch = write.batch.number
      this.stage.tell('disk', () => `batch ${write.batch.number} is on disk (${write.changes.length} changes)`)
      this.tellHealth(true)
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

  private tellHealth(isHealthy: boolean): void {
    if (isHealthy === this.isHealthy) return
    this.isHealthy = isHealthy
    this.user?.health(isHealthy)
  }
}

/** The disks of all shards, which are one: they fail together. */
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
