// Configured rules by the clients that they concern. The lists of a client are selected once; later searches visit only these.
//
//   all clients                                one list
//   user u / client c                          found by the name
//   {'and', [{user, u}, {ipaddr, ...}]}        found by the name, then checked
//   {ipaddr, ...} and others without a name    checked for each client

import type { AclRule, AclSubject } from '../../config/index.ts'
import { compileRule, type CompiledRule } from './compiled-rule.ts'
import { RuleList } from './rule-list.ts'
import { parseClientAddress, matchesSubject, type RuleClient } from './principal.ts'

interface RuleGroup {
  readonly who: AclSubject
  /** If the group is for addresses, all its rules have this value. */
  readonly permit: AclRule['permit']
  readonly rules: CompiledRule[]
  readonly list: RuleList
}

/** A name that a client must have for the rule. */
interface RequiredName {
  readonly by: 'username' | 'clientid'
  readonly name: string
}

export class RuleSet {
  readonly count: number
  readonly #byName = { username: new Map<string, RuleGroup[]>(), clientid: new Map<string, RuleGroup[]>() }
  readonly #unnamed: RuleGroup[] = []

  constructor(rules: readonly AclRule[]) {
    this.count = rules.length
    const groups = new Map<string, RuleGroup>()
    for (const [order, rule] of rules.entries()) {
      const key = `${needsAddress(rule.who) ? rule.permit : ''} ${JSON.stringify(rule.who)}`
      let group = groups.get(key)
      if (group === undefined) {
        const own: CompiledRule[] = []
        group = { who: rule.who, permit: rule.permit, rules: own, list: new RuleList(own) }
        groups.set(key, group)
        this.#addGroup(group)
      }
      const place = rule.line === 0 ? rule.file : `${rule.file}:${rule.line}`
      group.rules.push(compileRule({ ...rule, place, because: 'configured-rule' }, order))
    }
  }

  /** Returns the lists for this client, in no order: their rules have an order. */
  selectLists(client: RuleClient): RuleList[] {
    return selectMatchingLists(client, this.#selectGroups(client))
  }

  /** Returns the lists for this client that name its client ID. */
  selectListsByClientId(client: RuleClient): RuleList[] {
    return selectMatchingLists(client, this.#selectGroupsByClientId(client))
  }

  /**
   * Returns the lists for a client whose address is unknown. Rules that allow at some address apply, and rules that deny at some
   * address do not. `isNamed`: only lists that name its client ID.
   */
  selectListsForOffline(client: Omit<RuleClient, 'peerAddress'>, isNamed: boolean): RuleList[] {
    const candidates = isNamed ? this.#selectGroupsByClientId(client) : this.#selectGroups(client)
    const withoutAddress = { ...client, peerAddress: '' }
    return candidates
      .filter(({ who: subject, permit }) => matchesSubject(subject, withoutAddress, undefined, permit === 'allow'))
      .map(({ list }) => list)
  }

  #selectGroups(client: Omit<RuleClient, 'peerAddress'>): RuleGroup[] {
    const { username, clientid } = this.#byName
    return [
      ...(client.username === undefined ? [] : (username.get(client.username) ?? [])),
      ...(clientid.get(client.clientId) ?? []),
      ...this.#unnamed,
    ]
  }

  #selectGroupsByClientId({ clientId }: Pick<RuleClient, 'clientId'>): RuleGroup[] {
    return this.#byName.clientid.get(clientId) ?? []
  }

  #addGroup(group: RuleGroup): void {
    const names = listRequiredNames(group.who)
    if (names === undefined) {
      this.#unnamed.push(group)
      return
    }
    for (const { by, name } of names) {
      const known = this.#byName[by].get(name)
      if (known === undefined) this.#byName[by].set(name, [group])
      // If the group contains a name twice, the group is already the last entry of that name.
      else if (known.at(-1) !== group) known.push(group)
    }
  }
}

function selectMatchingLists(client: RuleClient, candidates: readonly RuleGroup[]): RuleList[] {
  const address = parseClientAddress(client)
  return candidates.filter(({ who: subject }) => matchesSubject(subject, client, address)).map(({ list }) => list)
}

function needsAddress(subject: AclSubject): boolean {
  return subject.is === 'address' || ('parts' in subject && subject.parts.some(needsAddress))
}

/** Returns the names of which a client must have one; undefined: the rule has no names. */
function listRequiredNames(subject: AclSubject): readonly RequiredName[] | undefined {
  switch (subject.is) {
    case 'username':
      return [{ by: 'username', name: subject.username }]
    case 'clientid':
      return [{ by: 'clientid', name: subject.clientId }]
    case 'all-of':
      return subject.parts.map(listRequiredNames).find((names) => names !== undefined)
    case 'any-of': {
      const each = subject.parts.map(listRequiredNames)
      return each.every((names) => names !== undefined) ? each.flat() : undefined
    }
    case 'anybody':
    case 'address':
      return undefined
    default:
      return subject satisfies never
  }
}
