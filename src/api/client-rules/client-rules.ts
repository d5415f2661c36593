// Access rules (`/acl`) and bans (`/banned`).

import type { clientRuleEndpoints } from './endpoints.ts'
import { parseAddressRange, readAclTopic } from '../../config/index.ts'
import type { ReplyOf, ResultCodeName } from '../../contract/index.ts'
import {
  type Handlers,
  toPageMeta,
  type PagingQuery,
  parsePageWanted,
  type ApiError,
  refuse,
  quoteShortened,
} from '../../management/index.ts'
import type { NotStored } from '../credentials/credential-lists.ts'
import { toNotStoredError } from '../credentials/credentials.ts'
import type { Ban, ClientRule, RuleListQuery, StoredRules } from './stored-rules.ts'

export interface RuleFault {
  readonly code: ResultCodeName
  readonly message: string
  readonly word: 'login' | 'topic' | 'action' | 'access' | 'badarg'
}

/** Maximum bytes of a UTF-8 string in MQTT. */
const maxTextBytes = 65_535

const actions: Readonly<Record<string, ClientRule['action']>> = {
  pub: 'publish',
  sub: 'subscribe',
  pubsub: 'pubsub',
  publish: 'publish',
  subscribe: 'subscribe',
}

/**
 * Keys of a rule, and the keys `all` and `result` of replies. Other keys are refused: with `client_id` instead of `clientid` the rule
 * would apply to all clients, and without an ignored condition it would apply to more requests. `null` has no effect.
 */
const knownKeys: ReadonlySet<string> = new Set(['clientid', 'username', 'all', 'topic', 'action', 'access', 'result'])

export const actionNames = { publish: 'pub', subscribe: 'sub', pubsub: 'pubsub' } as const

/** Returns the rule, or its first error. */
function readRule(item: unknown): ClientRule | RuleFault {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return { code: 'notJson', message: 'the body is no JSON object', word: 'badarg' }
  }
  const unknown = Object.entries(item).find(([key, value]) => value !== null && !knownKeys.has(key))
  if (unknown !== undefined) {
    const words = 'in the body is unknown here: without it the rule could allow more'
    return {
      ...createInvalidFault(`${quoteShortened(unknown[0])} ${words}; use ${[...knownKeys].join(', ')}`),
      word: 'badarg',
    }
  }
  const { clientid, username, topic, action, access } = item as Readonly<Record<string, unknown>>
  const subject = readSubject(clientid, username)
  if ('code' in subject) return subject
  if (topic === undefined) return createMissingFault('topic')
  if (typeof topic !== 'string') return { ...createInvalidFault('topic must be text'), word: 'topic' }
  const problem = isText(topic) ? findTopicProblem(topic) : 'the topic is too long or not valid text'
  if (problem !== undefined) return { code: 'invalidTopic', message: problem, word: 'topic' }
  if (action === undefined) return createMissingFault('action')
  const act = typeof action === 'string' && Object.hasOwn(actions, action) ? actions[action] : undefined
  if (act === undefined) return { ...createInvalidFault('action is pub, sub or pubsub'), word: 'action' }
  if (access === undefined) return createMissingFault('access')
  if (access !== 'allow' && access !== 'deny')
    return { ...createInvalidFault('access is allow or deny'), word: 'access' }
  return { ...subject, topic, action: act, permit: access }
}

/** Returns why a topic is invalid for a rule. */
function findTopicProblem(topic: string): string | undefined {
  const read = readAclTopic(topic)
  return 'problem' in read ? read.problem : undefined
}

/** Returns whether this is an address or a range. */
function isAddress(subject: string): boolean {
  return parseAddressRange(subject) !== undefined
}

function readSubject(clientId: unknown, username: unknown): Pick<ClientRule, 'about' | 'who'> | RuleFault {
  if (clientId === undefined && username === undefined) return { about: 'all', who: '' }
  if (clientId !== undefined && username !== undefined) {
    return { ...createInvalidFault('a rule has clientid or username, not both: remove one'), word: 'login' }
  }
  const [about, who] = clientId === undefined ? (['username', username] as const) : (['clientid', clientId] as const)
  if (typeof who === 'string' && who !== '' && isText(who)) return { about, who }
  return { ...createInvalidFault(`${about} must be text that is not empty`), word: 'login' }
}

