// Finds the clients that use most of the memory, in slices between turns, so that no client waits.

import { type MemoryUser, memoryUses } from '../../core/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

/** Sessions between two reads of the clock. */
const sessionsBetweenClockReads = 256
const sliceMs = 4
/** The list is sorted and truncated when it has this multiple of the requested length. */
const slack = 64

/** Returns `most` for each use, the largest first. */
export async function handleQueryMemory(
  shard: QueriedShard,
  { maxRows }: QueryOf<'memory-users'>,
): Promise<MemoryUser[]> {
  let found: MemoryUser[] = []
  let looked = 0
  let sliceEndsAtMs = performance.now() + sliceMs
  for (const users of shard.core.view.walkMemoryUsers()) {
    found.push(...users)
    if (found.length >= maxRows * slack) found = selectLargestUsers(found, maxRows)
    if (++looked % sessionsBetweenClockReads !== 0 || performance.now() < sliceEndsAtMs) continue
    await new Promise((resolve) => setImmediate(resolve))
    sliceEndsAtMs = performance.now() + sliceMs
  }
  return selectLargestUsers(found, maxRows)
}

export function selectLargestUsers(users: readonly MemoryUser[], maxRows: number): MemoryUser[] {
  return memoryUses.flatMap((wanted) =>
    users
      .filter(({ use }) => use === wanted)
      .toSorted((a, b) => b.bytes - a.bytes)
      .slice(0, maxRows),
  )
}
