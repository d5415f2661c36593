// Which node takes which shard. All nodes compute the same plan from the same rows, and the database decides if they differ.

import type { Life } from '../peer-name.ts'
import { compareTexts } from './choose-refused-lives.ts'
import type { ShardVersion } from './membership-actions.ts'
import {
  isHomeless,
  isQuarantined,
  listMembers,
  type MembershipRows,
  type NodeRow,
  type ShardRow,
} from './membership-rows.ts'

export interface ShardMove extends ShardVersion {
  readonly target: Life
}

/** A node that has not written its row for this long is not expected to take a shard. */
const maxSeenAgeMs = 3_000
/** If the planned node does not take a shard within this time, the next one may. */
const turnMs = 1_500

/** Returns the nodes that can take shards. */
export function listCandidates(rows: MembershipRows): readonly NodeRow[] {
  return listMembers(rows).filter(
    ({ role, canTake, isRefused, isEvacuated, seenMs }) =>
      role === 'core' && canTake && !isRefused && !isEvacuated && rows.nowMs - seenMs <= maxSeenAgeMs,
  )
}

/** Returns the shards that have no home and may start. */
export function listStartable(rows: MembershipRows): readonly ShardRow[] {
  return rows.shards.filter((shard) => isHomeless(rows, shard) && !shard.isHeld && !isQuarantined(rows, shard))
}

/**
 * Returns the shards that `life` takes now, fewest shards first.
 * `measureHomelessMs`: how long this node has known that the shard has no home.
 */
export function planTakes(
  rows: MembershipRows,
  life: Life,
  measureHomelessMs: (shard: number) => number,
): readonly ShardRow[] {
  const candidates = listCandidates(rows)
  const counts = countShards(rows)
  return listStartable(rows).filter((shard) => {
    const turn = Math.floor(measureHomelessMs(shard.shard) / turnMs)
    const order = candidates.toSorted(
      (a, b) =>
        Number(b.life === shard.target) - Number(a.life === shard.target) ||
        (counts.get(a.life) ?? 0) - (counts.get(b.life) ?? 0) ||
        compareTexts(a.name, b.name),
    )
    const chosen = order[turn % Math.max(1, order.length)]
    if (chosen !== undefined) counts.set(chosen.life, (counts.get(chosen.life) ?? 0) + 1)
    return chosen?.life === life
  })
}

/** Returns the moves after which the numbers of shards of all candidates differ by one at most. */
export function planRebalance(rows: MembershipRows): readonly ShardMove[] {
  const candidates = listCandidates(rows)
  const counts = countShards(rows)
  const moves: ShardMove[] = []
  const moved = new Set<number>()
  for (;;) {
    const order = candidates.toSorted(
      (a, b) => (counts.get(a.life) ?? 0) - (counts.get(b.life) ?? 0) || compareTexts(a.name, b.name),
    )
    const fewest = order[0]
    const most = order.at(-1)
    if (fewest === undefined || most === undefined) return moves
    if ((counts.get(most.life) ?? 0) - (counts.get(fewest.life) ?? 0) <= 1) return moves
    const shard = rows.shards.find((row) => row.life === most.life && !moved.has(row.shard))
    if (shard === undefined) return moves
    moved.add(shard.shard)
    moves.push({ shard: shard.shard, epoch: shard.epoch, target: fewest.life })
    counts.set(most.life, (counts.get(most.life) ?? 0) - 1)
    counts.set(fewest.life, (counts.get(fewest.life) ?? 0) + 1)
  }
}

function countShards(rows: MembershipRows): Map<Life, number> {
  const counts = new Map<Life, number>()
  for (const { life } of rows.shards) if (life !== undefined) counts.set(life, (counts.get(life) ?? 0) + 1)
  return counts
}
