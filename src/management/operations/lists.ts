import type { Slice, WalkPosition } from '../../core/index.ts'

/** Position in a list: the shard, and the position there. */
export interface ListPosition extends WalkPosition {
  readonly shard: number
}

export interface RowsWanted {
  readonly from: ListPosition
  /** Number of rows to skip. */
  readonly skip: number
  /** Maximum rows; 0: they are only counted. There may be fewer although more follow. */
  readonly most: number
}

/** A slice of a list from one shard. */
export interface ListSlice<Row> extends Omit<Slice<Row>, 'next'> {
  /** Undefined: there are no more, on any shard. */
  readonly next: ListPosition | undefined
}

/** The shard of the request does not respond. */
export interface ShardUnavailable {
  readonly silentShard: number
}
