// Finds clients that receive too slowly. It visits sessions in slices between turns, so that no client waits.

import { isOfNamespace, type SlowSession } from '../../core/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

/** Number of sessions that are visited between two reads of the clock. */
const sessionsBetweenClockReads = 64
const sliceMs = 4
/** The list is sorted and truncated when it has this multiple of the requested length. */
const slack = 4

/** Returns the slowest clients, those with the oldest messages first. */
export async function handleQuerySlow(
  shard: QueriedShard,
  query: QueryOf<'slow'>,
  nowMs: number,
): Promise<readonly SlowSession[]> {
  let found: SlowSession[] = []
  let visited = 0
  let sliceEndsAtMs = performance.now() + sliceMs
  for (const slow of shard.core.view.walkSlowSessions(nowMs)) {
    if (slow !== undefined && slow.ageMs >= query.atLeastMs && matchesNamespace(slow, query)) found.push(slow)
    if (found.length >= query.maxRows * slack) found = selectSlowest(found, query.maxRows)
    if (++visited % sessionsBetweenClockReads !== 0 || performance.now() < sliceEndsAtMs) continue
    await new Promise((resolve) => setImmediate(resolve))
    sliceEndsAtMs = performance.now() + sliceMs
  }
  return selectSlowest(found, query.maxRows)
}

function matchesNamespace({ clientId }: SlowSession, { namespace }: QueryOf<'slow'>): boolean {
  return namespace === undefined || isOfNamespace(clientId, namespace)
}

function selectSlowest(found: readonly SlowSession[], maxRows: number): SlowSession[] {
  return found.toSorted((a, b) => b.ageMs - a.ageMs).slice(0, maxRows)
}
