// Clients that receive slowly.

import { type Handlers } from '../../management/index.ts'
import { toClientName } from '../context/client-name.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { slowSubscriptionEndpoints } from './endpoints.ts'

const defaultThresholdMs = 500
const defaultMaxRows = 100

export function createSlowSubscriptionHandlers({
  nodeName,
  supervisor,
  names,
  configuration,
}: Pick<ApiContext, 'nodeName' | 'supervisor' | 'names' | 'configuration'>): Handlers<
  typeof slowSubscriptionEndpoints
> {
  return {
    list_slow_subscriptions: async ({ query }) => {
      if (!configuration.config.modules.slow_subs) return { code: 0, data: [] }
      const { threshold: atLeastMs = defaultThresholdMs, _limit: maxRows = defaultMaxRows } = query
      const { namespace } = names
      const responses = await Promise.all(
        Array.from({ length: supervisor.size }, (_, shard) =>
          supervisor.query(shard, { kind: 'slow', atLeastMs, maxRows, namespace }),
        ),
      )
      const slowest = responses
        .flatMap((found) => found ?? [])
        .toSorted((a, b) => b.ageMs - a.ageMs)
        .slice(0, maxRows)
      const data = slowest.map(({ clientId, topic, ageMs, waiting }) => ({
        node: nodeName,
        ...toClientName(clientId),
        topic: names.unmountTopic(topic),
        timespan: Math.round(ageMs),
        mqueue_len: waiting,
      }))
      return { code: 0, data }
    },
  }
}
