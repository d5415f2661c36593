// Numbers of counted topics for Prometheus. Their number is bounded by `topic_metrics`.

import type { MetricName } from '../../contract/index.ts'
import type { TopicNumbers } from '../topic-metrics/counted-topics.ts'
import type { MetricValue, Sample } from './prometheus-text.ts'

export type TopicMetricName = Extract<MetricName, `godwit_topic_${string}`>

const levels = ['0', '1', '2'] as const
const directions = ['in', 'out'] as const

/** Returns the samples of all metrics about topics. */
export function toTopicMetrics(topics: readonly TopicNumbers[]): Record<TopicMetricName, MetricValue> {
  return {
    godwit_topic_messages_total: topics.flatMap(({ topic, numbers }): Sample[] =>
      directions.flatMap((direction) =>
        levels.map((qos) => ({ labels: { topic, direction, qos }, value: numbers[`qos${qos}.${direction}`].count })),
      ),
    ),
    godwit_topic_dropped_total: topics.map(({ topic, numbers }) => ({
      labels: { topic },
      value: numbers.dropped.count,
    })),
  }
}
