// Counters of this shard that other threads read.

import type { BrokerView, DropReason, RefusalCause } from '../../core/index.ts'
import { counterCells, type CounterName, Counters } from '../../telemetry/index.ts'
import type { ShardStart } from '../messages/messages.ts'

/** Counter of the drops for each reason. */
export const dropCounters = {
  'queue-full': 'droppedQueueFull',
  'memory-full': 'droppedMemoryFull',
  expired: 'droppedExpired',
  'too-large': 'droppedTooLarge',
  'not-reading': 'droppedNotReading',
  'rate-limited': 'droppedRateLimited',
  'storage-full': 'droppedStorageFull',
  'no-retained-room': 'droppedNoRetainedRoom',
  'session-ended': 'droppedSessionEnded',
  'peer-behind': 'droppedPeerBehind',
  'not-allowed': 'droppedNotAllowed',
  plugin: 'droppedPlugin',
} as const satisfies Record<DropReason, CounterName>

/** Counter of the refused packets for each cause. */
const refusalCounters = {
  'not-authorized': 'packetsRefusedNotAuthorized',
  'invalid-topic': 'packetsRefusedInvalidTopic',
  'limit-reached': 'packetsRefusedLimitReached',
  'receiver-full': 'packetsRefusedReceiverFull',
  'storage-failing': 'packetsRefusedStorageFailing',
  'rate-limited': 'packetsRefusedRateLimited',
  'not-supported': 'packetsRefusedNotSupported',
  'invalid-payload': 'packetsRefusedInvalidPayload',
  'unknown-packet-id': 'packetsRefusedUnknownPacketId',
  plugin: 'packetsRefusedPlugin',
} as const satisfies Record<RefusalCause, CounterName>

const refusalCauses = Object.keys(refusalCounters) as RefusalCause[]

export const dropReasons = Object.keys(dropCounters) as DropReason[]

export function publishCounters({ cells }: Counters, view: BrokerView, unsentBytes: number): void {
  cells[counterCells.unsentBytes] = unsentBytes
  cells[counterCells.connectionsOpen] = view.connections
  cells[counterCells.sessionsStored] = view.sessions
  const { subscriptions, shared, subscribers } = view.held
  cells[counterCells.subscriptionsStored] = subscriptions
  cells[counterCells.sharedSubscriptionsStored] = shared
  cells[counterCells.subscribersStored] = subscribers
  cells[counterCells.topicsStored] = view.filters
  cells[counterCells.retainedStored] = view.retainedMessages
  cells[counterCells.retainedOfClientsStored] = view.retainedOfClients
  cells[counterCells.messagesReceived] = view.counts.publishesReceived
  cells[counterCells.messagesSent] = view.counts.publishesSent
  cells[counterCells.droppedNoSubscribers] = view.counts.withoutSubscribers
  cells[counterCells.deliveriesDelayed] = view.counts.deferredDeliveries
  cells[counterCells.subscriptionsRefusedByRate] = view.counts.subscriptionsRefusedByRate
  publishDrops(cells, view)
  for (const cause of refusalCauses) cells[counterCells[refusalCounters[cause]]] = view.counts.refused[cause]
}

/** Returns the last reported number of retained messages of the other shards; undefined if there are none. */
export function createRetainedOnPeersCounter({
  counters,
  shardNumber,
  shards = 1,
}: ShardStart): (() => number) | undefined {
  if (shards === 1) return undefined
  const rows = Array.from({ length: shards }, (_, shard) => new Counters(counters, shard))
  const others = rows.filter((_, shard) => shard !== shardNumber)
  return () => others.reduce((sum, row) => sum + row.get(counterCells.retainedOfClientsStored), 0)
}

/** Usually nothing was dropped since the last call, so only the sum is compared. */
function publishDrops(cells: Float64Array, view: BrokerView): void {
  const dropped = countDroppedMessages(view)
  if (cells[counterCells.messagesDropped] === dropped) return
  cells[counterCells.messagesDropped] = dropped
  for (const reason of dropReasons) cells[counterCells[dropCounters[reason]]] = view.counts.dropped[reason]
}

/** Over all reasons. */
export function countDroppedMessages(view: BrokerView): number {
  const { dropped } = view.counts
  let sum = 0
  for (const reason of dropReasons) sum += dropped[reason]
  return sum
}

/** Over all causes. */
export function countRefusedPackets({ counts: { refused } }: BrokerView): number {
  let sum = 0
  for (const cause of refusalCauses) sum += refused[cause]
  return sum
}
