import type { slowSubscriptionEndpoints } from '../../contract/index.ts'
import type { Handlers } from '../http/handler.ts'
import { clientName } from '../lists/client-name.ts'
import type { SlowSubscriptionOperations } from '../operations/slow-subscriptions.ts'

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
