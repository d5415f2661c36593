// Report of an action on one shard, for the API: its counters, its queues, and the state of its service.

import type { ActionDelivery } from '../../sinks/index.ts'
import type { ActionReport } from '../messages/rule-plan.ts'
import type { ActionCounters } from './action-counters.ts'

/** The session that stores an action queue or dead letters. */
export interface QueueSession {
  readonly spooled: number
  readonly oldestAtMs: number | undefined
}

export interface ReportedAction {
  /** The first delivery reads the action queue of this shard. */
  readonly deliveries: readonly ActionDelivery[]
  readonly deadClientId: string
}

export interface ReportContext {
  readonly own: ActionCounters
  readonly sessionOf: (clientId: string) => QueueSession | undefined
  readonly nowMs: number
}

/** Returns the report of the action `id`. */
export function actionReport(
  id: string,
  { deliveries, deadClientId }: ReportedAction,
  { own, sessionOf, nowMs }: ReportContext,
): ActionReport {
  const storedIn = (clientId: string): number => sessionOf(clientId)?.spooled ?? 0
  const sum = (of: (delivery: ActionDelivery) => number): number =>
    deliveries.reduce((total, delivery) => total + of(delivery), 0)
  const stored = sum(({ clientId }) => storedIn(clientId))
  const inflight = sum((delivery) => delivery.inflight)
  const oldestAtMs = Math.min(...deliveries.map(({ clientId }) => sessionOf(clientId)?.oldestAtMs ?? Infinity))
  const worst = deliveries.find(({ state }) => state !== 'connected') ?? deliveries[0]
  return {
    id,
    state: worst?.state ?? 'stopped',
    stateReason: worst?.stateReason ?? '',
    matched: own.matched,
    ...own.meter.rates(),
    success: own.success + sum(({ counters }) => counters.success),
    failed: own.failed + sum(({ counters }) => counters.failed),
    droppedQueueFull: own.droppedQueueFull,
    droppedOther: own.droppedOther,
    retried: own.retried + sum(({ counters }) => counters.retried),
    queuing: Math.max(0, stored - inflight),
    inflight,
    oldestAgeMs: oldestAtMs === Infinity ? undefined : Math.max(0, nowMs - oldestAtMs),
    deadLetters: storedIn(deadClientId),
    lastError: deliveries.find(({ lastError }) => lastError !== '')?.lastError ?? '',
  }
}
