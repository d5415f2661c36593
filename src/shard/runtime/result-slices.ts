// Limits the size of a list slice, because messages have priority.

import type { SliceWanted } from '../../core/index.ts'
import type { SliceRequest } from '../messages/query-types.ts'

/** Maximum search time. Copying the results to the other thread takes about as long. */
const maxLookingMs = 2
/** Maximum number of rows; further ones need another query. */
export const maxRowsInSlice = 250

export function createSliceWanted({ from, skip, maxRows }: SliceRequest): SliceWanted {
  const endsAtMs = performance.now() + maxLookingMs
  return { from, skip, maxRows: Math.min(maxRows, maxRowsInSlice), isOver: () => performance.now() >= endsAtMs }
}
