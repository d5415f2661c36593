// Lists retained messages for the API. There may be a million, of which few match, so the shard handles turns between
// two slices.

import { setImmediate } from 'node:timers/promises'
import type { RetainedView } from '../../core/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

const visitedBetweenLooks = 128
const sliceMs = 2

/** Returns at most `most` matching messages behind the first `skip`; one more says that there are more. */
export async function retainedFor(
  { core }: QueriedShard,
  { filter, most, skip = 0 }: QueryOf<'retained'>,
): Promise<readonly RetainedView[]> {
  const walk = core.view.retainedMatching(filter)
  const found: RetainedView[] = []
  let left = skip
  for (let sliceEndsMs = performance.now() + sliceMs; found.length <= most;) {
    const { rows, isEnd } = walk.next(visitedBetweenLooks)
    found.push(...rows.slice(left))
    left -= Math.min(left, rows.length)
    if (isEnd) break
    if (performance.now() < sliceEndsMs) continue
    await setImmediate()
    sliceEndsMs = performance.now() + sliceMs
  }
  return found.slice(0, most + 1)
}
