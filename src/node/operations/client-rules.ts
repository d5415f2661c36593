import { parseAddressRange, readAclTopic } from '../../config/index.ts'
import type { AccessRecordKey, BanRecord, RuleRecord } from '../../core/index.ts'
import type {
  Ban,
  ClientRule,
  ClientRuleOperations,
  PageFound,
  RuleQuestion,
  RuleSubject,
} from '../../management/index.ts'
import type { AccessRecords } from '../access-records.ts'
import { gather } from '../record-walk.ts'
import { orNotStored, pageFromTheEnd } from './credentials.ts'

/** Written and told together: more would hold the loop of whoever hears of them. */
const rulesAtOnce = 1_000
/** Bans that have run out and are taken away with the next one that comes. */
const sweptAtOnce = 100

export function clientRuleOperations({
  accessRecords: records,
}: {
  accessRecords: AccessRecords
}): ClientRuleOperations {
  return {
    listRules: (about, question) => listRules(records, about, question),
    storeRules: (rules) => orNotStored(() => storeRules(records, rules)),
    deleteRules: ({ about, who, topic }) => {
      const keys = (['publish', 'subscribe', 'pubsub'] as const).map((action): AccessRecordKey => ({
        kind: 'rule',
        about,
        who,
        topic,
        action,
      }))
      return orNotStored(() => deleteThose(records, keys))
    },
    problemOfTopic: (topic) => {
      const read = readAclTopic(topic)
      return 'problem' in read ? read.problem : undefined
    },
    listBans: async ({ who, as, page: { page, limit } }) => {
      const nowMs = Date.now()
      const found = await gather(
        records.list('ban'),
        (ban) =>
          !hasRunOut(ban, nowMs) && (who === undefined || ban.who === who) && (as === undefined || ban.as === as),
      )
      return { items: pageFromTheEnd(found, page, limit), count: found.length }
    },
    storeBan: (ban) => orNotStored(() => storeBan(records, ban)),
    deleteBan: ({ as, who }) => orNotStored(() => deleteThose(records, [{ kind: 'ban', as, who }])),
    isAddress: (who) => parseAddressRange(who) !== undefined,
  }
}

async function listRules(
  records: AccessRecords,
  about: RuleSubject,
  { who, like, topic, action, permit, page: { page, limit } }: RuleQuestion,
): Promise<PageFound<ClientRule>> {
  const found = await gather(
    records.list(`rule ${about}`),
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

async function storeRules(records: AccessRecords, rules: readonly ClientRule[]): Promise<undefined> {
  for (let start = 0; start < rules.length; start += rulesAtOnce) {
    const slice = rules.slice(start, start + rulesAtOnce)
    await records.decide(() => {
      const put = new Map<string, RuleRecord>()
      for (const rule of slice) {
        const name = JSON.stringify([rule.about, rule.who, rule.action, rule.topic])
        const before = put.get(name) ?? records.find({ kind: 'rule', ...rule })
        put.set(name, { kind: 'rule', ...rule, createdAtMs: before?.createdAtMs ?? records.newMomentMs() })
      }
      return { put: [...put.values()], delete: [] }
    })
  }
  return undefined
}

async function deleteThose(records: AccessRecords, keys: readonly AccessRecordKey[]): Promise<'deleted' | 'missing'> {
  let outcome: 'deleted' | 'missing' = 'missing'
  await records.decide(() => {
    const there = keys.filter((key) => records.find(key) !== undefined)
    if (there.length > 0) outcome = 'deleted'
    // A client that is kept out for flapping is let in by hand as well, and is nowhere in the book.
    const [first] = keys
    return { put: [], delete: there.length === 0 && first?.kind === 'ban' ? [first] : there }
  })
  return outcome
}

/** Those that have run out go with it, a few at a time: nobody asks for them any more. */
async function storeBan(records: AccessRecords, ban: Ban): Promise<undefined> {
  const record: BanRecord = { kind: 'ban', ...ban }
  const nowMs = Date.now()
  await records.decide(() => {
    const over: AccessRecordKey[] = []
    for (const old of records.list('ban')) {
      if (over.length >= sweptAtOnce) break
      if (hasRunOut(old, nowMs)) over.push({ kind: 'ban', as: old.as, who: old.who })
    }
    return { put: [record], delete: over }
  })
  return undefined
}

function hasRunOut({ untilMs }: Pick<Ban, 'untilMs'>, nowMs: number): boolean {
  return untilMs !== undefined && untilMs <= nowMs
}
