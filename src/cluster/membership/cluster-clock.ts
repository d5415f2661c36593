// The time of the cluster: the clock of the database, as long as the nodes agree with it.

/** What this node knows of the clocks, in ms ahead of its own wall clock. */
export interface ClockOffsets {
  /** The clock of the database; undefined: not measured. */
  readonly databaseMs: number | undefined
  /** Half of the time that the measurement of the database took. */
  readonly uncertaintyMs: number
  /** The wall clocks of other nodes. */
  readonly nodesMs: readonly number[]
}

export interface ClockDecision {
  /** The time of the cluster minus the own wall clock. */
  readonly offsetMs: number
  /** The clock of the database differs from the median of the nodes: it is not followed. */
  readonly databaseDiffers: boolean
  /** The own clock differs: this node is no home. */
  readonly nodeDiffers: boolean
}

/** With an even number of nodes, the clock of the database is one more, so that a single wrong clock is not in the middle. */
export function decideClock(offsets: ClockOffsets, maxSkewMs: number): ClockDecision {
  const { databaseMs, uncertaintyMs, nodesMs } = offsets
  const nodes = [0, ...nodesMs]
  const clocks = nodes.length % 2 === 0 && databaseMs !== undefined ? [...nodes, databaseMs] : nodes
  const medianMs = findMedian(clocks)
  const databaseDiffers = databaseMs !== undefined && Math.abs(databaseMs - medianMs) - uncertaintyMs > maxSkewMs
  const offsetMs = databaseMs === undefined || databaseDiffers ? medianMs : databaseMs
  return { offsetMs, databaseDiffers, nodeDiffers: Math.abs(offsetMs) - uncertaintyMs > maxSkewMs }
}

/** While a clock is ahead of the time of the cluster, it runs at this rate. */
const aheadRate = 0.5

/**
 * Returns the next time of a shard. It never decreases. A time that is ahead of the cluster, such as the one in the records of a home
 * whose clock was wrong, is reached by the cluster slowly.
 * `previousMs`: the last time of the shard; `passedMs`: since then, by the monotonic clock; `clusterMs`: the time of the cluster now.
 */
export function advanceTime(previousMs: number, passedMs: number, clusterMs: number): number {
  if (clusterMs >= previousMs + passedMs) return clusterMs
  return Math.max(clusterMs, previousMs + Math.max(0, passedMs) * aheadRate)
}

/** The lower one of two in the middle. */
function findMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
}
