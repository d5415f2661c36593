// Stored rules by the clients that they concern. They are checked in three steps: those for the client ID, for the user
// name, for all clients; within a step the oldest first. Rules of the client's namespace come before those without one.

import { readAclTopic } from '../../config/index.ts'
import { toNamespacedName } from '../../core/index.ts'
import type { AccessRecordKey, RuleRecord } from '../../records/index.ts'
import { compileRule, type CompiledRule } from './compiled-rule.ts'
import { RuleList } from './rule-list.ts'
import type { RuleClient } from './principal.ts'

type RuleKey = Extract<AccessRecordKey, { kind: 'rule' }>

/** Rules for one name. */
interface NamedRules {
  readonly records: Map<string, RuleRecord>
  /** Created when needed; undefined after a change. */
  list: RuleList | undefined
}

export class StoredRules {
  count = 0
  /** By namespaced name. */
  readonly #rulesByName = {
    clientid: new Map<string, NamedRules>(),
    username: new Map<string, NamedRules>(),
    all: new Map<string, NamedRules>(),
  }

  put(record: RuleRecord): void {
    const rulesByName = this.#rulesByName[record.about]
    const name = toNamespacedName(record.namespace, record.who)
    const namedRules = rulesByName.get(name) ?? { records: new Map<string, RuleRecord>(), list: undefined }
    rulesByName.set(name, namedRules)
    const before = namedRules.records.size
    namedRules.records.set(toRuleKey(record), record)
    namedRules.list = undefined
    this.count += namedRules.records.size - before
  }

  delete(key: RuleKey): void {
    const rulesByName = this.#rulesByName[key.about]
    const name = toNamespacedName(key.namespace, key.who)
    const namedRules = rulesByName.get(name)
    if (namedRules?.records.delete(toRuleKey(key)) !== true) return
    this.count--
    namedRules.list = undefined
    if (namedRules.records.size === 0) rulesByName.delete(name)
  }

  /** Returns the lists for this client, in order. */
  selectLists(client: RuleClient): RuleList[] {
    const { namespace } = client
    const own = namespace === undefined ? [] : this.#findNamedRules(client, namespace)
    return [...own, ...this.#findNamedRules(client, undefined)].map(ensureList)
  }

  /** Returns the list of rules that name this client ID, without the rules for user names and for all clients. */
  selectListsByClientId(clientId: string): RuleList[] {
    const namedRules = this.#rulesByName.clientid.get(toNamespacedName(undefined, clientId))
    return namedRules === undefined ? [] : [ensureList(namedRules)]
  }

  #findNamedRules({ clientId, username }: RuleClient, namespace: string | undefined): NamedRules[] {
    const { clientid, username: usernames, all } = this.#rulesByName
    const candidates = [
      clientid.get(toNamespacedName(namespace, clientId)),
      username === undefined ? undefined : usernames.get(toNamespacedName(namespace, username)),
      all.get(toNamespacedName(namespace, '')),
    ]
    return candidates.filter((namedRules) => namedRules !== undefined)
  }
}

function toRuleKey({ topic, action }: RuleRecord | RuleKey): string {
  return `${action} ${topic}`
}

function ensureList(namedRules: NamedRules): RuleList {
  namedRules.list ??= new RuleList([...namedRules.records.values()].sort(compareByAge).map(compileRecord))
  return namedRules.list
}

/** Rules with the same time have a defined order too, the same on every shard and after each start. */
function compareByAge(a: RuleRecord, b: RuleRecord): number {
  return a.createdAtMs - b.createdAtMs || (toRuleKey(a) < toRuleKey(b) ? -1 : 1)
}

function compileRecord(record: RuleRecord, order: number): CompiledRule {
  const { namespace, permit, action, topic, about, who } = record
  const read = readAclTopic(topic)
  const whom = about === 'all' ? 'all' : `${about} ${JSON.stringify(who)}`
  const text = `${permit} ${whom} ${action} ${JSON.stringify(topic)}`
  // Invalid filters are refused when they are stored; one that exists anyway is taken literally.
  const topics = ['problem' in read ? { kind: 'literal' as const, text: topic } : read]
  return compileRule({ permit, action, topics, text, place: undefined, because: 'stored-rule', namespace }, order)
}
