import type { SlowSubscriptionOperations } from './slow-subscriptions.ts'
import type { ShardSupervisor } from '../../node/index.ts'

export function slowSubscriptionOperations(nodeName: string, supervisor: ShardSupervisor): SlowSubscriptionOperations {
  return {
    nodeName,
    listSlow: async ({ atLeastMs, maxRows, namespace }) => {
      const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
      const responses = await Promise.all(
        shards.map((shard) => supervisor.query(shard, { kind: 'slow', atLeastMs, maxRows, namespace })),
      )
      return responses
        .flatMap((found) => found ?? [])
        .toSorted((a, b) => b.ageMs - a.ageMs)
        .slice(0, maxRows)
    },
  }
}
