// The rules of the configuration, by whom they are about. A client is asked for the lists that are about it once; after
// that a question goes through these lists only.
//
//   everybody                                  one list
//   user u / client c                          found by the name
//   {'and', [{user, u}, {ipaddr, ...}]}        found by the name, then looked at
//   {ipaddr, ...} and what has no name in it   looked at for each client

import type { AclRule, AclWhom } from '../../config/index.ts'
import { compileRule, type CompiledRule } from './compiled-rule.ts'
import { RuleList } from './rule-list.ts'
import { addressOf, isAbout, type Caller } from './principal.ts'

interface Group {
  readonly who: AclWhom
  /** Of all its rules, where it is asked for addresses. */
  readonly permit: AclRule['permit']
  readonly rules: CompiledRule[]
  readonly list: RuleList
}

/** A name without which a rule is not about a client. */
interface Anchor {
  readonly by: 'username' | 'clientid'
  readonly name: string
}

export class RuleBook {
  readonly count: number
  readonly #byName = { username: new Map<string, Group[]>(), clientid: new Map<string, Group[]>() }
  readonly #others: Group[] = []

  constructor(rules: readonly AclRule[]) {
    this.count = rules.length
    const groups = new Map<string, Group>()
    for (const [order, rule] of rules.entries()) {
      const key = `${asksForAddress(rule.who) ? rule.permit : ''} ${JSON.stringify(rule.who)}`
      let group = groups.get(key)
      if (group === undefined) {
        const own: CompiledRule[] = []
        group = { who: rule.who, permit: rule.permit, rules: own, list: new RuleList(own) }
        groups.set(key, group)
        this.#file(group)
      }
      const place = rule.line === 0 ? rule.file : `${rule.file}:${rule.line}`
      group.rules.push(compileRule({ ...rule, place, because: 'configured-rule' }, order))
    }
  }

  /** The lists that are about this client, in no order: the rules in them know theirs. */
  listsFor(caller: Caller): RuleList[] {
    return listsAbout(caller, this.#candidatesFor(caller))
  }

  /** Those of them in which its client id is named. */
  listsNaming(caller: Caller): RuleList[] {
    return listsAbout(caller, this.#candidatesNaming(caller))
  }

  /**
   * The same for a client that was here at some time, and nobody knows any more from where: what is allowed at some address
   * may have been allowed to it, and what is denied at one need not have been denied. `isNamed`: as in `listsNaming`.
   */
  listsForAbsent(caller: Omit<Caller, 'peerAddress'>, isNamed: boolean): RuleList[] {
    const candidates = isNamed ? this.#candidatesNaming(caller) : this.#candidatesFor(caller)
    const unplaced = { ...caller, peerAddress: '' }
    return candidates
      .filter(({ who, permit }) => isAbout(who, unplaced, undefined, permit === 'allow'))
      .map(({ list }) => list)
  }

  #candidatesFor(caller: Omit<Caller, 'peerAddress'>): Group[] {
    const { username, clientid } = this.#byName
    return [
      ...(caller.username === undefined ? [] : (username.get(caller.username) ?? [])),
      ...(clientid.get(caller.clientId) ?? []),
      ...this.#others,
    ]
  }

  #candidatesNaming({ clientId }: Pick<Caller, 'clientId'>): Group[] {
    return this.#byName.clientid.get(clientId) ?? []
  }

  #file(group: Group): void {
    const anchors = anchorsOf(group.who)
    if (anchors === undefined) {
      this.#others.push(group)
      return
    }
    for (const { by, name } of anchors) {
      const known = this.#byName[by].get(name)
      if (known === undefined) this.#byName[by].set(name, [group])
      // Groups are filed one after the other: a name that the group has twice has it last.
      else if (known.at(-1) !== group) known.push(group)
    }
  }
}

function listsAbout(caller: Caller, candidates: readonly Group[]): RuleList[] {
  const address = addressOf(caller)
  return candidates.filter(({ who }) => isAbout(who, caller, address)).map(({ list }) => list)
}

function asksForAddress(who: AclWhom): boolean {
  return who.is === 'address' || ('parts' in who && who.parts.some(asksForAddress))
}

/** Names of which a client must have one; undefined: it may be called anything. */
function anchorsOf(who: AclWhom): readonly Anchor[] | undefined {
  switch (who.is) {
    case 'username':
      return [{ by: 'username', name: who.username }]
    case 'clientid':
      return [{ by: 'clientid', name: who.clientId }]
    case 'all-of':
      return who.parts.map(anchorsOf).find((anchors) => anchors !== undefined)
    case 'any-of': {
      const each = who.parts.map(anchorsOf)
      return each.every((anchors) => anchors !== undefined) ? each.flat() : undefined
    }
    case 'anybody':
    case 'address':
      return undefined
    default:
      return who satisfies never
  }
}
