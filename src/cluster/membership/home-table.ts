// The stored shards that run in this node, and what still has to be written about them.
//
//   starting ─► running ─► stopping ─► stopped ─► (row written) removed
//       └──────────┴─► failed ─► (row written) removed, or started with the next epoch

import type { Life } from '../peer-name.ts'
import type { MembershipAction, ShardVersion } from './membership-actions.ts'
import type { MembershipRows, ShardRow } from './membership-rows.ts'

/** Why a home stops a shard: `released` commits first; `lost` sends nothing more. */
export type StopReason = 'released' | 'lost'

export interface Home extends ShardVersion {
  readonly state: 'starting' | 'running' | 'stopping' | 'stopped' | 'failed'
  /** Monotonic time of the change to this state. */
  readonly sinceMs: number
  readonly reason?: StopReason
}

export type HomeOutput =
  | ({ readonly kind: 'start-home' } & ShardVersion)
  | ({ readonly kind: 'stop-home'; readonly reason: StopReason } & ShardVersion)

/** A shard that ran without failure for this long starts with no failures counted. */
const stableMs = 60_000

export class HomeTable {
  readonly #homes = new Map<number, Home>()
  readonly #output: (output: HomeOutput) => void

  constructor(output: (output: HomeOutput) => void) {
    this.#output = output
  }

  get size(): number {
    return this.#homes.size
  }

  list(): readonly Home[] {
    return [...this.#homes.values()]
  }

  get(shard: number): Home | undefined {
    return this.#homes.get(shard)
  }

  /** Starts and stops a shard as its confirmed row requires. `mayStart`: the node starts shards, and this one is not held. */
  follow(row: ShardRow, life: Life, { mayStart, nowMs }: { readonly mayStart: boolean; readonly nowMs: number }): void {
    const home = this.#homes.get(row.shard)
    const isOwn = row.life === life
    if (home !== undefined) {
      if (isOwn && home.epoch === row.epoch) return
      if (home.state !== 'stopped' && home.state !== 'failed') return this.stop(row.shard, 'lost', nowMs)
      this.#homes.delete(row.shard)
    }
    if (isOwn && mayStart) this.#start(row, nowMs)
  }

  #start({ shard, epoch }: ShardVersion, nowMs: number): void {
    this.#homes.set(shard, { shard, epoch, state: 'starting', sinceMs: nowMs })
    this.#output({ kind: 'start-home', shard, epoch })
  }

  /** A loss is more urgent than a release that is in progress. */
  stop(shard: number, reason: StopReason, nowMs: number): void {
    const home = this.#homes.get(shard)
    if (home === undefined || home.state === 'stopped' || home.state === 'failed') return
    if (home.state === 'stopping' && (home.reason === 'lost' || reason === 'released')) return
    this.#homes.set(shard, { shard, epoch: home.epoch, state: 'stopping', sinceMs: nowMs, reason })
    this.#output({ kind: 'stop-home', shard, epoch: home.epoch, reason })
  }

  stopAll(reason: StopReason, nowMs: number): void {
    for (const shard of this.#homes.keys()) this.stop(shard, reason, nowMs)
  }

  /** Records a report of a shard; one of an earlier epoch is ignored. */
  report({ shard, epoch }: ShardVersion, event: 'restored' | 'failed' | 'stopped', nowMs: number): void {
    const home = this.#homes.get(shard)
    if (home === undefined || home.epoch !== epoch) return
    if (event === 'restored') {
      if (home.state === 'starting') this.#homes.set(shard, { ...home, state: 'running', sinceMs: nowMs })
      return
    }
    // A shard that fails while it stops has stopped.
    const state = event === 'failed' && home.state !== 'stopping' ? 'failed' : 'stopped'
    this.#homes.set(shard, { ...home, state, sinceMs: nowMs })
  }

  /** Returns what the rows do not have yet. `releases`: rows of shards that do not run are released. */
  planActions(rows: MembershipRows, life: Life, options: { readonly releases: boolean; readonly nowMs: number }) {
    return rows.shards.flatMap((row): MembershipAction[] => {
      if (row.life !== life) return []
      const { shard, epoch } = row
      const home = this.#homes.get(shard)
      if (home === undefined) return options.releases ? [{ kind: 'release', shard, epoch }] : []
      if (home.epoch !== epoch) return []
      if (home.state === 'failed') return [{ kind: 'restart', shard, epoch }]
      if (home.state === 'stopped') return [{ kind: 'release', shard, epoch }]
      if (home.state !== 'running') return []
      if (!row.isRestored) return [{ kind: 'restored', shard, epoch }]
      const isStable = row.failures > 0 && options.nowMs - home.sinceMs >= stableMs
      return isStable ? [{ kind: 'stable', shard, epoch }] : []
    })
  }
}
