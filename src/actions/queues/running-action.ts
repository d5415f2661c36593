// An action of a shard, with everything that belongs to it.

import { type ActionEntry, endCallsOnClose, type Sink, sinkTypes, type WriteOutcome } from '../../sinks/index.ts'
import type { ActionDelivery, DeliverySettings } from '../delivery/action-delivery.ts'
import type { DeadLetterRetry } from '../delivery/dead-letter-retry.ts'
import type { DeadLetters } from '../delivery/dead-letters.ts'
import type { ActionAssignment } from '../plan/rule-plan.ts'
import { compileSinkTemplate } from '../results/compile-sink-template.ts'
import { isOfDeadLetters } from './queue-names.ts'
import type { ActionFallbacks } from './action-fallbacks.ts'
import type { ActionOrder } from '../results/action-order.ts'
import type { DeadLetterAlarm } from './dead-letter-alarm.ts'
import type { FullQueue, FullQueueAlarm } from './full-queue-alarm.ts'
import type { ResultTarget } from '../results/result-store.ts'

export interface RunningAction extends ResultTarget {
  readonly assignment: ActionAssignment
  readonly order: ActionOrder
  readonly fallbacks: ActionFallbacks
  readonly full: FullQueueAlarm
  readonly deadLetterAlarm: DeadLetterAlarm
  /** The first delivery reads the action queue of this shard; further ones read queues that other shards created. */
  readonly deliveries: ActionDelivery[]
  readonly deadLetters: DeadLetters
  readonly retry: DeadLetterRetry
  isStopped: boolean
}

export function toDeliverySettings({ type, action }: ActionAssignment): DeliverySettings {
  const options = action.resource_opts
  const sinkType = sinkTypes[type]
  const batching = sinkType.overrideBatching?.(action) ?? {
    batchSize: options.batch_size,
    batchTimeMs: options.batch_time,
  }
  return {
    ...batching,
    inflightWindow: options.inflight_window,
    maxRetries: sinkType.overrideMaxRetries?.(action) ?? options.max_retries,
    retryIntervalMs: options.retry_interval,
    healthCheckIntervalMs: options.health_check_interval,
    onePerKey: sinkType.findWriteOrder(action) === 'nothing',
  }
}

/** Returns the sink of an action; undefined: the action stores results and does not send them. */
export function openSink(
  { id, type, action, connector }: ActionAssignment,
  { dataDirectory, nodeName, own }: { readonly dataDirectory: string; readonly nodeName: string; readonly own: number },
): Sink | undefined {
  if (!action.enable || connector === undefined) return undefined
  const sink = sinkTypes[type].open(connector, action, {
    requestTimeoutMs: action.resource_opts.request_timeout,
    action: id,
    nodeName,
    compile: compileSinkTemplate,
    dataDirectory,
    shard: own,
  })
  return endCallsOnClose(sink)
}

/** Returns whether publishers wait for the action, whose queue has `stored` messages. */
export function isBlocking({ assignment: { action } }: RunningAction, stored: number): boolean {
  const { max_buffer_messages: maxMessages, overflow } = action.resource_opts
  return overflow === 'block' && stored >= maxMessages
}

/** Returns what an alarm about the full queue of the action says. */
export function toFullQueue({ assignment, deliveries }: RunningAction): FullQueue {
  return { maxMessages: assignment.action.resource_opts.max_buffer_messages, outage: deliveries[0]?.outage }
}

/** Replaces the sinks of an action after a failure of their client library. */
export function restartSinks(
  { deliveries }: RunningAction,
  open: () => Sink | undefined,
  why: string,
  delayMs: number,
): void {
  for (const delivery of deliveries) {
    if (isOfDeadLetters(delivery.clientId) || delivery.state === 'stopped') continue
    const sink = open()
    if (sink !== undefined) delivery.restartSink(sink, why, delayMs)
  }
}

/** Returns a sink that moves the dead letters of another shard: `store` stores one of them. */
export function createMovingSink(store: (entry: ActionEntry) => Promise<boolean>): Sink {
  const move = async (entry: ActionEntry): Promise<WriteOutcome> =>
    (await store(entry)) ? { outcome: 'done' } : { outcome: 'retry', why: 'the disk fails' }
  return { write: (batch) => Promise.all(batch.map(move)), check: async () => undefined, close: () => {} }
}

/** Returns why an action does not send; '': it sends. */
export function explainNoSink({ action, connector }: ActionAssignment): string {
  if (!action.enable) return 'the action is disabled'
  return connector === undefined ? 'the connector is missing or disabled' : ''
}
