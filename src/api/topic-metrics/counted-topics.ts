// Topics whose messages are counted (`topic_metrics`), and their numbers on all shards.

import { topicCountNames, type TopicMetricsReport } from '../../actions/index.ts'
import type { Caller } from '../../contract/index.ts'
import { type ConfigManager, type QueryableShards, queryShard } from '../../node/index.ts'
import { type SettingProblem, SettingWriter } from '../context/setting-writer.ts'

/** Numbers of one topic, over all shards. */
export interface TopicNumbers {
  readonly topic: string
  readonly createdAtMs: number
  readonly resetAtMs: number | undefined
  /** By name: `qos0.in`, ... `qos2.out`, `dropped`. */
  readonly numbers: Readonly<Record<TopicNumberName, { readonly count: number; readonly rate: number }>>
}

export type TopicNumberName = `qos${0 | 1 | 2}.${'in' | 'out'}` | 'dropped'

/** Maximum time that a scrape waits for a shard: metrics are most important when a shard hangs. */
const scrapeTimeoutMs = 1_000

export class CountedTopics {
  readonly #configuration: ConfigManager
  readonly #supervisor: QueryableShards
  readonly #writer: SettingWriter
  #lastChange: Promise<unknown> = Promise.resolve()

  constructor({
    configuration,
    supervisor,
  }: {
    readonly configuration: ConfigManager
    readonly supervisor: QueryableShards
  }) {
    this.#configuration = configuration
    this.#supervisor = supervisor
    this.#writer = new SettingWriter(configuration)
  }

  get topics(): readonly string[] {
    return this.#configuration.config.topicSettings.countedTopics
  }

  /** Changes wait for each other: `update` is given the topics as they are then. */
  change(update: (topics: readonly string[]) => readonly string[], by: Caller): Promise<SettingProblem | undefined> {
    const changed = this.#lastChange.then(() =>
      this.#writer.change({ topic_metrics: update(this.topics).map((topic) => ({ topic })) }, by),
    )
    this.#lastChange = changed.catch(() => undefined)
    return changed
  }

  /** undefined: a shard did not respond. */
  async readNumbers(): Promise<readonly TopicNumbers[] | undefined> {
    const reports: TopicMetricsReport[] = []
    for (let shard = 0; shard < this.#supervisor.size; shard++) {
      const found = await this.#supervisor.query(shard, { kind: 'topic-metrics' })
      if (found === undefined) return undefined
      reports.push(...found)
    }
    return groupByTopic(reports)
  }

  /** Returns the metrics of all topics. Shards that do not respond within a second are omitted. */
  async scrape(): Promise<readonly TopicNumbers[]> {
    if (this.topics.length === 0) return []
    const shards = Array.from({ length: this.#supervisor.size }, (_, shard) =>
      queryShard<'topic-metrics'>(this.#supervisor, shard, { kind: 'topic-metrics' }, scrapeTimeoutMs),
    )
    const responses = await Promise.all(shards)
    return groupByTopic(responses.flatMap((response) => ('unavailableShard' in response ? [] : response)))
  }

  /** undefined: of all topics. */
  async reset(topic: string | undefined): Promise<void> {
    for (let shard = 0; shard < this.#supervisor.size; shard++)
      await this.#supervisor.query(shard, { kind: 'reset-topic-metrics', topic })
  }
}

function groupByTopic(reports: readonly TopicMetricsReport[]): readonly TopicNumbers[] {
  return [...Map.groupBy(reports, ({ topic }) => topic).values()].map(sumNumbers)
}

/** Adds up `reports` of one topic, one from each shard. */
function sumNumbers(reports: readonly TopicMetricsReport[]): TopicNumbers {
  const sum = (kind: 'counts' | 'rates', index: number): number =>
    reports.reduce((total, report) => total + (report[kind][index] ?? 0), 0)
  const numbers = topicCountNames.map((name, index) => [
    name,
    { count: sum('counts', index), rate: sum('rates', index) },
  ])
  const resets = reports.flatMap(({ resetAtMs }) => resetAtMs ?? [])
  return {
    topic: reports[0]?.topic ?? '',
    createdAtMs: Math.min(...reports.map(({ createdAtMs }) => createdAtMs)),
    resetAtMs: resets.length === 0 ? undefined : Math.max(...resets),
    numbers: Object.fromEntries(numbers) as Record<TopicNumberName, { count: number; rate: number }>,
  }
}
