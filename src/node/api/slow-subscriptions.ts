import type { SlowSubscriptionOperations } from '../../management/index.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

export function slowSubscriptionOperations(nodeName: string, crew: ShardSupervisor): SlowSubscriptionOperations {
  return {
    nodeName,
    listSlow: async ({ atLeastMs, most, namespace }) => {
      const shards = Array.from({ length: crew.size }, (_, shard) => shard)
      const answers = await Promise.all(
        shards.map((shard) => crew.ask(shard, { question: 'slow', atLeastMs, most, namespace })),
      )
      return answers
        .flatMap((found) => found ?? [])
        .toSorted((a, b) => b.ageMs - a.ageMs)
        .slice(0, most)
    },
  }
}
