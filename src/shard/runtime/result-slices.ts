// How much of a list a shard gives at a time: messages come first, so it is little.

import type { SliceWanted } from '../../core/index.ts'
import type { SliceAsked } from '../messages/query-types.ts'

/** Looking is over after this. What was found has then to be copied to the other thread, which takes about as long. */
const mostLookingMs = 2
/** More rows than this are asked for again. */
export const mostRowsInSlice = 250

export function wantedOf({ from, skip, most }: SliceAsked): SliceWanted {
  const endsAtMs = performance.now() + mostLookingMs
  return { from, skip, most: Math.min(most, mostRowsInSlice), isOver: () => performance.now() >= endsAtMs }
}
