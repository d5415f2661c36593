// Numbers that every thread can read without asking: one row of cells for each shard in shared memory. A cell has one
// writer, so no atomics are needed; a reader adds up the column.
//
//             connectionsOpen | connectionsAccepted | ... | (padding to a cache line)
//   shard 0        17         |        1204         |
//   shard 1        15         |        1190         |

/** The columns. A gauge (`...Open`, `...Stored`) goes up and down, everything else only up. */
export const counterCells = {
  connectionsOpen: 0,
  connectionsAccepted: 1,
  connectionsRefused: 2,
  sessionsStored: 3,
  subscriptionsStored: 4,
  retainedStored: 5,
  messagesReceived: 6,
  messagesSent: 7,
  messagesDropped: 8,
  packetsReceived: 9,
  packetsSent: 10,
  bytesReceived: 11,
  bytesSent: 12,
  unsentBytes: 13,
  logLinesDropped: 14,
  /** Written by the main thread: lines of this shard that it has taken. See `ForwardingLog`. */
  logLinesTaken: 15,
  /** Those that begin with `$share/`. */
  sharedSubscriptionsStored: 16,
  /** Sessions with one subscription or more. */
  subscribersStored: 17,
  /** Different filters; one that sessions of several shards hold counts for the first of them. */
  topicsStored: 18,
  // Those of `messagesDropped`, by reason.
  droppedQueueFull: 19,
  droppedExpired: 20,
  droppedTooLarge: 21,
  droppedNotReading: 22,
  droppedStorageFull: 23,
  droppedNoRetainedRoom: 24,
  droppedSessionEnded: 25,
  droppedPeerBehind: 26,
  droppedNotAllowed: 27,
  /** CONNECTs that were answered with yes. */
  clientsConnected: 28,
  // CONNECTs that were answered with no, by reason.
  refusedBadCredentials: 29,
  refusedNotAuthorized: 30,
  refusedBanned: 31,
  refusedOther: 32,
  /** Those of `retainedStored` that are not the broker's own. */
  retainedOfClientsStored: 33,
  /** Those of `refusedOther` whose client ID belongs to another identity. */
  refusedClientIdConflict: 34,
  /** Of `messagesDropped`. */
  droppedMemoryFull: 35,
  droppedRateLimited: 36,
  /** Times that deliveries to a client were put off: `deliveries_rate`. */
  deliveriesPutOff: 37,
  /** Filters that were refused: `subscriptions_rate`. */
  subscriptionsRefusedByRate: 38,
} as const

export type CounterName = keyof typeof counterCells
export type CounterCell = (typeof counterCells)[CounterName]

const cacheLineBytes = 64
const cellBytes = Float64Array.BYTES_PER_ELEMENT
const counterNames = Object.keys(counterCells) as CounterName[]
const rowBytes = Math.ceil((counterNames.length * cellBytes) / cacheLineBytes) * cacheLineBytes

/** Shared memory for the counters of `shards` shards, all zero. */
export function createCounterTable(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(shards * rowBytes)
}

/** One shard's row. */
export class Counters {
  /** Index with `counterCells`; on the hot path `cells[counterCells.bytesSent] += n` is all there is to do. */
  readonly cells: Float64Array

  /** `table` as made by `createCounterTable` for more than `shardNumber` shards. */
  constructor(table: SharedArrayBuffer, shardNumber: number) {
    this.cells = new Float64Array(table, shardNumber * rowBytes, counterNames.length)
  }

  add(cell: CounterCell, by: number): void {
    this.cells[cell] = this.get(cell) + by
  }

  get(cell: CounterCell): number {
    return this.cells[cell] ?? 0
  }

  set(cell: CounterCell, value: number): void {
    this.cells[cell] = value
  }

  /** A shard that starts again counts on, but nothing is open in it yet. */
  clearGauges(): void {
    for (const name of counterNames) {
      if (name.endsWith('Open') || name.endsWith('Stored')) this.cells[counterCells[name]] = 0
    }
    this.cells[counterCells.unsentBytes] = 0
  }
}

/** The sums over all shards, by name. */
export function readCounters(table: SharedArrayBuffer): Record<CounterName, number> {
  const shards = table.byteLength / rowBytes
  const sums = Object.fromEntries(counterNames.map((name) => [name, 0])) as Record<CounterName, number>
  for (let shard = 0; shard < shards; shard += 1) {
    const row = new Counters(table, shard)
    for (const name of counterNames) sums[name] += row.get(counterCells[name])
  }
  return sums
}