const createMissingFault = (word: 'topic' | 'action' | 'access'): RuleFault => ({
  code: 'missingParameter',
  message: `${word} is missing in the body`,
  word,
})

const createInvalidFault = (message: string): Pick<RuleFault, 'code' | 'message'> => ({
  code: 'invalidParameter',
  message,
})

function isText(text: string): boolean {
  return Buffer.byteLength(text) <= maxTextBytes && text.isWellFormed() && !text.includes('\0')
}

type RuleResult = Extract<ReplyOf<typeof clientRuleEndpoints.create_acl>['data'], readonly unknown[]>[number]
type ShownBan = ReplyOf<typeof clientRuleEndpoints.create_banned>['data']

const msPerSecond = 1_000
/** Default duration of a ban. */
const defaultBanMs = 300_000

export function createClientRuleHandlers(rules: StoredRules): Handlers<typeof clientRuleEndpoints> {
  return {
    list_acl_clientid: async ({ query }) => {
      const ruleQuery = toListQuery(query, { who: query.clientid, like: query['_like_clientid'] })
      const found = await rules.listRules('clientid', ruleQuery)
      return { code: 0, data: found.items.map(toClientIdResponse), meta: toPageMeta(ruleQuery.page, found) }
    },
    lookup_acl_clientid: async ({ params: { clientid: clientId } }) => {
      const { items } = await rules.listRules('clientid', { who: clientId, page: allRows })
      return { code: 0, data: items.map(toClientIdResponse) }
    },
    delete_acl_clientid: ({ params }) => deleteRules(rules, 'clientid', params),
    list_acl_username: async ({ query }) => {
      const ruleQuery = toListQuery(query, { who: query.username, like: query['_like_username'] })
      const found = await rules.listRules('username', ruleQuery)
      return { code: 0, data: found.items.map(toUsernameResponse), meta: toPageMeta(ruleQuery.page, found) }
    },
    lookup_acl_username: async ({ params: { username } }) => {
      const { items } = await rules.listRules('username', { who: username, page: allRows })
      return { code: 0, data: items.map(toUsernameResponse) }
    },
    delete_acl_username: ({ params }) => deleteRules(rules, 'username', params),
    list_acl_all: async ({ query }) => {
      const ruleQuery = toListQuery(query)
      const found = await rules.listRules('all', ruleQuery)
      return { code: 0, data: found.items.map(toGeneralResponse), meta: toPageMeta(ruleQuery.page, found) }
    },
    delete_acl_all: ({ params }) => deleteRules(rules, 'all', params),
    create_acl: ({ body }) => (Array.isArray(body) ? createEach(rules, body) : createOne(rules, body)),
    list_banned: async ({ query }) => {
      const page = parsePageWanted(query)
      const found = await rules.listBans({ ...query, page })
      return { code: 0, data: found.items.map(toBanResponse), meta: toPageMeta(page, found) }
    },
    create_banned: async ({ body }) => {
      if (body.as === 'peerhost' && !isAddress(body.who)) {
        return refuse('invalidParameter', 'who must be an address or a range of addresses if as is peerhost')
      }
      // [MQTT-1.5.3-1, -2] A client could never send such a text.
      if (body.who.includes('\0') || !body.who.isWellFormed()) {
        return refuse('invalidParameter', 'who contains U+0000 or an unpaired surrogate')
      }
      const ban = createBan(body)
      const outcome = await rules.storeBan(ban)
      return outcome === undefined ? { code: 0, data: toBanResponse(ban) } : toNotStoredError(outcome)
    },
    delete_banned: async ({ params: { as, who } }) => {
      if (as !== 'clientid' && as !== 'username' && as !== 'peerhost') {
        return refuse('invalidParameter', 'as must be clientid, username or peerhost')
      }
      return toDeletionResponse(await rules.deleteBan({ as, who }), 'there is no ban with this value')
    },
  }
}

/** All rows on one page. */
const allRows = { page: 1, limit: Number.MAX_SAFE_INTEGER }

interface RuleQuery extends PagingQuery {
  readonly topic?: string
  readonly action?: 'pub' | 'sub' | 'pubsub'
  readonly access?: 'allow' | 'deny'
}

const actionsByQueryValue = { pub: 'publish', sub: 'subscribe', pubsub: 'pubsub' } as const

