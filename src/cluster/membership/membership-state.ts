// What a node knows of the membership.

import { ConfirmationRun } from './confirmation-run.ts'
import { type ClockDecision, decideClock } from './cluster-clock.ts'
import { DatabaseSession } from './database-session.ts'
import type { HomeTable } from './home-table.ts'
import type { Instant, Lease } from './lease.ts'
import { LifeObservations } from './life-observations.ts'
import type { MembershipAction } from './membership-actions.ts'
import type { MembershipOptions } from './membership-events.ts'
import { findNode, isHomeless, isWaiting, type MembershipRows } from './membership-rows.ts'
import { Reachability } from './reachability.ts'

/** A live node ends another one this long after its lease at the earliest. */
export const endMarginMs = 2_000
const unreachedMs = 5_000

export interface PendingCommand {
  readonly id: number
  readonly actions: readonly MembershipAction[]
}

/** A measurement of the clock of the database. */
interface ClockSample {
  readonly offsetMs: number
  readonly uncertaintyMs: number
}

const maxClockSamples = 8
/** The own clock differs only if this many measurements in a row agree. */
const minDifferences = 3

export class MembershipState {
  readonly options: MembershipOptions
  readonly session = new DatabaseSession()
  readonly run: ConfirmationRun
  readonly observations = new LifeObservations()
  readonly reach = new Reachability(unreachedMs)
  readonly homes: HomeTable
  /** The last confirmed rows, and the monotonic time at which they arrived. */
  rows: MembershipRows | undefined
  receivedMs = 0
  lease: Lease | undefined
  /** Monotonic time since which there is no lease; undefined: there is one. */
  leaseLostMs: number | undefined
  hasJoined = false
  isStopping = false
  commands: PendingCommand[] = []
  /** The highest confirmed epoch of each shard. */
  readonly epochs = new Map<number, number>()
  /** Monotonic time since which each shard has no home. */
  readonly homelessMs = new Map<number, number>()
  lastCleanMs = Number.NEGATIVE_INFINITY
  #samples: ClockSample[] = []
  #differences = 0

  constructor(options: MembershipOptions, homes: HomeTable) {
    this.options = options
    this.homes = homes
    this.run = new ConfirmationRun(options.leaseMs)
  }

  /** The row of this node, if its life belongs to the cluster. */
  get ownNode() {
    return this.rows === undefined ? undefined : findNode(this.rows, this.options.life)
  }

  /** Another life of the same name has not ended yet. */
  get isWaiting(): boolean {
    const own = this.ownNode
    return own !== undefined && this.rows !== undefined && isWaiting(this.rows, own)
  }

  get isRefused(): boolean {
    return this.ownNode?.isRefused === true
  }

  /** The clock of this node differs from the others: it is no home. */
  get clockDiffers(): boolean {
    return this.#differences >= minDifferences
  }

  /** This node takes shards. */
  get canTake(): boolean {
    return this.options.role === 'core' && !this.isStopping && !this.clockDiffers && this.ownNode?.isEvacuated !== true
  }

  /** Whether a shard is down because the database went back. */
  isHeld(shard: number): boolean {
    const row = this.rows?.shards.find((found) => found.shard === shard)
    return row !== undefined && (row.isHeld || row.epoch < (this.epochs.get(shard) ?? 0))
  }

  recordClock(databaseMs: number, sentAt: Instant, now: Instant): void {
    const uncertaintyMs = Math.max(0, now.monotonicMs - sentAt.monotonicMs) / 2
    const offsetMs = databaseMs - (now.wallMs - uncertaintyMs)
    this.#samples = [...this.#samples, { offsetMs, uncertaintyMs }].slice(-maxClockSamples)
    this.#differences = this.decideClock(now.monotonicMs).nodeDiffers ? this.#differences + 1 : 0
  }

  /** The clock of the database or of this node was set, or another server is used. */
  forgetClock(): void {
    this.#samples = []
    this.#differences = 0
  }

  decideClock(nowMs: number): ClockDecision {
    const [best] = this.#samples.toSorted((a, b) => a.uncertaintyMs - b.uncertaintyMs)
    return decideClock(
      {
        databaseMs: best?.offsetMs,
        uncertaintyMs: best?.uncertaintyMs ?? 0,
        nodesMs: this.reach.listOffsetsMs(nowMs),
      },
      this.options.maxClockSkewMs,
    )
  }

  recordHomes(rows: MembershipRows, nowMs: number): void {
    for (const row of rows.shards) {
      this.epochs.set(row.shard, Math.max(this.epochs.get(row.shard) ?? 0, row.epoch))
      if (!isHomeless(rows, row)) this.homelessMs.delete(row.shard)
      else if (!this.homelessMs.has(row.shard)) this.homelessMs.set(row.shard, nowMs)
    }
  }
}
