// Histograms of durations that every thread can read without a query: one row for each shard in shared memory, and one writer for each
// row.
//
//             commit: 17 buckets | sum | count || turn: ... || held: ... || delay: mean | p99 | max || heap | buffers
//   shard 0     3 120 44 1 ...   | 0.4 | 168   ||
//   shard 1

/** Upper bounds of the buckets, in seconds. A further bucket has no upper bound. */
export const bucketEndsSeconds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const

/**
 * The measured durations, in the order of the cells. `commit`: from the start of a write to its sync. `turn`: one turn.
 * `held`: from the first change of a batch to its commit (metric `svc_acknowledgement_held_seconds`).
 */
export const histogramNames = ['commit', 'turn', 'held'] as const
export type HistogramName = (typeof histogramNames)[number]

const buckets = bucketEndsSeconds.length + 1
const cellsPerHistogram = buckets + 2
const delayAt = histogramNames.length * cellsPerHistogram
const delayCells = 3
const memoryAt = delayAt + delayCells
const memoryCells = 2
const rowCells = memoryAt + memoryCells
const cacheLineBytes = 64
const rowBytes = Math.ceil((rowCells * Float64Array.BYTES_PER_ELEMENT) / cacheLineBytes) * cacheLineBytes

/** Creates shared memory for the histograms of `shards` shards. All values are zero. */
export function createHistogramTable(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(shards * rowBytes)
}

/** The content of one histogram. */
export interface HistogramReading {
  /** Counts per bucket, not cumulative; the last bucket is above the last bound. */
  readonly counts: readonly number[]
  readonly sumSeconds: number
  readonly count: number
}

/** Delay of the event loop of a thread in the last second. */
export interface LoopDelay {
  readonly meanSeconds: number
  readonly p99Seconds: number
  readonly maxSeconds: number
}

/** Memory that a thread uses, measured at most a second ago. */
export interface ThreadMemory {
  /** Bytes of objects. */
  readonly heapBytes: number
  /** Bytes of buffers, which are not in the heap. */
  readonly buffersBytes: number
}

/** The histograms of one shard: its row of the table. */
export class Histograms {
  readonly #cells: Float64Array

  /** `table`: created by `createHistogramTable` for more than `shardNumber` shards. */
  constructor(table: SharedArrayBuffer, shardNumber: number) {
    this.#cells = new Float64Array(table, shardNumber * rowBytes, rowCells)
  }

  /** Adds a duration to a histogram. */
  observe(name: HistogramName, seconds: number): void {
    const at = histogramNames.indexOf(name) * cellsPerHistogram
    let bucket = 0
    while (bucket < bucketEndsSeconds.length && seconds > bucketEndsSeconds[bucket]) bucket += 1
    const cells = this.#cells
    cells[at + bucket] += 1
    cells[at + buckets] += seconds
    cells[at + buckets + 1] += 1
  }

  read(name: HistogramName): HistogramReading {
    const at = histogramNames.indexOf(name) * cellsPerHistogram
    const cells = this.#cells
    return {
      counts: [...cells.subarray(at, at + buckets)],
      sumSeconds: cells[at + buckets],
      count: cells[at + buckets + 1],
    }
  }

  setLoopDelay({ meanSeconds, p99Seconds, maxSeconds }: LoopDelay): void {
    this.#cells.set([meanSeconds, p99Seconds, maxSeconds], delayAt)
  }

  setMemory({ heapBytes, buffersBytes }: ThreadMemory): void {
    this.#cells.set([heapBytes, buffersBytes], memoryAt)
  }

  get memory(): ThreadMemory {
    const [heapBytes, buffersBytes] = this.#cells.subarray(memoryAt)
    return { heapBytes, buffersBytes }
  }

  get loopDelay(): LoopDelay {
    const [meanSeconds, p99Seconds, maxSeconds] = this.#cells.subarray(delayAt, memoryAt)
    return { meanSeconds, p99Seconds, maxSeconds }
  }
}

/** Returns the histograms of all shards, in order. */
export function listHistograms(table: SharedArrayBuffer): Histograms[] {
  return Array.from({ length: table.byteLength / rowBytes }, (_, shard) => new Histograms(table, shard))
}
