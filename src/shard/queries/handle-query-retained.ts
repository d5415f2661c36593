// Lists retained messages for the API. Of a million messages few may match, so they are visited in slices, and the shard serves
// clients between two slices.

import { setImmediate } from 'node:timers/promises'
import type { RetainedView } from '../../core/index.ts'
import type { QueryOf } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'

const rowsPerTimeCheck = 128
const sliceMs = 2

/** Skips `skip` matching messages and returns the next ones: at most `most`, and one more if there are more. */
export async function handleQueryRetained(
  { core }: QueriedShard,
  { filter, maxRows, skip = 0 }: QueryOf<'retained'>,
): Promise<readonly RetainedView[]> {
  const walk = core.view.walkRetained(filter)
  const found: RetainedView[] = []
  let toSkip = skip
  for (let sliceEndsMs = performance.now() + sliceMs; found.length <= maxRows;) {
    const { rows, isEnd } = walk.next(rowsPerTimeCheck)
    found.push(...rows.slice(toSkip))
    toSkip -= Math.min(toSkip, rows.length)
    if (isEnd) break
    if (performance.now() < sliceEndsMs) continue
    await setImmediate()
    sliceEndsMs = performance.now() + sliceMs
  }
  return found.slice(0, maxRows + 1)
}
