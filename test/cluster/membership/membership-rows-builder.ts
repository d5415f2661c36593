// Rows for tests of plans.

import type { MembershipRows, NodeRow, ShardRow } from '../../../src/cluster/index.ts'

const nowMs = 1_800_000_000_000

export function buildNode(name: string, changes: Partial<NodeRow> = {}): NodeRow {
  return {
    life: `life ${name}`,
    name,
    role: 'core',
    address: `${name}:1`,
    leaseMs: 5_000,
    joinOrder: 1,
    beats: 1,
    attempt: 1,
    seenMs: nowMs,
    canTake: true,
    isEvacuated: false,
    isRefused: false,
    isEnded: false,
    ...changes,
  }
}

export function buildShard(shard: number, life: string | undefined, changes: Partial<ShardRow> = {}): ShardRow {
  return { shard, epoch: 1, life, failures: 0, isRestored: true, target: undefined, isHeld: false, ...changes }
}

export function buildRows(rows: Partial<MembershipRows>): MembershipRows {
  return { nowMs, version: 1, nodes: [], shards: [], unlinked: [], ...rows }
}

/** Each has written that it does not reach the other. */
export function buildUnlinkedPair(a: string, b: string): MembershipRows['unlinked'] {
  return [
    { by: `life ${a}`, other: `life ${b}` },
    { by: `life ${b}`, other: `life ${a}` },
  ]
}
