// How much of a list a shard gives at a time: messages come first, so it is little.

import type { SliceWanted } from '../../core/index.ts'
import type { SliceRequest } from '../messages/query-types.ts'

/** Looking is over after this. What was found has then to be copied to the other thread, which takes about as long. */
const mostLookingMs = 2
/** More rows than this are asked for again. */
export const maxRowsInSlice = 250

export function sliceWantedOf({ from, skip, most }: SliceRequest): SliceWanted {
  const endsAtMs = performance.now() + mostLookingMs
  return { from, skip, most: Math.min(most, maxRowsInSlice), isOver: () => performance.now() >= endsAtMs }
}
