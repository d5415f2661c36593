// Compiled rules, and the search for the rule that decides.
//
//   Search { action, topic } --> matching rules, in any order --> the decision of the rule with the lowest `order`

import type { AclRule, AclTopic } from '../../config/index.ts'
import type { Principal } from './principal.ts'
import { coversFilter, hasPlaceholder, matchesTopic, parseTopicPattern, type TopicPattern } from './topic-patterns.ts'

/** `receive`: at delivery, whichever subscription matches. */
export type Action = 'publish' | 'subscribe' | 'receive'

/** A decision and its reason. The objects are created with the rule, so that a search allocates nothing. */
export interface Decision {
  readonly allows: boolean
  readonly because:
    | 'superuser'
    /** The topic is in a namespace, and the client is not. */
    | 'namespace'
    | 'token'
    | 'stored-rule'
    /** A stored rule of no namespace, whose text an account of a namespace does not get. */
    | 'global-rule'
    | 'configured-rule'
    /** The client ID or user name must not be inserted into the rule. */
    | 'unusable-placeholder'
    /** The client is a bridge of this broker, to which no rule refers. */
    | 'bridge'
    | 'service'
    | 'plugin'
    | 'no-match'
  /** The rule as it is written; undefined if no rule decided. */
  readonly rule: string | undefined
  /** Position of the rule: `acl.conf:12`; undefined for rules that are not in a file. */
  readonly place: string | undefined
  /** Of a stored rule; undefined: the rule belongs to no namespace. */
  readonly namespace?: string
}

export interface CompiledRule {
  /** The index among all rules of its source: the lowest matching one decides. */
  readonly order: number
  readonly allows: boolean
  readonly appliesToPublish: boolean
  readonly appliesToSubscribe: boolean
  /** Undefined: every topic. */
  readonly patterns: readonly TopicPattern[] | undefined
  readonly needsClientId: boolean
  readonly needsUsername: boolean
  readonly decision: Decision
  readonly decisionWithoutValue: Decision
}

export interface RuleSource {
  readonly permit: AclRule['permit']
  readonly action: AclRule['action']
  readonly topics: readonly AclTopic[] | undefined
  readonly text: string
  readonly place: string | undefined
  readonly because: 'token' | 'stored-rule' | 'configured-rule'
  readonly namespace?: string | undefined
}

export function compileRule(source: RuleSource, order: number): CompiledRule {
  const { permit, action, topics, because, text, place, namespace } = source
  const shown = { rule: text, place, ...(namespace === undefined ? undefined : { namespace }) }
  const patterns = topics?.map(parseTopicPattern)
  const needsValue = (value: 'clientId' | 'username'): boolean =>
    patterns?.some((pattern) => hasPlaceholder(pattern, value)) ?? false
  const allows = permit === 'allow'
  return {
    order,
    allows,
    appliesToPublish: action !== 'subscribe',
    appliesToSubscribe: action !== 'publish',
    patterns,
    needsClientId: needsValue('clientId'),
    needsUsername: needsValue('username'),
    decision: { allows, because, ...shown },
    decisionWithoutValue: { allows: false, because: 'unusable-placeholder', ...shown },
  }
}

/** One search with the best decision so far. */
export class Search {
  readonly principal: Principal
  readonly action: Action
  /** A topic name; for subscribe, a filter. */
  readonly topic: string
  readonly levels: readonly string[]
  /** Order of the deciding rule so far; Infinity: there is none. */
  order = Infinity
  decision: Decision | undefined = undefined

  constructor(principal: Principal, action: Action, topic: string) {
    this.principal = principal
    this.action = action
    this.topic = topic
    this.levels = topic.split('/')
  }

  /** `rule` matches, or needs a value that this client does not have. */
  recordMatch(rule: CompiledRule): void {
    if (rule.order >= this.order) return
    this.order = rule.order
    this.decision = lacksValue(rule, this.principal) ? rule.decisionWithoutValue : rule.decision
  }
}

/** The rule uses a name of this client that must not be inserted: it denies all topics. */
export function lacksValue(rule: CompiledRule, principal: Principal): boolean {
  return (
    (rule.needsClientId && principal.clientId === undefined) || (rule.needsUsername && principal.username === undefined)
  )
}

/** Returns whether the rule decides. Slow and simple; the index must agree with it. */
export function matchesRule(rule: CompiledRule, search: Search): boolean {
  if (!(search.action === 'publish' ? rule.appliesToPublish : rule.appliesToSubscribe)) return false
  if (rule.patterns === undefined || lacksValue(rule, search.principal)) return true
  return rule.patterns.some((pattern) => matchesPattern(pattern, rule.allows, search))
}

/**
 * In a deny rule, a leading wildcard also matches `$SYS` and other topics with `$`. A literal is compared exactly. An
 * allow rule with a literal filter also allows receiving the topics that match the filter: without it, the subscription
 * would receive nothing.
 */
function matchesPattern(pattern: TopicPattern, allows: boolean, search: Search): boolean {
  const { levels, principal, topic, action } = search
  if (pattern.kind === 'filter') {
    return action === 'subscribe'
      ? coversFilter(pattern, levels, principal, !allows)
      : matchesTopic(pattern, levels, principal, !allows)
  }
  if (pattern.text === topic) return true
  const { asFilter } = pattern
  return action === 'receive' && allows && asFilter !== undefined && matchesTopic(asFilter, levels, principal, false)
}
