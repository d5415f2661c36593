// Lists retained messages for the API. There may be a million, of which few match, so they are visited in slices, and the shard
// serves clients in between.

import { setImmediate } from 'node:timers/promises'
import type { RetainedView } from '../../core/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

const rowsPerTimeCheck = 128
const sliceMs = 2

/** Returns at most `most` matching messages after the first `skip`, and one more if there are more. */
export async function retainedFor(
  { core }: QueriedShard,
  { filter, most, skip = 0 }: QueryOf<'retained'>,
): Promise<readonly RetainedView[]> {
  const walk = core.view.retainedMatching(filter)
  const found: RetainedView[] = []
  let toSkip = skip
  for (let sliceEndsMs = performance.now() + sliceMs; found.length <= most;) {
    const { rows, isEnd } = walk.next(rowsPerTimeCheck)
    found.push(...rows.slice(toSkip))
    toSkip -= Math.min(toSkip, rows.length)
    if (isEnd) break
    if (performance.now() < sliceEndsMs) continue
    await setImmediate()
    sliceEndsMs = performance.now() + sliceMs
  }
  return found.slice(0, most + 1)
}
