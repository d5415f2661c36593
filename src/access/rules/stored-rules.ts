// Stored rules by the clients that they concern. They are checked in three steps: those for the client ID, for the user
// name, for all clients; within a step the oldest first. Rules of the client's namespace come before those without one.

import { readAclTopic } from '../../config/index.ts'
import { namespacedName } from '../../core/index.ts'
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
    const name = namespacedName(record.namespace, record.who)
    const namedRules = rulesByName.get(name) ?? { records: new Map<string, RuleRecord>(), list: undefined }
    rulesByName.set(name, namedRules)
    const before = namedRules.records.size
    namedRules.records.set(keyOf(record), record)
    namedRules.list = undefined
    this.count += namedRules.records.size - before
  }

  delete(key: RuleKey): void {
    const rulesByName = this.#rulesByName[key.about]
    const name = namespacedName(key.namespace, key.who)
    const namedRules = rulesByName.get(name)
    if (namedRules?.records.delete(keyOf(key)) !== true) return
    this.count--
    namedRules.list = undefined
    if (namedRules.records.size === 0) rulesByName.delete(name)
  }

  /** Returns the lists for this client, in order. */
  listsFor(client: RuleClient): RuleList[] {
    const { namespace } = client
    const own = namespace === undefined ? [] : this.#namedRulesOf(client, namespace)
    return [...own, ...this.#namedRulesOf(client, undefined)].map(listOf)
  }

  /** Returns the list of rules that name this client ID, without the rules for user names and for all clients. */
  listsNaming(clientId: string): RuleList[] {
    const namedRules = this.#rulesByName.clientid.get(namespacedName(undefined, clientId))
    return namedRules === undefined ? [] : [listOf(namedRules)]
  }

  #namedRulesOf({ clientId, username }: RuleClient, namespace: string | undefined): NamedRules[] {
    const { clientid, username: usernames, all } = this.#rulesByName
    const candidates = [
      clientid.get(namespacedName(namespace, clientId)),
      username === undefined ? undefined : usernames.get(namespacedName(namespace, username)),
      all.get(namespacedName(namespace, '')),
    ]
    return candidates.filter((namedRules) => namedRules !== undefined)
  }
}

function keyOf({ topic, action }: RuleRecord | RuleKey): string {
  return `${action} ${topic}`
}

function listOf(namedRules: NamedRules): RuleList {
  namedRules.list ??= new RuleList([...namedRules.records.values()].sort(byAge).map(compileRecord))
  return namedRules.list
}

/** Rules with the same time have a defined order too, the same on every shard and after each start. */
function byAge(a: RuleRecord, b: RuleRecord): number {
  return a.createdAtMs - b.createdAtMs || (keyOf(a) < keyOf(b) ? -1 : 1)
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
