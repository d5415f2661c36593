// An action of a shard, with everything that belongs to it.

import {
  type ActionDelivery,
  type ActionEntry,
  type DeadLetters,
  type DeliverySettings,
  type Sink,
  sinkTypes,
  type WriteOutcome,
} from '../../../sinks/index.ts'
import type { ActionAssignment } from '../../messages/rule-plan.ts'
import type { ActionFallbacks } from '../action-fallbacks.ts'
import type { ActionOrder } from '../action-order.ts'
import type { FullQueueAlarm } from '../full-queue-alarm.ts'
import type { ResultTarget } from './result-store.ts'

export interface RunningAction extends ResultTarget {
  readonly assignment: ActionAssignment
  readonly order: ActionOrder
  readonly fallbacks: ActionFallbacks
  readonly full: FullQueueAlarm
  /** The first delivery reads the action queue of this shard; further ones read queues that other shards created. */
  readonly deliveries: ActionDelivery[]
  readonly deadLetters: DeadLetters
  isStopped: boolean
}

export function deliverySettings({ type, action }: ActionAssignment): DeliverySettings {
  const options = action.resource_opts
  const sinkType = sinkTypes[type]
  const batching = sinkType.batching?.(action) ?? { batchSize: options.batch_size, batchTimeMs: options.batch_time }
  return {
    ...batching,
    inflightWindow: options.inflight_window,
    maxRetries: sinkType.maxRetries?.(action) ?? options.max_retries,
    retryIntervalMs: options.retry_interval,
    healthCheckIntervalMs: options.health_check_interval,
    onePerKey: sinkType.keepsOrderOf(action) === 'nothing',
  }
}

/** Returns a sink that moves the dead letters of another shard: `store` stores one of them. */
export function moverTo(store: (entry: ActionEntry) => Promise<boolean>): Sink {
  const move = async (entry: ActionEntry): Promise<WriteOutcome> =>
    (await store(entry)) ? { outcome: 'done' } : { outcome: 'retry', why: 'the disk fails' }
  return { write: (batch) => Promise.all(batch.map(move)), check: async () => undefined, close: () => {} }
}
