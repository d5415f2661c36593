// Counters that every thread can read without a request: one row of cells for each shard in shared memory. A cell has one
// writer, so no atomics are needed; a reader adds up the column.
//
//             connectionsOpen | connectionsAccepted | ... | (padding to a cache line)
//   shard 0        17         |        1204         |
//   shard 1        15         |        1190         |

interface CounterDefinition {
  /** The metric that has the sum over all shards; undefined: none, or one together with other cells. */
  readonly metric?: string
  readonly type?: 'gauge' | 'counter'
  readonly help?: string
}

/** The columns. Gauges (`...Open`, `...Stored`, `unsentBytes`) increase and decrease, the others only increase. */
const counterDefinitions = {
  connectionsOpen: {},
  connectionsAccepted: { metric: 'svc_connections_accepted_total', type: 'counter', help: 'Accepted connections.' },
  connectionsRefused: {
    metric: 'svc_connections_refused_total',
    type: 'counter',
    help: 'Connections refused before CONNECT.',
  },
  sessionsStored: {},
  subscriptionsStored: { metric: 'svc_subscriptions', type: 'gauge', help: 'Subscriptions of all sessions.' },
  retainedStored: { metric: 'svc_retained_messages', type: 'gauge', help: 'Retained messages.' },
  messagesReceived: {},
  messagesSent: {},
  messagesDropped: {},
  packetsReceived: { metric: 'svc_packets_received_total', type: 'counter', help: 'MQTT packets from clients.' },
  packetsSent: { metric: 'svc_packets_sent_total', type: 'counter', help: 'MQTT packets to clients.' },
  bytesReceived: { metric: 'svc_bytes_received_total', type: 'counter', help: 'Bytes from clients.' },
  bytesSent: { metric: 'svc_bytes_sent_total', type: 'counter', help: 'Bytes to clients.' },
  unsentBytes: {
    metric: 'svc_unsent_bytes',
    type: 'gauge',
    help: 'Bytes that wait to be sent because clients do not read.',
  },
  logLinesDropped: {
    metric: 'svc_log_lines_dropped_total',
    type: 'counter',
    help: 'Log lines dropped by the rate limit.',
  },
  /** Lines of this shard that the main thread has received; the main thread writes this cell. See `ForwardingLog`. */
  logLinesTaken: {},
  /** Subscriptions that begin with `$share/`. */
  sharedSubscriptionsStored: {
    metric: 'svc_subscriptions_shared',
    type: 'gauge',
    help: 'Shared subscriptions of all sessions.',
  },
  /** Sessions with at least one subscription. */
  subscribersStored: {},
  /** Distinct filters. A filter of sessions on several shards is counted by the first of these shards. */
  topicsStored: {},
  // Parts of `messagesDropped`, by reason.
  droppedQueueFull: {},
  droppedExpired: {},
  droppedTooLarge: {},
  droppedNotReading: {},
  droppedStorageFull: {},
  droppedNoRetainedRoom: {},
  droppedSessionEnded: {},
  droppedPeerBehind: {},
  droppedNotAllowed: {},
  /** Accepted CONNECTs. */
  clientsConnected: { metric: 'svc_clients_connected_total', type: 'counter', help: 'Accepted CONNECT packets.' },
  // Refused CONNECTs, by reason.
  refusedBadCredentials: {},
  refusedNotAuthorized: {},
  refusedBanned: {},
  refusedOther: {},
  /** The part of `retainedStored` that the broker did not publish itself. */
  retainedOfClientsStored: {},
  /** The part of `refusedOther` whose client ID belongs to another identity. */
  refusedClientIdConflict: {},
  // Further parts of `messagesDropped`.
  droppedMemoryFull: {},
  droppedRateLimited: {},
  /** Number of times that deliveries to a client were delayed by `deliveries_rate`. */
  deliveriesDelayed: {
    metric: 'svc_deliveries_put_off_total',
    type: 'counter',
    help: 'Times that messages to a client waited because of the limit deliveries_rate.',
  },
  /** Filters that were refused by `subscriptions_rate`. */
  subscriptionsRefusedByRate: {
    metric: 'svc_subscriptions_rate_refused_total',
    type: 'counter',
    help: 'Topic filters refused by the limit subscriptions_rate.',
  },
  // Refused packets of accepted clients, by cause.
  packetsRefusedNotAuthorized: {},
  packetsRefusedInvalidTopic: {},
  packetsRefusedLimitReached: {},
  packetsRefusedReceiverFull: {},
  packetsRefusedStorageFailing: {},
  packetsRefusedRateLimited: {},
  packetsRefusedNotSupported: {},
  packetsRefusedInvalidPayload: {},
  packetsRefusedUnknownPacketId: {},
  packetsRefusedPlugin: {},
  droppedPlugin: {},
  /** Exceptions of client libraries of actions and sources, outside of calls. */
  libraryFailures: {
    metric: 'godwit_library_failures_total',
    type: 'counter',
    help: 'Exceptions of client libraries of actions and sources outside of calls.',
  },
  /** Messages of clients to topics without a subscriber. Not part of `messagesDropped`: no subscriber missed them. */
  droppedNoSubscribers: {},
} as const satisfies Record<string, CounterDefinition>

export type CounterName = keyof typeof counterDefinitions

/** Number of a column. */
export type CounterCell = number

type Definitions = typeof counterDefinitions
type MetricOf<Name extends CounterName> = Definitions[Name] extends { readonly metric: infer Metric } ? Metric : never
/** Names of metrics that are the sum of one column. */
export type CounterMetricName = Extract<{ [Name in CounterName]: MetricOf<Name> }[CounterName], string>

const cacheLineBytes = 64
const cellBytes = Float64Array.BYTES_PER_ELEMENT
const counterNames = Object.keys(counterDefinitions) as CounterName[]

export const counterCells = Object.fromEntries(counterNames.map((name, cell) => [name, cell])) as Readonly<
  Record<CounterName, CounterCell>
>

/** The metrics that are the sum of one column, by name. */
export const counterMetrics = Object.fromEntries(
  Object.entries<CounterDefinition>(counterDefinitions).flatMap(([counter, { metric, type, help }]) =>
    metric === undefined ? [] : [[metric, { type, help, counter }]],
  ),
) as Readonly<
  Record<
    CounterMetricName,
    { readonly type: 'gauge' | 'counter'; readonly help: string; readonly counter: CounterName }
  >
>
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
