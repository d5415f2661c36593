// Stored access rules and bans, and bans of flapping clients.

import { toNamespacedName } from '../../core/index.ts'
import type { PageFound, PageWanted } from '../../management/index.ts'
import type { AccessRecordKey, BanRecord, RuleRecord } from '../../records/index.ts'
import { type AccessRecords, type QueryableShards, queryShard, filterInSlices } from '../../node/index.ts'
import { type NotStored, catchStorageFailure, selectPageFromEnd } from '../credentials/credential-lists.ts'

/** Maximum rules in one change, which would otherwise block the event loops of the receivers. */
const maxRulesPerWrite = 1_000
/** Expired bans that are deleted with the next new one. */
const maxExpiredBansRemoved = 100

export type RuleSubject = 'clientid' | 'username' | 'all'

export interface ClientRule {
  readonly about: RuleSubject
  /** '' if it concerns all clients. */
  readonly who: string
  readonly topic: string
  readonly action: 'publish' | 'subscribe' | 'pubsub'
  readonly permit: 'allow' | 'deny'
}

export interface RuleListQuery {
  readonly who?: string | undefined
  readonly like?: string | undefined
  readonly topic?: string | undefined
  readonly action?: ClientRule['action'] | undefined
  readonly permit?: ClientRule['permit'] | undefined
  readonly page: PageWanted
}

export interface Ban {
  readonly as: 'clientid' | 'username' | 'peerhost'
  readonly who: string
  readonly reason: string
  readonly by: string
  readonly atMs: number
  /** undefined: unlimited. */
  readonly untilMs: number | undefined
}

interface Dependencies {
  readonly accessRecords: AccessRecords
  readonly supervisor: QueryableShards
}

/** Rules and bans of one namespace, or of no namespace. Changes are durable and applied on every shard when the promises resolve. */
export class StoredRules {
  readonly #records: AccessRecords
  readonly #supervisor: QueryableShards
  readonly #namespace: string | undefined
  readonly #list: RuleList

  constructor({ accessRecords: records, supervisor }: Dependencies, namespace?: string) {
    this.#records = records
    this.#supervisor = supervisor
    this.#namespace = namespace
    this.#list = { records, namespace }
  }

