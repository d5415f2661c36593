// Which clients hold most of the memory, found in slices between the turns: however many sessions there are, nobody waits for
// this.

import { type MemoryUser, memoryUses } from '../../core/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

/** After so many sessions the clock is looked at. */
const sessionsBetweenLooks = 256
const sliceMs = 4
/** The list is cut when it has grown to so many times what was asked for. */
const slack = 64

/** `most` for each use, the largest first. */
export async function memoryUsersFor(shard: QueriedShard, { most }: QueryOf<'memory-users'>): Promise<MemoryUser[]> {
  let found: MemoryUser[] = []
  let looked = 0
  let sliceEndsAtMs = performance.now() + sliceMs
  for (const users of shard.core.view.memoryUsers()) {
    found.push(...users)
    if (found.length >= most * slack) found = largestUsers(found, most)
    if (++looked % sessionsBetweenLooks !== 0 || performance.now() < sliceEndsAtMs) continue
    await new Promise((resolve) => setImmediate(resolve))
    sliceEndsAtMs = performance.now() + sliceMs
  }
  return largestUsers(found, most)
}

export function largestUsers(users: readonly MemoryUser[], most: number): MemoryUser[] {
  return memoryUses.flatMap((wanted) =>
    users
      .filter(({ use }) => use === wanted)
      .toSorted((a, b) => b.bytes - a.bytes)
      .slice(0, most),
  )
}
