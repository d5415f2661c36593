// Slow subscriptions: operations of the node, and the handler.

import type { slowSubscriptionEndpoints } from './endpoints.ts'
import { type Handlers, clientName } from '../../management/index.ts'

/** Slow clients, for the API. */
export interface SlowSubscriptionOperations {
  readonly nodeName: string
  /** Returns the slow subscriptions of all shards, the slowest first. */
  listSlow(request: {
    readonly atLeastMs: number
    readonly maxRows: number
    /** Undefined: all clients. */
    readonly namespace?: string | undefined
  }): Promise<readonly SlowSubscription[]>
}

export interface SlowSubscription {
  readonly clientId: string
  readonly topic: string
  readonly ageMs: number
  readonly waiting: number
}

const defaultThresholdMs = 500
const defaultMaxRows = 100

export function slowSubscriptionHandlers(
  operations: SlowSubscriptionOperations,
): Handlers<typeof slowSubscriptionEndpoints> {
  return {
    list_slow_subscriptions: async ({ query }) => {
      const { threshold = defaultThresholdMs, _limit = defaultMaxRows } = query
      const found = await operations.listSlow({ atLeastMs: threshold, maxRows: _limit })
      const data = found.map(({ clientId, topic, ageMs, waiting }) => ({
        node: operations.nodeName,
        ...clientName(clientId),
        topic,
        timespan: Math.round(ageMs),
        mqueue_len: waiting,
      }))
      return { code: 0, data }
    },
  }
}
