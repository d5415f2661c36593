import type { Slice, WalkPosition } from '../../core/index.ts'

/** Position in a list: the shard, and the position there. */
export interface ListPosition extends WalkPosition {
  readonly shard: number
}

export interface RowsWanted {
  readonly from: ListPosition
  /** Number of rows to skip. */
  readonly skip: number
  /** Maximum number of rows; 0: rows are only counted. A slice may have fewer rows although more follow. */
  readonly maxRows: number
}

/** A slice of a list from one shard. */
export interface ListSlice<Row> extends Omit<Slice<Row>, 'next'> {
  /** Undefined: there are no more, on any shard. */
  readonly next: ListPosition | undefined
}

/** The shard of the request does not respond. */
export interface ShardUnavailable {
  readonly unavailableShard: number
}
