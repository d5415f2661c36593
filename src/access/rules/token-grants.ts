// What a token says its bearer may do. It says all of it: what is not among it is denied, whatever the other rules say.
// Two forms are read:
//
//   {"pub": ["a/${clientid}"], "sub": ["eq a/+"], "all": ["b/#"]}
//   [{"permission": "allow", "action": "publish", "topic": "a/#"}, ...]            action: publish, subscribe, all

import { readAclTopic, readLiteral, type AclTopic } from '../../config/index.ts'
import { compileRule, type CompiledRule, type RuleSource, type Search } from './compiled-rule.ts'
import { RuleList } from './rule-list.ts'

/** More than these nobody writes into a token, and each costs memory as long as the client is there. */
const maxTokenRules = 1_000

/** Stands in `Identity.grants`. */
export class TokenGrants {
  readonly #list: RuleList

  constructor(rules: readonly CompiledRule[]) {
    this.#list = new RuleList(rules)
  }

  search(search: Search): void {
    this.#list.search(search)
  }
}

/** Reads the claim. Undefined: it is not of a form that we know, and its bearer must not be let in by it. */
export function tokenGrants(claim: unknown): TokenGrants | undefined {
  const sources = Array.isArray(claim) ? readRules(claim) : readLists(claim)
  if (sources === undefined || sources.length > maxTokenRules) return undefined
  return new TokenGrants(sources.map(compileRule))
}

const actions = { pub: 'publish', sub: 'subscribe', all: 'pubsub' } as const
const actionNames = new Map<unknown, RuleSource['action']>([
  ['publish', 'publish'],
  ['subscribe', 'subscribe'],
  ['pubsub', 'pubsub'],
  ['all', 'pubsub'],
  [undefined, 'pubsub'],
])

function readLists(claim: unknown): RuleSource[] | undefined {
  if (!isObject(claim)) return undefined
  const sources: RuleSource[] = []
  for (const [name, topics] of Object.entries(claim)) {
    const action = name === 'pub' || name === 'sub' || name === 'all' ? actions[name] : undefined
    if (action === undefined || !Array.isArray(topics)) return undefined
    for (const topic of topics as readonly unknown[]) {
      const source = sourceOf('allow', action, topic)
      if (source === undefined) return undefined
      sources.push(source)
    }
  }
  return sources
}

function readRules(claim: readonly unknown[]): RuleSource[] | undefined {
  const sources: RuleSource[] = []
  for (const rule of claim) {
    if (!isObject(rule)) return undefined
    const { permission, topic } = rule
    const action = actionNames.get(rule.action)
    if ((permission !== 'allow' && permission !== 'deny') || action === undefined) return undefined
    // What narrows a rule further must not be passed over: an allowance would be wider than it was meant.
    if (Object.keys(rule).some((key) => !['permission', 'topic', 'action'].includes(key))) return undefined
    const source = sourceOf(permission, action, topic)
    if (source === undefined) return undefined
    sources.push(source)
  }
  return sources
}

function sourceOf(permit: 'allow' | 'deny', action: RuleSource['action'], written: unknown): RuleSource | undefined {
  const topic = typeof written === 'string' ? topicOf(written) : undefined
  if (topic === undefined) return undefined
  const text = `${permit} ${action} ${JSON.stringify(written)}`
  return { permit, action, topics: [topic], text, place: undefined, because: 'token' }
}

const literalMark = 'eq '

function topicOf(written: string): AclTopic | undefined {
  const read = written.startsWith(literalMark) ? readLiteral(written.slice(literalMark.length)) : readAclTopic(written)
  return 'problem' in read ? undefined : read
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