  /** In order of evaluation. */
  listRules(about: RuleSubject, query: RuleListQuery): Promise<PageFound<ClientRule>> {
    return listRules(this.#list, about, query)
  }

  /** Appended in their order; undefined: success. */
  storeRules(rules: readonly ClientRule[]): Promise<NotStored | undefined> {
    return catchStorageFailure(() => storeRules(this.#list, rules))
  }

  /** All rules for this topic, for any action. */
  deleteRules(rule: Pick<ClientRule, 'about' | 'who' | 'topic'>): Promise<'deleted' | 'missing' | NotStored> {
    const keys = (['publish', 'subscribe', 'pubsub'] as const).map((action): AccessRecordKey => ({
      kind: 'rule',
      namespace: this.#namespace,
      ...rule,
      action,
    }))
    return catchStorageFailure(() => deleteMatching(this.#records, keys))
  }

  /** Active bans, newest first. */
  async listBans({ who, as, page: { page, limit } }: BanQuery): Promise<PageFound<Ban>> {
    const nowMs = Date.now()
    const isMatch = (ban: BanRecord): boolean =>
      !hasExpired(ban, nowMs) && (who === undefined || ban.who === who) && (as === undefined || ban.as === as)
    const stored = await filterInSlices(this.#records.list('ban', this.#namespace), isMatch)
    const found = [...stored, ...(await this.#listFlapping()).filter(isMatch)]
    return { items: selectPageFromEnd(found, page, limit), count: found.length }
  }

  storeBan(ban: Ban): Promise<NotStored | undefined> {
    return catchStorageFailure(() => storeBan(this.#list, ban))
  }

  deleteBan({ as, who }: Pick<Ban, 'as' | 'who'>): Promise<'deleted' | 'missing' | NotStored> {
    return catchStorageFailure(async () => {
      const isFlapping = as === 'clientid' && (await this.#listFlapping()).some((ban) => ban.who === who)
      const outcome = await deleteMatching(this.#records, [{ kind: 'ban', namespace: this.#namespace, as, who }])
      return isFlapping ? 'deleted' : outcome
    })
  }

  #listFlapping(): Promise<readonly BanRecord[]> {
    return queryFlapping(this.#supervisor, this.#namespace)
  }
}

interface BanQuery {
  readonly who?: string
  readonly as?: Ban['as']
  readonly page: PageWanted
}

/** Each shard bans its flapping clients. A shard that does not respond has none. */
async function queryFlapping(
  supervisor: QueryableShards,
  namespace: string | undefined,
): Promise<readonly BanRecord[]> {
  const shards = Array.from({ length: supervisor.size }, (_, shard) => shard)
  const responses = await Promise.all(
    shards.map((shard) => queryShard(supervisor, shard, { kind: 'flapping', namespace })),
  )
  return responses
    .flatMap((response) => ('unavailableShard' in response ? [] : response))
    .toSorted((one, other) => one.atMs - other.atMs)
}

interface RuleList {
  readonly records: AccessRecords
  readonly namespace: string | undefined
}

/** Fields of each record. */
function toNamespaceFields({ namespace }: RuleList): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace }
}

async function listRules(
  { records, namespace }: RuleList,
  about: RuleSubject,
  { who, like, topic, action, permit, page: { page, limit } }: RuleListQuery,
): Promise<PageFound<ClientRule>> {
  const found = await filterInSlices(
    records.list(`rule ${about}`, namespace),
    (rule) =>
      (who === undefined || rule.who === who) &&
      (like === undefined || rule.who.includes(like)) &&
      (topic === undefined || rule.topic === topic) &&
      (action === undefined || rule.action === action) &&
      (permit === undefined || rule.permit === permit),
  )
  const start = (page - 1) * limit
  return { items: found.slice(start, start + limit), count: found.length }
}

/** Maximum length of the name of a rule. */
const maxKeyBytes = 65_535

async function storeRules(book: RuleList, rules: readonly ClientRule[]): Promise<NotStored | undefined> {
  const { records, namespace } = book
  const tooLong = rules.some(({ who }) => Buffer.byteLength(toNamespacedName(namespace, who)) > maxKeyBytes)
  if (tooLong) return { notStored: 'a client id or user name is too long with the namespace in front of it' }
  const place = toNamespaceFields(book)
  for (let start = 0; start < rules.length; start += maxRulesPerWrite) {
    const slice = rules.slice(start, start + maxRulesPerWrite)
    await records.decide(() => {
      const put = new Map<string, RuleRecord>()
      for (const rule of slice) {
        const name = JSON.stringify([rule.about, rule.who, rule.action, rule.topic])
        const before = put.get(name) ?? records.find({ kind: 'rule', ...place, ...rule })
        put.set(name, { kind: 'rule', ...place, ...rule, createdAtMs: before?.createdAtMs ?? records.createMomentMs() })
      }
      return { put: [...put.values()], delete: [] }
    })
  }
  return undefined
}

async function deleteMatching(
  records: AccessRecords,
  keys: readonly AccessRecordKey[],
): Promise<'deleted' | 'missing'> {
  let outcome: 'deleted' | 'missing' = 'missing'
  await records.decide(() => {
    const there = keys.filter((key) => records.find(key) !== undefined)
    if (there.length > 0) outcome = 'deleted'
    // Deleting a ban for flapping, which is not in the records.
    const [first] = keys
    return { put: [], delete: there.length === 0 && first?.kind === 'ban' ? [first] : there }
  })
  return outcome
}

/** Deletes some expired bans as well, which have no effect any more. */
async function storeBan(book: RuleList, ban: Ban): Promise<undefined> {
  const { records, namespace } = book
  const record: BanRecord = { kind: 'ban', ...toNamespaceFields(book), ...ban }
  const nowMs = Date.now()
  await records.decide(() => {
    const over: AccessRecordKey[] = []
    for (const old of records.list('ban', namespace)) {
      if (over.length >= maxExpiredBansRemoved) break
      if (hasExpired(old, nowMs)) over.push({ kind: 'ban', namespace, as: old.as, who: old.who })
    }
    return { put: [record], delete: over }
  })
  return undefined
}

function hasExpired({ untilMs }: Pick<Ban, 'untilMs'>, nowMs: number): boolean {
  return untilMs !== undefined && untilMs <= nowMs
}
