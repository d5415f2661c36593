// The rows of the database that decide which nodes belong to the cluster and which node is the home of each stored shard.

import type { Life } from '../peer-name.ts'

/** `core` may be a home and may end lives; `replica` only accepts clients. */
export type NodeRole = 'core' | 'replica'

/** One life of a node. */
export interface NodeRow {
  readonly life: Life
  readonly name: string
  readonly role: NodeRole
  /** Host and port for connections of other nodes. */
  readonly address: string
  /** Duration of its lease: how long its writes are valid after they were sent. */
  readonly leaseMs: number
  /** Lives have joined in this order, from 1. */
  readonly joinOrder: number
  /** Grows with each write of the row by its node. */
  readonly beats: number
  /** Connection of the node that may write the row; statements of earlier ones have no effect. */
  readonly attempt: number
  /** Time of the last beat, by the clock of the database, in ms since 1970. */
  readonly seenMs: number
  /** The node takes shards that have no home. */
  readonly canTake: boolean
  /** The node shall give its shards to other nodes (`evacuate`). */
  readonly isEvacuated: boolean
  /** The node cannot be reached by other nodes. It gets no lease any more. */
  readonly isRefused: boolean
  readonly isEnded: boolean
}

/** One stored shard. */
export interface ShardRow {
  readonly shard: number
  /** Grows with each start of the shard; 0: never started. */
  readonly epoch: number
  /** The home, or the ended life that was the home; undefined: released. */
  readonly life: Life | undefined
  /** Starts that ended before the shard was stable. */
  readonly failures: number
  /** The start of this epoch is complete: all records are restored. */
  readonly isRestored: boolean
  /** The life that takes the shard next; undefined: the one with the fewest shards. */
  readonly target: Life | undefined
  /** The database went back: the shard stays down until `accept-loss`. */
  readonly isHeld: boolean
}

/** `by` has not reached `other` for the time limit. */
export interface UnlinkedRow {
  readonly by: Life
  readonly other: Life
}

/** All rows, as one transaction has read them at its end. */
export interface MembershipRows {
  /** Clock of the database in ms since 1970. */
  readonly nowMs: number
  /** Grows with each transaction that changes more than beats. */
  readonly version: number
  readonly nodes: readonly NodeRow[]
  readonly shards: readonly ShardRow[]
  readonly unlinked: readonly UnlinkedRow[]
}

/** A shard whose records ended its start this often stays down. */
export const maxFailures = 2

export function findNode(rows: MembershipRows, life: Life | undefined): NodeRow | undefined {
  return rows.nodes.find((node) => node.life === life)
}

/** Returns whether `node` waits for the end of an older life with the same name. */
export function isWaiting(rows: MembershipRows, node: NodeRow): boolean {
  return findOlderLife(rows, node) !== undefined
}

/** Returns the life whose end `node` waits for. */
export function findOlderLife(rows: MembershipRows, node: NodeRow): NodeRow | undefined {
  return rows.nodes.find(
    (other) => other.name === node.name && !other.isEnded && other.joinOrder < node.joinOrder && other !== node,
  )
}

/** Returns the lives that belong to the cluster: neither ended nor waiting. */
export function listMembers(rows: MembershipRows): NodeRow[] {
  return rows.nodes.filter((node) => !node.isEnded && !isWaiting(rows, node))
}

/** Returns whether no live node is the home. */
export function isHomeless(rows: MembershipRows, shard: ShardRow): boolean {
  return shard.life === undefined || findNode(rows, shard.life)?.isEnded === true
}

/** Starts that failed, with the one that the end of its life interrupted. */
export function countFailures(shard: ShardRow): number {
  return shard.failures + (shard.isRestored ? 0 : 1)
}

/** Returns whether the shard has no home because its records ended it too often. */
export function isQuarantined(rows: MembershipRows, shard: ShardRow): boolean {
  return isHomeless(rows, shard) && countFailures(shard) >= maxFailures
}
