// Report of an action on one shard, for the API: its counters, its queues, and the state of its service. Log events and alarms about that state.

import type { ActionDelivery } from '../delivery/action-delivery.ts'
import type { ActionBroker } from '../action-broker.ts'
import type { ActionReport } from '../plan/rule-reports.ts'
import type { ActionCounters } from '../statistics/action-counters.ts'
import { toAlarmName } from './queue-names.ts'
import type { FullQueueAlarm } from './full-queue-alarm.ts'

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
  readonly findSession: (clientId: string) => QueueSession | undefined
  readonly nowMs: number
}

/** Returns the report of the action `id`. */
export function createActionReport(
  id: string,
  { deliveries, deadClientId }: ReportedAction,
  { own, findSession, nowMs }: ReportContext,
): ActionReport {
  const countStored = (clientId: string): number => findSession(clientId)?.spooled ?? 0
  const sum = (select: (delivery: ActionDelivery) => number): number =>
    deliveries.reduce((total, delivery) => total + select(delivery), 0)
  const stored = sum(({ clientId }) => countStored(clientId))
  const inflight = sum((delivery) => delivery.inflight)
  const oldestAtMs = Math.min(...deliveries.map(({ clientId }) => findSession(clientId)?.oldestAtMs ?? Infinity))
  const worst = deliveries.find(({ state }) => state !== 'connected') ?? deliveries[0]
  return {
    id,
    state: worst?.state ?? 'stopped',
    stateReason: worst?.stateReason ?? '',
    matched: own.matched,
    ...own.meter.readRates(),
    success: own.success + sum(({ counters }) => counters.success),
    failed: own.failed + sum(({ counters }) => counters.failed),
    droppedQueueFull: own.droppedQueueFull,
    droppedOther: own.droppedOther,
    retried: own.retried + sum(({ counters }) => counters.retried),
    queuing: Math.max(0, stored - inflight),
    inflight,
    oldestAgeMs: oldestAtMs === Infinity ? undefined : Math.max(0, nowMs - oldestAtMs),
    deadLetters: countStored(deadClientId),
    droppedDeadLetters: own.droppedDeadLetters,
    lastError: deliveries.find(({ lastError }) => lastError !== '')?.lastError ?? '',
  }
}

type EventBroker = Pick<ActionBroker, 'log' | 'raiseAlarm' | 'endAlarm'>

/** Log events and alarms about the states of actions. Attempts that fail one after the other with the same reason are reported once. */
export class ActionStateEvents {
  readonly #broker: EventBroker
  /** The reported reason of each action that is not connected. */
  readonly #reported = new Map<string, string>()

  constructor(broker: EventBroker) {
    this.#broker = broker
  }

  /** `delivery`: state, reason, and whether the last attempt failed. */
  reportState(
    id: string,
    { state, stateReason: why, hasFailed }: Pick<ActionDelivery, 'state' | 'stateReason' | 'hasFailed'>,
    full: FullQueueAlarm | undefined,
  ): void {
    const { log } = this.#broker
    if (state === 'connected') {
      this.#reported.delete(id)
      log.info('action connected', { action: id })
      full?.reset()
      return this.#broker.endAlarm(toAlarmName(id), `the action ${id} sends again`)
    }
    if (state === 'stopped') {
      if (this.#reported.delete(id)) this.#broker.endAlarm(toAlarmName(id), `the action ${id} is stopped: ${why}`)
      return
    }
    // The action starts again, so each outcome is news.
    if (why === '') this.#reported.delete(id)
    else if (this.#reported.get(id) === why) return
    // The reason of a failure stays reported while the next attempt gets no response.
    if (state === 'disconnected') this.#reported.set(id, why)
    if (state === 'disconnected') log.warn('action disconnected', { action: id, reason: why })
    // While attempts fail, further waiting is no news.
    else if (why !== '' && !hasFailed) log.warn('action gets no response', { action: id, reason: why })
    if (state === 'disconnected' && hasFailed)
      this.#broker.raiseAlarm(toAlarmName(id), `the action ${id} cannot send: ${why}${full?.suffix ?? ''}`)
  }
}
