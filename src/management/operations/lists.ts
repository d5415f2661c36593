import type { Slice, WalkPosition } from '../../core/index.ts'

/** Where in a list something stands: on which shard, and where there. */
export interface ListPosition extends WalkPosition {
  readonly shard: number
}

export interface RowsWanted {
  readonly from: ListPosition
  /** Rows that are passed before the first one is given. */
  readonly skip: number
  /** Rows at most; 0: they are only counted. There may be fewer, though more follow. */
  readonly most: number
}

/** As much of a list as one shard says at a time. */
export interface ListSlice<Row> extends Omit<Slice<Row>, 'next'> {
  /** Undefined: there are no more, on any shard. */
  readonly next: ListPosition | undefined
}

/** What was asked for lies with a shard that does not answer. */
export interface ShardUnavailable {
  readonly silentShard: number
}
