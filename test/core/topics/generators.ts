// Generates topics and filters with few different levels, so that they often match: also empty levels, levels that begin with $, and
// wildcards at every level.

import {
  parseTopicFilter,
  parseTopicName,
  Topic,
  type TopicFilter,
  type TopicName,
} from '../../../src/protocol/index.ts'
import type { SubscriptionOptions } from '../../../src/core/topics/index.ts'
import { fc } from '../../properties.ts'

const level = fc.constantFrom('a', 'b', '', '$', '$SYS', 'a level that is long enough')

export function topicName(text: string): TopicName {
  const name = parseTopicName(text)
  if (name === undefined) throw new Error(`'${text}' is not a topic name`)
  return name
}

export function topicFilter(text: string): TopicFilter {
  const filter = parseTopicFilter(text)
  if (filter === undefined) throw new Error(`'${text}' is not a topic filter`)
  return filter
}

export const topicOf = (text: string): Topic => new Topic(topicName(text), Buffer.from(text))

export const topicNames: fc.Arbitrary<TopicName> = fc
  .array(level, { minLength: 1, maxLength: 5 })
  .map((levels) => levels.join('/'))
  .filter((text) => text !== '')
  .map(topicName)

export const topicFilters: fc.Arbitrary<TopicFilter> = fc
  .tuple(fc.array(fc.oneof(level, fc.constant('+')), { maxLength: 5 }), fc.boolean())
  .map(([levels, endsInAll]) => (endsInAll ? [...levels, '#'] : levels).join('/'))
  .filter((text) => text !== '')
  .map(topicFilter)

/** Parameters of `generalized`, which makes overlapping filters. */
export const generalizations = fc.record({
  wild: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  keptLevels: fc.option(fc.integer({ min: 0, max: 4 })),
  isShared: fc.boolean(),
})
type Generalization = typeof generalizations extends fc.Arbitrary<infer G> ? G : never

/** Returns a filter that matches the topic: with `+` in place of the `wild` levels, and `#` in place of all levels after `keptLevels`. */
export function generalized(topic: TopicName, { wild, keptLevels, isShared }: Generalization): TopicFilter {
  const levels = topic.split('/').map((level, at) => (wild[at] ? '+' : level))
  const filter = keptLevels === null ? levels : [...levels.slice(0, keptLevels), '#']
  return topicFilter((isShared ? '$share/workers/' : '') + filter.join('/'))
}

export const sharedFilters: fc.Arbitrary<TopicFilter> = fc
  .tuple(fc.constantFrom('workers', 'others'), topicFilters)
  .map(([group, filter]) => topicFilter(`$share/${group}/${filter}`))

export function optionsOf(some: Partial<SubscriptionOptions>): SubscriptionOptions {
  return {
    qos: 0,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
    identifier: undefined,
    raisesTo: 0,
    ...some,
  }
}

export const options: fc.Arbitrary<SubscriptionOptions> = fc.record({
  qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
  noLocal: fc.boolean(),
  retainAsPublished: fc.boolean(),
  retainHandling: fc.constant(0 as const),
  identifier: fc.option(fc.integer({ min: 1, max: 268_435_455 }), { nil: undefined }),
  raisesTo: fc.constant(0 as const),
})
