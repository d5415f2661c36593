// Counters of one action on one shard, since the start or the last reset.

import { RateMeter } from './rate-meter.ts'

export interface DeliveryCounters {
  success: number
  /** Number of entries that became dead letters. */
  failed: number
  retried: number
}

export interface ActionCounters extends DeliveryCounters {
  /** Rate of `matched`. */
  readonly meter: RateMeter
  matched: number
  droppedQueueFull: number
  droppedOther: number
  droppedDeadLetters: number
}

export function createActionCounters(): ActionCounters {
  return {
    meter: new RateMeter(),
    matched: 0,
    droppedQueueFull: 0,
    droppedOther: 0,
    droppedDeadLetters: 0,
    success: 0,
    failed: 0,
    retried: 0,
  }
}

/** Adds the counters of a delivery that ends. */
export function addCounters(sum: ActionCounters, { success, failed, retried }: DeliveryCounters): void {
  sum.success += success
  sum.failed += failed
  sum.retried += retried
}
