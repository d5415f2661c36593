// Handlers of the endpoints for access rules (`/acl`) and bans (`/banned`).

import type { clientRuleEndpoints, ReplyOf } from '../../../contract/index.ts'
import type { Handlers } from '../../http/handler.ts'
import { metaOf, type PagingQuery, pageWanted } from '../../lists/numbered-pages.ts'
import type { Ban, ClientRule, ClientRuleOperations, RuleListQuery } from '../../operations/client-rules.ts'
import type { NotStored } from '../../operations/credentials.ts'
import { type ApiError, refuse } from '../../http/api-error.ts'
import { notStoredError } from './credentials.ts'
import { actionNames, readRule, type RuleFault } from './read-rule.ts'

type RuleResult = Extract<ReplyOf<typeof clientRuleEndpoints.create_acl>['data'], readonly unknown[]>[number]
type ShownBan = ReplyOf<typeof clientRuleEndpoints.create_banned>['data']

const msPerSecond = 1_000
/** Default duration of a ban. */
const defaultBanMs = 300_000

export function clientRuleHandlers(rules: ClientRuleOperations): Handlers<typeof clientRuleEndpoints> {
  return {
    list_acl_clientid: async ({ query }) => {
      const ruleQuery = listQueryOf(query, { who: query.clientid, like: query['_like_clientid'] })
      const found = await rules.listRules('clientid', ruleQuery)
      return { code: 0, data: found.items.map(showByClientId), meta: metaOf(ruleQuery.page, found) }
    },
    lookup_acl_clientid: async ({ params: { clientid: who } }) => {
      const { items } = await rules.listRules('clientid', { who, page: allRows })
      return { code: 0, data: items.map(showByClientId) }
    },
    delete_acl_clientid: ({ params }) => deleteRules(rules, 'clientid', params),
    list_acl_username: async ({ query }) => {
      const ruleQuery = listQueryOf(query, { who: query.username, like: query['_like_username'] })
      const found = await rules.listRules('username', ruleQuery)
      return { code: 0, data: found.items.map(showByUsername), meta: metaOf(ruleQuery.page, found) }
    },
    lookup_acl_username: async ({ params: { username: who } }) => {
      const { items } = await rules.listRules('username', { who, page: allRows })
      return { code: 0, data: items.map(showByUsername) }
    },
    delete_acl_username: ({ params }) => deleteRules(rules, 'username', params),
    list_acl_all: async ({ query }) => {
      const ruleQuery = listQueryOf(query)
      const found = await rules.listRules('all', ruleQuery)
      return { code: 0, data: found.items.map(showForAll), meta: metaOf(ruleQuery.page, found) }
    },
    delete_acl_all: ({ params }) => deleteRules(rules, 'all', params),
    create_acl: ({ body }) => (Array.isArray(body) ? createEach(rules, body) : createOne(rules, body)),
    list_banned: async ({ query }) => {
      const page = pageWanted(query)
      const found = await rules.listBans({ ...query, page })
      return { code: 0, data: found.items.map(showBan), meta: metaOf(page, found) }
    },
    create_banned: async ({ body }) => {
      if (body.as === 'peerhost' && !rules.isAddress(body.who)) {
        return refuse('invalidParameter', 'who must be an address or a range of addresses if as is peerhost')
      }
      // [MQTT-1.5.3-1, -2] A client could never send such a text.
      if (body.who.includes('\0') || !body.who.isWellFormed()) {
        return refuse('invalidParameter', 'who contains U+0000 or an unpaired surrogate')
      }
      const ban = newBan(body)
      const outcome = await rules.storeBan(ban)
      return outcome === undefined ? { code: 0, data: showBan(ban) } : notStoredError(outcome)
    },
    delete_banned: async ({ params: { as, who } }) => {
      if (as !== 'clientid' && as !== 'username' && as !== 'peerhost') {
        return refuse('invalidParameter', 'as must be clientid, username or peerhost')
      }
      return deletionReply(await rules.deleteBan({ as, who }), 'there is no ban with this value')
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

function listQueryOf(query: RuleQuery, name: Pick<RuleListQuery, 'who' | 'like'> = {}): RuleListQuery {
  const { topic, action, access } = query
  const actionOfRule = action === undefined ? undefined : actionsByQueryValue[action]
  return { ...name, topic, action: actionOfRule, permit: access, page: pageWanted(query) }
}

async function deleteRules(
  rules: ClientRuleOperations,
  about: ClientRule['about'],
  params: Readonly<Record<string, unknown>>,
): Promise<{ code: 0 } | ApiError> {
  const who = about === 'all' ? '' : String(params[about])
  const outcome = await rules.deleteRules({ about, who, topic: String(params.topic) })
  return deletionReply(outcome, 'there is no rule for this topic')
}

/** Returns the response to a deletion. `message`: the error if there was nothing to delete. */
function deletionReply(outcome: 'deleted' | 'missing' | NotStored, message: string): { code: 0 } | ApiError {
  if (outcome === 'missing') return refuse('invalidParameter', message, 404)
  return outcome === 'deleted' ? { code: 0 } : notStoredError(outcome)
}

async function createOne(
  rules: ClientRuleOperations,
  item: unknown,
): Promise<{ code: 0; data: RuleResult } | ApiError> {
  const rule = readRule(item, (topic) => rules.problemOfTopic(topic))
  if ('code' in rule) return refuse(rule.code, rule.message)
  const outcome = await rules.storeRules([rule])
  return outcome === undefined ? { code: 0, data: { ...show(rule), result: 'ok' } } : notStoredError(outcome)
}

async function createEach(
  rules: ClientRuleOperations,
  items: readonly unknown[],
): Promise<{ code: 0; data: RuleResult[] } | ApiError> {
  const read = items.map((item) => readRule(item, (topic) => rules.problemOfTopic(topic)))
  const outcome = await rules.storeRules(read.filter((rule): rule is ClientRule => !('code' in rule)))
  if (outcome !== undefined) return notStoredError(outcome)
  return { code: 0, data: read.map((rule, index) => ruleResult(rule, items[index])) }
}

/** Returns the result for one entry of the list. The result of an invalid entry repeats those of its members that are text. */
function ruleResult(rule: ClientRule | RuleFault, item: unknown): RuleResult {
  if (!('code' in rule)) return { ...show(rule), result: 'ok' }
  const members = typeof item === 'object' && item !== null ? (item as Readonly<Record<string, unknown>>) : {}
  const texts: RuleResult = { result: `{error,${rule.word}}` }
  for (const key of ['clientid', 'username', 'topic', 'action', 'access'] as const) {
    const text = members[key]
    if (typeof text === 'string') texts[key] = text
  }
  return texts
}

function show(rule: ClientRule): Omit<RuleResult, 'result'> {
  if (rule.about === 'clientid') return showByClientId(rule)
  return rule.about === 'username' ? showByUsername(rule) : showForAll(rule)
}

type ShownRule = { topic: string; action: 'pub' | 'sub' | 'pubsub'; access: 'allow' | 'deny' }

/** Returns topic, action and access with the values of the API. */
function showRule({ topic, action, permit }: ClientRule): ShownRule {
  return { topic, action: actionNames[action], access: permit }
}

function showByClientId(rule: ClientRule): { clientid: string } & ShownRule {
  return { clientid: rule.who, ...showRule(rule) }
}

function showByUsername(rule: ClientRule): { username: string } & ShownRule {
  return { username: rule.who, ...showRule(rule) }
}

function showForAll(rule: ClientRule): { all: '$all' } & ShownRule {
  return { all: '$all', ...showRule(rule) }
}

interface BanInput {
  readonly who: string
  readonly as: Ban['as']
  readonly reason?: string
  readonly by?: string
  readonly at?: number
  readonly until?: number | null
}

function newBan({ who, as, reason = '', by = 'user', at, until }: BanInput): Ban {
  const nowMs = Date.now()
  const untilMs = until === null ? undefined : until === undefined ? nowMs + defaultBanMs : until * msPerSecond
  return { who, as, reason, by, atMs: at === undefined ? nowMs : at * msPerSecond, untilMs }
}

function showBan({ who, as, reason, by, atMs, untilMs }: Ban): ShownBan {
  const until = untilMs === undefined ? null : Math.floor(untilMs / msPerSecond)
  return { who, as, reason, by, at: Math.floor(atMs / msPerSecond), until }
}
