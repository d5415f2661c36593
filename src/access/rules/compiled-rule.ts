// A rule ready to be asked, and the question that it is asked.
//
//   Search { publish | subscribe | receive, topic } --> rules, in any order --> the decision of the first in *their* order

import type { AclRule, AclTopic } from '../../config/index.ts'
import type { Principal } from './principal.ts'
import { coversFilter, hasPlaceholder, matchesTopic, patternOf, type TopicPattern } from './topic-patterns.ts'

/** `receive`: at delivery, whichever subscription a message comes by. */
export type Action = 'publish' | 'subscribe' | 'receive'

/** What was decided, and what decided it. One object for each rule: nothing is made when it is found. */
export interface Decision {
  readonly allows: boolean
  readonly because:
    | 'superuser'
    /** It lies in a namespace, and the client elsewhere. */
    | 'namespace'
    | 'token'
    | 'stored-rule'
    | 'configured-rule'
    /** The client is called something that must not stand in the rule. */
    | 'unusable-placeholder'
    /** It is a bridge of this broker, which no rule names. */
    | 'bridge'
    | 'service'
    | 'no-match'
  /** The rule, as it is written; undefined where none decided. */
  readonly rule: string | undefined
  /** Where it is written: `acl.conf:12`; undefined for rules that are in no file. */
  readonly place: string | undefined
}

export interface CompiledRule {
  /** The place among all rules of its source: the lowest that matches decides. */
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
}

export function compileRule(source: RuleSource, order: number): CompiledRule {
  const { permit, action, topics, because, text, place } = source
  const patterns = topics?.map(patternOf)
  const needs = (value: 'clientId' | 'username'): boolean =>
    patterns?.some((pattern) => hasPlaceholder(pattern, value)) ?? false
  const allows = permit === 'allow'
  return {
    order,
    allows,
    appliesToPublish: action !== 'subscribe',
    appliesToSubscribe: action !== 'publish',
    patterns,
    needsClientId: needs('clientId'),
    needsUsername: needs('username'),
    decision: { allows, because, rule: text, place },
    decisionWithoutValue: { allows: false, because: 'unusable-placeholder', rule: text, place },
  }
}

/** One question on its way through the rules, with the best answer so far. */
export class Search {
  readonly principal: Principal
  readonly action: Action
  /** A topic name, or where the action is subscribe a filter. */
  readonly topic: string
  readonly levels: readonly string[]
  /** Of the rule that has decided so far; Infinity: none. */
  order = Infinity
  decision: Decision | undefined = undefined

  constructor(principal: Principal, action: Action, topic: string) {
    this.principal = principal
    this.action = action
    this.topic = topic
    this.levels = topic.split('/')
  }

  /** `rule` matches, or cannot be asked without a value that this client has not got. */
  note(rule: CompiledRule): void {
    if (rule.order >= this.order) return
    this.order = rule.order
    this.decision = lacksValue(rule, this.principal) ? rule.decisionWithoutValue : rule.decision
  }
}

/** The rule stands for something that this client must not be called: it denies, whatever the topic. */
export function lacksValue(rule: CompiledRule, principal: Principal): boolean {
  return (
    (rule.needsClientId && principal.clientId === undefined) || (rule.needsUsername && principal.username === undefined)
  )
}

/** Whether the rule decides. Slow and plain: what the index must agree with. */
export function matchesRule(rule: CompiledRule, search: Search): boolean {
  if (!(search.action === 'publish' ? rule.appliesToPublish : rule.appliesToSubscribe)) return false
  if (rule.patterns === undefined || lacksValue(rule, search.principal)) return true
  return rule.patterns.some((pattern) => matchesPattern(pattern, rule.allows, search))
}

/**
 * A leading wildcard that denies means `$SYS` and its like too: what is shut must not be open by a letter. What is
 * literal is compared as it is. But a filter that somebody may subscribe to literally would be worth nothing if what it
 * matches were held back at delivery.
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
