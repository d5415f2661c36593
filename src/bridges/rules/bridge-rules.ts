// Rules of a bridge: which messages are forwarded, with which topics.

import { filterPrefixes, hasWildcard, parseTopicFilter, type QoS, type RetainHandling } from '../../protocol/index.ts'
import type { Mapping } from './topic-mapping.ts'

/** Messages published here that match `localFilter` are sent to the remote broker. */
export interface ForwardRule {
  readonly localFilter: string
  /** '': the topic is unchanged. With wildcards: they are replaced by what those of `localFilter` matched. */
  readonly remoteTopic: string
  readonly prefix: string
  readonly suffix: string
  /** QoS towards the remote broker; undefined: as published. */
  readonly qos: QoS | undefined
  /** Undefined: as published. */
  readonly retain: boolean | undefined
}

/** Messages of the remote broker that match `remoteFilter` are published here. */
export interface SubscriptionRule {
  readonly remoteFilter: string
  /** '': the topic is unchanged. With wildcards: they are replaced by what those of `remoteFilter` matched. */
  readonly localTopic: string
  readonly prefix: string
  readonly suffix: string
  readonly qos: QoS
  /** Undefined: as received. */
  readonly retain: boolean | undefined
  readonly retainAsPublished: boolean
  readonly retainHandling: RetainHandling
}

export function toForwardMapping(rule: ForwardRule): Mapping {
  const { localFilter, remoteTopic, prefix, suffix } = rule
  return { filter: localFilter, target: remoteTopic, prefix, suffix }
}

export function toSubscriptionMapping(rule: SubscriptionRule): Mapping {
  const { remoteFilter, localTopic, prefix, suffix } = rule
  return { filter: remoteFilter, target: localTopic, prefix, suffix }
}

/** A sentence that starts with the key; undefined: the rule is valid. */
export function findForwardProblem(rule: ForwardRule): string | undefined {
  return findMappingProblem(toForwardMapping(rule), { filter: 'local_topic', target: 'remote_topic' })
}

export function findSubscriptionProblem(rule: SubscriptionRule): string | undefined {
  return findMappingProblem(toSubscriptionMapping(rule), { filter: 'remote_topic', target: 'local_topic' })
}

function findMappingProblem(
  mapping: Mapping,
  names: { readonly filter: string; readonly target: string },
): string | undefined {
  const { filter, target } = mapping
  if (parseTopicFilter(filter) === undefined) return `${names.filter} is not a topic filter`
  for (const special of [...filterPrefixes, '$SYS/']) {
    if (filter.startsWith(special)) return `${names.filter} must not begin with ${special}`
  }
  if (hasWildcard(mapping.prefix)) return 'prefix must not contain wildcards'
  if (hasWildcard(mapping.suffix)) return 'suffix must not contain wildcards'
  if (target === '') return undefined
  if (parseTopicFilter(target) === undefined) return `${names.target} is not a topic or a topic filter`
  const missing = ['+', '#'].find((wildcard) => countWildcards(target, wildcard) > countWildcards(filter, wildcard))
  if (missing !== undefined)
    return `${names.target} has more ${missing} than ${names.filter}: use each wildcard of ${names.target} also in ${names.filter}`
  return undefined
}

function countWildcards(filter: string, wildcard: string): number {
  return filter.split('/').filter((level) => level === wildcard).length
}
