// Counters of one listener in shared memory, which every thread can read: a row of cells for each shard. Each cell has one writer,
// as in counters.ts. The number of open connections is in the connection slots.

const cells = { accepted: 0, refused: 1 } as const
const rowCells = 8
const rowBytes = rowCells * Float64Array.BYTES_PER_ELEMENT

/** Connections since the listener was opened. */
export interface ListenerCounts {
  /** Accepted by the connection acceptor. */
  readonly accepted: number
  /** Refused: limit, rate, address rule, or an invalid beginning. */
  readonly refused: number
}

/** Shared memory for one listener on `shards` shards, all zero. */
export function createListenerTable(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(shards * rowBytes)
}

/** One shard's row. */
export class ListenerCounters {
  readonly #cells: Float64Array

  constructor(table: SharedArrayBuffer, shardNumber: number) {
    this.#cells = new Float64Array(table, shardNumber * rowBytes, rowCells)
  }

  recordAccepted(): void {
    this.#cells[cells.accepted] += 1
  }

  recordRefused(): void {
    this.#cells[cells.refused] += 1
  }
}

/** The sums over all shards. */
export function readListenerTable(table: SharedArrayBuffer): ListenerCounts {
  const all = new Float64Array(table)
  let [accepted, refused] = [0, 0]
  for (let row = 0; row < all.length; row += rowCells) {
    accepted += all[row + cells.accepted]
    refused += all[row + cells.refused]
  }
  return { accepted, refused }
}