function toListQuery(query: RuleQuery, name: Pick<RuleListQuery, 'who' | 'like'> = {}): RuleListQuery {
  const { topic, action, access } = query
  const actionOfRule = action === undefined ? undefined : actionsByQueryValue[action]
  return { ...name, topic, action: actionOfRule, permit: access, page: parsePageWanted(query) }
}

async function deleteRules(
  rules: StoredRules,
  about: ClientRule['about'],
  params: Readonly<Record<string, unknown>>,
): Promise<{ code: 0 } | ApiError> {
  const who = about === 'all' ? '' : String(params[about])
  const outcome = await rules.deleteRules({ about, who, topic: String(params.topic) })
  return toDeletionResponse(outcome, 'there is no rule for this topic')
}

/** Returns the response to a deletion. `message`: the error if there was nothing to delete. */
function toDeletionResponse(outcome: 'deleted' | 'missing' | NotStored, message: string): { code: 0 } | ApiError {
  if (outcome === 'missing') return refuse('invalidParameter', message, 404)
  return outcome === 'deleted' ? { code: 0 } : toNotStoredError(outcome)
}

async function createOne(rules: StoredRules, item: unknown): Promise<{ code: 0; data: RuleResult } | ApiError> {
  const rule = readRule(item)
  if ('code' in rule) return refuse(rule.code, rule.message)
  const outcome = await rules.storeRules([rule])
  return outcome === undefined ? { code: 0, data: { ...toResponse(rule), result: 'ok' } } : toNotStoredError(outcome)
}

async function createEach(
  rules: StoredRules,
  items: readonly unknown[],
): Promise<{ code: 0; data: RuleResult[] } | ApiError> {
  const read = items.map((item) => readRule(item))
  const outcome = await rules.storeRules(read.filter((rule): rule is ClientRule => !('code' in rule)))
  if (outcome !== undefined) return toNotStoredError(outcome)
  return { code: 0, data: read.map((rule, index) => toRuleResult(rule, items[index])) }
}

/** Returns the result for one entry of the list. The result of an invalid entry repeats those of its members that are text. */
function toRuleResult(rule: ClientRule | RuleFault, item: unknown): RuleResult {
  if (!('code' in rule)) return { ...toResponse(rule), result: 'ok' }
  const members = typeof item === 'object' && item !== null ? (item as Readonly<Record<string, unknown>>) : {}
  const texts: RuleResult = { result: `{error,${rule.word}}` }
  for (const key of ['clientid', 'username', 'topic', 'action', 'access'] as const) {
    const text = members[key]
    if (typeof text === 'string') texts[key] = text
  }
  return texts
}

function toResponse(rule: ClientRule): Omit<RuleResult, 'result'> {
  if (rule.about === 'clientid') return toClientIdResponse(rule)
  return rule.about === 'username' ? toUsernameResponse(rule) : toGeneralResponse(rule)
}

type ShownRule = { topic: string; action: 'pub' | 'sub' | 'pubsub'; access: 'allow' | 'deny' }

/** Returns topic, action and access with the values of the API. */
function toRuleResponse({ topic, action, permit }: ClientRule): ShownRule {
  return { topic, action: actionNames[action], access: permit }
}

function toClientIdResponse(rule: ClientRule): { clientid: string } & ShownRule {
  return { clientid: rule.who, ...toRuleResponse(rule) }
}

function toUsernameResponse(rule: ClientRule): { username: string } & ShownRule {
  return { username: rule.who, ...toRuleResponse(rule) }
}

function toGeneralResponse(rule: ClientRule): { all: '$all' } & ShownRule {
  return { all: '$all', ...toRuleResponse(rule) }
}

interface BanInput {
  readonly who: string
  readonly as: Ban['as']
  readonly reason?: string
  readonly by?: string
  readonly at?: number
  readonly until?: number | null
}

function createBan({ who, as, reason = '', by = 'user', at, until }: BanInput): Ban {
  const nowMs = Date.now()
  const untilMs = until === null ? undefined : until === undefined ? nowMs + defaultBanMs : until * msPerSecond
  return { who, as, reason, by, atMs: at === undefined ? nowMs : at * msPerSecond, untilMs }
}

function toBanResponse({ who, as, reason, by, atMs, untilMs }: Ban): ShownBan {
  const until = untilMs === undefined ? null : Math.floor(untilMs / msPerSecond)
  return { who, as, reason, by, at: Math.floor(atMs / msPerSecond), until }
}
