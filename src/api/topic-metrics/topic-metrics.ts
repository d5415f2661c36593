// Metrics of topics (`/mqtt/topic_metrics`): operations of the node, and handlers.

import type { ReplyOf, Caller } from '../../contract/index.ts'
import type { topicMetricsEndpoints } from './endpoints.ts'
import { refuseFor, shortened, type ApiError, type Handlers } from '../../management/index.ts'
import { refusalOf } from '../rules/rules.ts'
import type { RuleProblem } from '../context/setting-writer.ts'

/** Numbers of one topic, over all shards. */
export interface TopicNumbers {
  readonly topic: string
  readonly createdAtMs: number
  readonly resetAtMs: number | undefined
  /** By name: `qos0.in`, ... `qos2.out`, `dropped`. */
  readonly numbers: Readonly<Record<TopicNumberName, { readonly count: number; readonly rate: number }>>
}

export type TopicNumberName = `qos${0 | 1 | 2}.${'in' | 'out'}` | 'dropped'

/** Operations of the node on `topic_metrics`. */
export interface TopicMetricsOperations {
  topics(): readonly string[]
  /** Changes wait for each other: `update` is given the topics as they are then. */
  change(update: (topics: readonly string[]) => readonly string[], by: Caller): Promise<RuleProblem | undefined>
  /** Undefined: a shard did not respond. */
  numbers(): Promise<readonly TopicNumbers[] | undefined>
  /** Returns the metrics of all topics. Shards that do not respond within a second are omitted. */
  scrape(): Promise<readonly TopicNumbers[]>
  /** Undefined: of all topics. */
  reset(topic: string | undefined): Promise<void>
}

type Known = typeof topicMetricsEndpoints
type Written = ReplyOf<Known['get_metrics_of_topic']>

const maxTopics = 512

/** Handlers of topics whose messages are counted. */
export function topicMetricsHandlers(topics: TopicMetricsOperations): Handlers<Known> {
  const find = async (topic: string): Promise<Written | ApiError> => {
    if (!topics.topics().includes(topic)) return absent(topic)
    const numbers = await topics.numbers()
    if (numbers === undefined) return shardUnavailable()
    const found = numbers.find((row) => row.topic === topic)
    return found === undefined ? shardUnavailable() : written(found)
  }
  return {
    get_topic_metrics: async () => (await topics.numbers())?.map(written) ?? shardUnavailable(),
    add_topic_metrics: async ({ body: { topic }, caller }) => {
      const known = topics.topics()
      if (known.includes(topic)) return refuseFor('CONFLICT', `messages of ${shortened(topic)} are counted already`)
      if (known.length >= maxTopics)
        return refuseFor('CONFLICT', `at most ${maxTopics} topics are counted: delete one first`)
      const problem = await topics.change((all) => (all.includes(topic) ? all : [...all, topic]), caller)
      return problem === undefined ? find(topic) : refusalOf(problem)
    },
    reset_topic_metrics: async ({ body: { topic } }) => {
      if (topic !== undefined && !topics.topics().includes(topic)) return absent(topic)
      await topics.reset(topic)
      return null
    },
    get_metrics_of_topic: ({ params: { topic } }) => find(topic),
    delete_topic_metrics: async ({ params: { topic }, caller }) => {
      if (!topics.topics().includes(topic)) return absent(topic)
      const problem = await topics.change((all) => all.filter((other) => other !== topic), caller)
      return problem === undefined ? null : refusalOf(problem)
    },
  }
}

function shardUnavailable(): ApiError {
  return refuseFor('SERVICE_UNAVAILABLE', 'a shard is restarting: retry')
}

function absent(topic: string): ApiError {
  return refuseFor('NOT_FOUND', `messages of ${shortened(topic)} are not counted: add the topic with POST first`)
}

function written({ topic, createdAtMs, resetAtMs, numbers }: TopicNumbers): Written {
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
    metrics: Object.fromEntries(metrics) as Written['metrics'],
  }
}
