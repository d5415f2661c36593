// Checks topics of the configuration that are neither of rules nor of actions.

import type { GodwitConfig } from '../../config/index.ts'
import { parseTopicFilter, parseTopicName } from '../../protocol/index.ts'
import { compileMatcher } from '../../regex/index.ts'
import type { PlanProblem } from './rule-plan.ts'

/** Returns why `rewrite`, `auto_subscribe` and `topic_metrics` are invalid. */
export function findTopicsProblem({
  autoSubscriptions,
  countedTopics,
  core: { topicRewrites = [] },
}: GodwitConfig): PlanProblem | undefined {
  for (const { re, source_topic: source } of topicRewrites) {
    const matcher = compileMatcher(re)
    if (typeof matcher === 'string') return { problem: `rewrite: re ${JSON.stringify(re)}: ${matcher}` }
    if (parseTopicFilter(source) === undefined)
      return { problem: `rewrite: source_topic ${JSON.stringify(source)} is not a topic filter` }
  }
  const wrong = autoSubscriptions.find(({ topic }) => parseTopicFilter(topic) === undefined)
  if (wrong !== undefined)
    return { problem: `auto_subscribe.topics: ${JSON.stringify(wrong.topic)} is not a topic filter` }
  const uncounted = countedTopics.find((topic) => parseTopicName(topic) === undefined)
  if (uncounted !== undefined)
    return { problem: `topic_metrics: ${JSON.stringify(uncounted)} is not a topic name: wildcards are not possible` }
  const twice = countedTopics.find((topic, place) => countedTopics.indexOf(topic) !== place)
  return twice === undefined ? undefined : { problem: `topic_metrics: ${JSON.stringify(twice)} is there twice` }
}
