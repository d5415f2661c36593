// Rewriting of topics by the setting `rewrite`. The first rule whose filter matches applies. Access rules see the topic
// of the client, before it is rewritten.

import {
  bareFilter,
  matchesFilter,
  parseTopicFilter,
  parseTopicName,
  type TopicFilter,
  type TopicName,
} from '../../protocol/index.ts'

/** One entry of `rewrite`. */
export interface RewriteRule {
  readonly action: 'publish' | 'subscribe' | 'all'
  readonly source_topic: string
  /** A regular expression; its groups are $1, $2... in `dest_topic`. */
  readonly re: string
  readonly dest_topic: string
}

/**
 * Returns the groups of the match, the whole match first; undefined if there is no match. The shard provides it with a
 * time limit.
 */
export type MatchRegex = (pattern: string, text: string) => readonly (string | undefined)[] | undefined

interface Who {
  readonly clientId: string
  readonly username: string | undefined
}

/** Rules and the function that matches their expressions. */
export interface Rewriting {
  readonly rules: readonly RewriteRule[]
  readonly matchRegex: MatchRegex
}

/** Returns the rewritten topic of a publication. If the result is not a valid topic name, the topic stays unchanged. */
export function rewriteTopic(rewriting: Rewriting, topic: TopicName, who: Who): TopicName {
  const text = rewrite(rewriting, 'publish', topic, who)
  return text === undefined ? topic : (parseTopicName(text) ?? topic)
}

/** Does the same for a filter; the prefix of a shared filter stays. Exclusive filters are not rewritten. */
export function rewriteFilter(rewriting: Rewriting, filter: TopicFilter, who: Who): TopicFilter {
  if (filter.startsWith('$exclusive/')) return filter
  const bare = bareFilter(filter)
  const text = rewrite(rewriting, 'subscribe', bare, who)
  const prefix = filter.slice(0, filter.length - bare.length)
  return text === undefined ? filter : (parseTopicFilter(prefix + text) ?? filter)
}

function rewrite(
  { rules, matchRegex }: Rewriting,
  action: 'publish' | 'subscribe',
  text: string,
  who: Who,
): string | undefined {
  const rule = rules.find(
    (one) => (one.action === action || one.action === 'all') && matchesFilter(one.source_topic, text),
  )
  const groups = rule === undefined ? undefined : matchRegex(rule.re, text)
  return rule === undefined || groups === undefined ? undefined : filled(rule.dest_topic, groups, who)
}

/** Undefined if a placeholder has no value. */
function filled(template: string, groups: readonly (string | undefined)[], who: Who): string | undefined {
  let isComplete = true
  const text = template.replaceAll(/\$(?:(\d)|\{(clientid|username)\})/g, (whole, group?: string, name?: string) => {
    const value = group === undefined ? (name === 'clientid' ? who.clientId : who.username) : groups[Number(group)]
    if (value === undefined) isComplete = false
    return value ?? whole
  })
  return isComplete ? text : undefined
}
