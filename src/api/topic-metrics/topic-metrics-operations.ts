// Implements the operations of the API for topics whose messages are counted (`topic_metrics`).

import { topicCountNames, type TopicMetricsReport } from '../../actions/index.ts'
import type { TopicMetricsOperations, TopicNumberName, TopicNumbers } from './topic-metrics.ts'
import { type ConfigManager, type ShardSupervisor, queryShard } from '../../node/index.ts'
import { SettingWriter } from '../context/setting-writer.ts'

/** Maximum time that a scrape waits for a shard: metrics are most important when a shard hangs. */
const scrapeTimeoutMs = 1_000

export function topicMetricsOperations({
  configuration,
  supervisor,
}: {
  readonly configuration: ConfigManager
  readonly supervisor: Pick<ShardSupervisor, 'size' | 'query'>
}): TopicMetricsOperations {
  const writer = new SettingWriter(configuration)
  let last: Promise<unknown> = Promise.resolve()
  return {
    topics: () => configuration.config.countedTopics,
    change: (update, by) => {
      const changed = last.then(() => {
        const topics = update(configuration.config.countedTopics)
        return writer.change({ topic_metrics: topics.map((topic) => ({ topic })) }, by)
      })
      last = changed.catch(() => undefined)
      return changed
    },
    numbers: async () => {
      const reports: TopicMetricsReport[] = []
      for (let shard = 0; shard < supervisor.size; shard++) {
        const found = await supervisor.query(shard, { kind: 'topic-metrics' })
        if (found === undefined) return undefined
        reports.push(...found)
      }
      return byTopic(reports)
    },
    scrape: async () => {
      if (configuration.config.countedTopics.length === 0) return []
      const shards = Array.from({ length: supervisor.size }, (_, shard) =>
        queryShard<'topic-metrics'>(supervisor, shard, { kind: 'topic-metrics' }, scrapeTimeoutMs),
      )
      const responses = await Promise.all(shards)
      return byTopic(responses.flatMap((response) => ('unavailableShard' in response ? [] : response)))
    },
    reset: async (topic) => {
      for (let shard = 0; shard < supervisor.size; shard++)
        await supervisor.query(shard, { kind: 'reset-topic-metrics', topic })
    },
  }
}

function byTopic(reports: readonly TopicMetricsReport[]): readonly TopicNumbers[] {
  return [...Map.groupBy(reports, ({ topic }) => topic).values()].map(numbersOf)
}

/** Adds up `reports` of one topic, one from each shard. */
function numbersOf(reports: readonly TopicMetricsReport[]): TopicNumbers {
  const sum = (of: 'counts' | 'rates', place: number): number =>
    reports.reduce((total, report) => total + (report[of][place] ?? 0), 0)
  const numbers = topicCountNames.map((name, place) => [
    name,
    { count: sum('counts', place), rate: sum('rates', place) },
  ])
  const resets = reports.flatMap(({ resetAtMs }) => resetAtMs ?? [])
  return {
    topic: reports[0]?.topic ?? '',
    createdAtMs: Math.min(...reports.map(({ createdAtMs }) => createdAtMs)),
    resetAtMs: resets.length === 0 ? undefined : Math.max(...resets),
    numbers: Object.fromEntries(numbers) as Record<TopicNumberName, { count: number; rate: number }>,
  }
}
