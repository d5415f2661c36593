// Permissions in a token. They are complete: everything else is denied, whatever other rules say. Two forms are supported:
//
//   {"pub": ["a/${clientid}"], "sub": ["eq a/+"], "all": ["b/#"]}
//   [{"permission": "allow", "action": "publish", "topic": "a/#"}, ...]            action: publish, subscribe, all

import { readAclTopic, readLiteral, type AclTopic } from '../../config/index.ts'
import { compileRule, type CompiledRule, type RuleSource, type Search } from './compiled-rule.ts'
import { RuleList } from './rule-list.ts'

/** Maximum number of rules, because each uses memory while the client is connected. */
const maxTokenRules = 1_000

/** Stored in `Identity.grants`. */
export class TokenGrants {
  readonly #list: RuleList

  constructor(rules: readonly CompiledRule[]) {
    this.#list = new RuleList(rules)
  }

  search(search: Search): void {
    this.#list.search(search)
  }
}

/** Parses the claim. Undefined if its form is unknown, so that the client must be refused. */
export function parseTokenGrants(claim: unknown): TokenGrants | undefined {
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
      const source = toRuleSource('allow', action, topic)
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
    // An unknown restriction must not be ignored, because the rule would allow too much.
    if (Object.keys(rule).some((key) => !['permission', 'topic', 'action'].includes(key))) return undefined
    const source = toRuleSource(permission, action, topic)
    if (source === undefined) return undefined
    sources.push(source)
  }
  return sources
}

function toRuleSource(
  permit: 'allow' | 'deny',
  action: RuleSource['action'],
  written: unknown,
): RuleSource | undefined {
  const topic = typeof written === 'string' ? parseTopic(written) : undefined
  if (topic === undefined) return undefined
  const text = `${permit} ${action} ${JSON.stringify(written)}`
  return { permit, action, topics: [topic], text, place: undefined, because: 'token' }
}

const literalMark = 'eq '

function parseTopic(written: string): AclTopic | undefined {
  const read = written.startsWith(literalMark) ? readLiteral(written.slice(literalMark.length)) : readAclTopic(written)
  return 'problem' in read ? undefined : read
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
