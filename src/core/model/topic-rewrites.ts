// Rewriting of topics by the setting `rewrite`. The first rule whose filter matches applies. Access rules see the topic
// of the client, before it is rewritten.

import {
  toTopicPart,
  removeFilterPrefix,
  matchesFilter,
  parseTopicFilter,
  parseTopicName,
  type TopicFilter,
  type TopicName,
} from '../../protocol/index.ts'
import { isValidRewriteResult } from '../messages/reserved-roots.ts'

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

/**
 * Returns the rewritten topic of a publication. If the result is not a valid topic name, the topic stays unchanged. Undefined if clients
 * must not publish to the result: see `isValidRewriteResult`.
 */
export function rewriteTopic(rewriting: Rewriting, topic: TopicName, client: Who): TopicName | undefined {
  const found = rewrite(rewriting, 'publish', topic, client)
  const name = found === undefined ? undefined : parseTopicName(found.text)
  if (found === undefined || name === undefined) return topic
  return isValidRewriteResult(name, found.template) ? name : undefined
}

/** Does the same for a filter; the prefix of a shared filter stays. Exclusive filters are not rewritten. */
export function rewriteFilter(rewriting: Rewriting, filter: TopicFilter, client: Who): TopicFilter | undefined {
  if (filter.startsWith('$exclusive/')) return filter
  const bare = removeFilterPrefix(filter)
  const found = rewrite(rewriting, 'subscribe', bare, client)
  if (found === undefined) return filter
  if (!isValidRewriteResult(found.text, found.template)) return undefined
  const prefix = filter.slice(0, filter.length - bare.length)
  return parseTopicFilter(prefix + found.text) ?? filter
}

interface Rewritten {
  readonly text: string
  readonly template: string
}

function rewrite(
  { rules, matchRegex }: Rewriting,
  action: 'publish' | 'subscribe',
  text: string,
  client: Who,
): Rewritten | undefined {
  const rule = rules.find(
    (one) => (one.action === action || one.action === 'all') && matchesFilter(one.source_topic, text),
  )
  const groups = rule === undefined ? undefined : matchRegex(rule.re, text)
  const filled = rule === undefined || groups === undefined ? undefined : fill(rule.dest_topic, groups, client)
  return rule === undefined || filled === undefined ? undefined : { text: filled, template: rule.dest_topic }
}

/** Undefined if a group has no value, or if a name of the client must not be inserted. In one pass: inserted values are not searched again. */
function fill(template: string, groups: readonly (string | undefined)[], client: Who): string | undefined {
  let isComplete = true
  const text = template.replaceAll(/\$(?:(\d)|\{(clientid|username)\})/g, (_, group?: string, name?: string) => {
    const value =
      group === undefined ? toTopicPart(name === 'clientid' ? client.clientId : client.username) : groups[Number(group)]
    if (value === undefined) isComplete = false
    return value ?? ''
  })
  return isComplete ? text : undefined
}
