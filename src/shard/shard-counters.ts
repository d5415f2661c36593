// What others may read of this shard without asking it.

import type { BrokerView } from '../core/index.ts'
import { counterCells, type Counters } from '../telemetry/index.ts'

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
  cells[counterCells.messagesReceived] = view.counts.publishesReceived
  cells[counterCells.messagesSent] = view.counts.publishesSent
  cells[counterCells.messagesDropped] = droppedMessages(view)
}

/** For all reasons together. */
export function droppedMessages(view: BrokerView): number {
  return Object.values(view.counts.dropped).reduce((sum, count) => sum + count, 0)
}
