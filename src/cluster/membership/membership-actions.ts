// The transactions of the membership. Each locks the row of the cluster first, writes the row of its node (a beat), applies actions, and reads
// all rows. Each action checks its conditions again under the lock: the rows that led to it may be older.

import type { Life } from '../peer-name.ts'
import type { NodeRole } from './membership-rows.ts'

/** A shard as it was read: the action has no effect if its epoch is another one. */
export interface ShardVersion {
  readonly shard: number
  readonly epoch: number
}

/** What a node writes about itself when it joins. */
export interface NodeDescription {
  readonly name: string
  readonly role: NodeRole
  readonly address: string
  readonly leaseMs: number
}

export type MembershipAction =
  /** Adds the row of the own life, or continues it on a new connection. Nothing else takes effect for a life that has ended. */
  | ({ readonly kind: 'join' } & NodeDescription)
  /** The own connection is a new one: statements of earlier connections have no effect from now on. */
  | { readonly kind: 'barrier' }
  /**
   * Ends a life that has not written its row since `beats`. `minAgeMs`: and whose `seen` is older by the clock of the database; undefined:
   * that clock was set back, so it is not compared.
   */
  | { readonly kind: 'end'; readonly life: Life; readonly beats: number; readonly minAgeMs: number | undefined }
  /** Ends a life whose process is known to be dead. */
  | { readonly kind: 'expire'; readonly life: Life }
  /** Ends the own life. */
  | { readonly kind: 'leave' }
  /** `life` gets no lease any more, because `other` and it do not reach each other. */
  | { readonly kind: 'refuse'; readonly life: Life; readonly other: Life }
  /** The lives that the own one does not reach. */
  | { readonly kind: 'unlink'; readonly lives: readonly Life[] }
  /** The own life becomes the home. */
  | { readonly kind: 'take'; readonly shards: readonly ShardVersion[] }
  /** The own life has stopped the shard and is not its home any more. */
  | ({ readonly kind: 'release' } & ShardVersion)
  /** The shard failed: it starts again with the next epoch, or stays down. */
  | ({ readonly kind: 'restart' } & ShardVersion)
  /** All records of the shard are restored. */
  | ({ readonly kind: 'restored' } & ShardVersion)
  /** The shard has run without failure for long enough. */
  | ({ readonly kind: 'stable' } & ShardVersion)
  /** The home gives the shard to `target`. */
  | ({ readonly kind: 'move'; readonly target: Life } & ShardVersion)
  /** The epoch is lower than one that was confirmed: the database went back. */
  | ({ readonly kind: 'hold' } & ShardVersion)
  /** A shard that is down starts again: after `hold` with an epoch above `raiseTo`, after failures with none counted. */
  | ({ readonly kind: 'accept-loss'; readonly raiseTo: number } & ShardVersion)
  | { readonly kind: 'evacuate'; readonly life: Life; readonly isEvacuated: boolean }
  /** Deletes rows of lives that ended long ago and that no shard names. */
  | { readonly kind: 'clean' }

export interface MembershipTransaction {
  readonly life: Life
  /** Number of the connection within this life, from 1. */
  readonly attempt: number
  /** Whether the node takes shards. */
  readonly canTake: boolean
  readonly actions: readonly MembershipAction[]
}
