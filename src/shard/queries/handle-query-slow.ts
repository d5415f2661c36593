// Finds the clients that are behind, in slices between turns, so that no client waits.

import { isOfNamespace, type SlowSession } from '../../core/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

/** Sessions between two reads of the clock. */
const sessionsBetweenLooks = 64
const sliceMs = 4
/** The list is sorted and truncated when it has this multiple of the requested length. */
const slack = 4

/** Returns the slowest, those with the oldest messages first. */
export async function slowFor(
  shard: QueriedShard,
  asked: QueryOf<'slow'>,
  nowMs: number,
): Promise<readonly SlowSession[]> {
  let found: SlowSession[] = []
  let looked = 0
  let sliceEndsAtMs = performance.now() + sliceMs
  for (const slow of shard.core.view.slowSessions(nowMs)) {
    if (slow !== undefined && slow.ageMs >= asked.atLeastMs && isAskedFor(slow, asked)) found.push(slow)
    if (found.length >= asked.maxRows * slack) found = slowest(found, asked.maxRows)
    if (++looked % sessionsBetweenLooks !== 0 || performance.now() < sliceEndsAtMs) continue
    await new Promise((resolve) => setImmediate(resolve))
    sliceEndsAtMs = performance.now() + sliceMs
  }
  return slowest(found, asked.maxRows)
}

function isAskedFor({ clientId }: SlowSession, { namespace }: QueryOf<'slow'>): boolean {
  return namespace === undefined || isOfNamespace(clientId, namespace)
}

function slowest(found: readonly SlowSession[], maxRows: number): SlowSession[] {
  return found.toSorted((a, b) => b.ageMs - a.ageMs).slice(0, maxRows)
}
