// Topics and filters over a small alphabet, so that they meet: empty levels, $-levels and wildcards in every place.

import fc from 'fast-check'
import {
  parseTopicFilter,
  parseTopicName,
  Topic,
  type TopicFilter,
  type TopicName,
} from '../../../src/protocol/index.ts'
import type { SubscriptionOptions } from '../../../src/core/topics/index.ts'

const level = fc.constantFrom('a', 'b', '', '$', '$SYS', 'a level that is long enough')

export function topicName(text: string): TopicName {
  const name = parseTopicName(text)
  if (name === undefined) throw new Error(`'${text}' is no topic name`)
  return name
}

export function topicFilter(text: string): TopicFilter {
  const filter = parseTopicFilter(text)
  if (filter === undefined) throw new Error(`'${text}' is no topic filter`)
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

export const sharedFilters: fc.Arbitrary<TopicFilter> = fc
  .tuple(fc.constantFrom('workers', 'others'), topicFilters)
  .map(([group, filter]) => topicFilter(`$share/${group}/${filter}`))

export function optionsOf(some: Partial<SubscriptionOptions>): SubscriptionOptions {
  return { qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0, identifier: undefined, ...some }
}

export const options: fc.Arbitrary<SubscriptionOptions> = fc.record({
  qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
  noLocal: fc.boolean(),
  retainAsPublished: fc.boolean(),
  retainHandling: fc.constant(0 as const),
  identifier: fc.option(fc.integer({ min: 1, max: 268_435_455 }), { nil: undefined }),
})
