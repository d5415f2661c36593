// Counters that every thread can read without a request: one row of cells for each shard in shared memory. A cell has one
// writer, so no atomics are needed; a reader adds up the column.
//
//             connectionsOpen | connectionsAccepted | ... | (padding to a cache line)
//   shard 0        17         |        1204         |
//   shard 1        15         |        1190         |

/** The columns. Gauges (`...Open`, `...Stored`, `unsentBytes`) increase and decrease, the others only increase. */
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
  /** Lines of this shard that the main thread has received; the main thread writes this cell. See `ForwardingLog`. */
  logLinesTaken: 15,
  /** Subscriptions that begin with `$share/`. */
  sharedSubscriptionsStored: 16,
  /** Sessions with at least one subscription. */
  subscribersStored: 17,
  /** Distinct filters. A filter of sessions on several shards is counted by the first of these shards. */
  topicsStored: 18,
  // Parts of `messagesDropped`, by reason.
  droppedQueueFull: 19,
  droppedExpired: 20,
  droppedTooLarge: 21,
  droppedNotReading: 22,
  droppedStorageFull: 23,
  droppedNoRetainedRoom: 24,
  droppedSessionEnded: 25,
  droppedPeerBehind: 26,
  droppedNotAllowed: 27,
  /** Accepted CONNECTs. */
  clientsConnected: 28,
  // Refused CONNECTs, by reason.
  refusedBadCredentials: 29,
  refusedNotAuthorized: 30,
  refusedBanned: 31,
  refusedOther: 32,
  /** The part of `retainedStored` that the broker did not publish itself. */
  retainedOfClientsStored: 33,
  /** The part of `refusedOther` whose client ID belongs to another identity. */
  refusedClientIdConflict: 34,
  // Further parts of `messagesDropped`.
  droppedMemoryFull: 35,
  droppedRateLimited: 36,
  /** Number of times that deliveries to a client were delayed by `deliveries_rate`. */
  deliveriesDelayed: 37,
  /** Filters that were refused by `subscriptions_rate`. */
  subscriptionsRefusedByRate: 38,
  // Refused packets of accepted clients, by cause.
  packetsRefusedNotAuthorized: 39,
  packetsRefusedInvalidTopic: 40,
  packetsRefusedLimitReached: 41,
  packetsRefusedReceiverFull: 42,
  packetsRefusedStorageFailing: 43,
  packetsRefusedRateLimited: 44,
  packetsRefusedNotSupported: 45,
  packetsRefusedInvalidPayload: 46,
  packetsRefusedUnknownPacketId: 47,
  /** Exceptions of client libraries of actions and sources, outside of calls. */
  libraryFailures: 48,
} as const

export type CounterName = keyof typeof counterCells
export type CounterCell = (typeof counterCells)[CounterName]

const cacheLineBytes = 64
const cellBytes = Float64Array.BYTES_PER_ELEMENT
const counterNames = Object.keys(counterCells) as CounterName[]
const rowBytes = Math.ceil((counterNames.length * cellBytes) / cacheLineBytes) * cacheLineBytes

/** Creates shared memory for the counters of `shards` shards, all zero. */
export function createCounterTable(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(shards * rowBytes)
}

/** The row of one shard. */
export class Counters {
  /** The cells, in the order of `counterCells`. The message path writes `cells[counterCells.bytesSent] += n`. */
  readonly cells: Float64Array

  /** `table` comes from `createCounterTable`, and `shardNumber` is one of its rows. */
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

  /** A restarted shard continues its counters, but has no open connection and no stored session yet. */
  clearGauges(): void {
    for (const name of counterNames) {
      if (name.endsWith('Open') || name.endsWith('Stored')) this.cells[counterCells[name]] = 0
    }
    this.cells[counterCells.unsentBytes] = 0
  }
}

/** Returns the sums over all shards, by name. */
export function readCounters(table: SharedArrayBuffer): Record<CounterName, number> {
  const shards = table.byteLength / rowBytes
  const sums = Object.fromEntries(counterNames.map((name) => [name, 0])) as Record<CounterName, number>
  for (let shard = 0; shard < shards; shard += 1) {
    const row = new Counters(table, shard)
    for (const name of counterNames) sums[name] += row.get(counterCells[name])
  }
  return sums
}
