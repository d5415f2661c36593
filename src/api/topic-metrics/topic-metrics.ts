// Metrics of topics (`/mqtt/topic_metrics`).

import type { ReplyOf } from '../../contract/index.ts'
import { refuseFor, quoteShortened, type ApiError, type Handlers } from '../../management/index.ts'
import { refuseChange } from '../context/setting-writer.ts'
import type { CountedTopics, TopicNumberName, TopicNumbers } from './counted-topics.ts'
import type { topicMetricsEndpoints } from './endpoints.ts'

type Known = typeof topicMetricsEndpoints
type Row = ReplyOf<Known['get_metrics_of_topic']>

const maxTopics = 512

export function createTopicMetricsHandlers(counted: CountedTopics): Handlers<Known> {
  const find = async (topic: string): Promise<Row | ApiError> => {
    if (!counted.topics.includes(topic)) return refuseUnknownTopic(topic)
    const numbers = await counted.readNumbers()
    if (numbers === undefined) return refuseUnavailable()
    const found = numbers.find((row) => row.topic === topic)
    return found === undefined ? refuseUnavailable() : toRow(found)
  }
  return {
    get_topic_metrics: async () => (await counted.readNumbers())?.map(toRow) ?? refuseUnavailable(),
    add_topic_metrics: async ({ body: { topic }, caller }) => {
      const known = counted.topics
      if (known.includes(topic))
        return refuseFor('CONFLICT', `messages of ${quoteShortened(topic)} are counted already`)
      if (known.length >= maxTopics)
        return refuseFor('CONFLICT', `at most ${maxTopics} topics are counted: delete one first`)
      const problem = await counted.change((all) => (all.includes(topic) ? all : [...all, topic]), caller)
      return problem === undefined ? find(topic) : refuseChange(problem)
    },
    reset_topic_metrics: async ({ body: { topic } }) => {
      if (topic !== undefined && !counted.topics.includes(topic)) return refuseUnknownTopic(topic)
      await counted.reset(topic)
      return null
    },
    get_metrics_of_topic: ({ params: { topic } }) => find(topic),
    delete_topic_metrics: async ({ params: { topic }, caller }) => {
      if (!counted.topics.includes(topic)) return refuseUnknownTopic(topic)
      const problem = await counted.change((all) => all.filter((other) => other !== topic), caller)
      return problem === undefined ? null : refuseChange(problem)
    },
  }
}

function refuseUnavailable(): ApiError {
  return refuseFor('SERVICE_UNAVAILABLE', 'a shard is restarting: retry')
}

function refuseUnknownTopic(topic: string): ApiError {
  return refuseFor('NOT_FOUND', `messages of ${quoteShortened(topic)} are not counted: add the topic with POST first`)
}

function toRow({ topic, createdAtMs, resetAtMs, numbers }: TopicNumbers): Row {
  const sum = (...names: readonly TopicNumberName[]): { count: number; rate: number } => ({
    count: names.reduce((total, name) => total + numbers[name].count, 0),
    rate: names.reduce((total, name) => total + numbers[name].rate, 0),
  })
  const all = {
    in: sum('qos0.in', 'qos1.in', 'qos2.in'),
    out: sum('qos0.out', 'qos1.out', 'qos2.out'),
    ...numbers,
  }
  const metrics = Object.entries(all).flatMap(([name, { count, rate }]) => [
    [`messages.${name}.count`, count],
    [`messages.${name}.rate`, rate],
  ])
  return {
    topic,
    create_time: new Date(createdAtMs).toISOString(),
    ...(resetAtMs !== undefined && { reset_time: new Date(resetAtMs).toISOString() }),
    metrics: Object.fromEntries(metrics) as Row['metrics'],
  }
}
