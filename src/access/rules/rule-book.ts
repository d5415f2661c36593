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
import { addressOf, isAbout, type Caller } from './speaker.ts'

interface Group {
  readonly who: AclWhom
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
      const key = JSON.stringify(rule.who)
      let group = groups.get(key)
      if (group === undefined) {
        const own: CompiledRule[] = []
        group = { who: rule.who, rules: own, list: new RuleList(own) }
        groups.set(key, group)
        this.#file(group)
      }
      const place = rule.line === 0 ? rule.file : `${rule.file}:${rule.line}`
      group.rules.push(compileRule({ ...rule, place, because: 'configured-rule' }, order))
    }
  }

  /** The lists that are about this client, in no order: the rules in them know theirs. */
  listsFor(caller: Caller): RuleList[] {
    const { username, clientid } = this.#byName
    const candidates = [
      ...(caller.username === undefined ? [] : (username.get(caller.username) ?? [])),
      ...(clientid.get(caller.clientId) ?? []),
      ...this.#others,
    ]
    return listsAbout(caller, candidates)
  }

  /** Those of them in which its client id is named. */
  listsNaming(caller: Caller): RuleList[] {
    return listsAbout(caller, this.#byName.clientid.get(caller.clientId) ?? [])
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
      else if (!known.includes(group)) known.push(group)
    }
  }
}

function listsAbout(caller: Caller, candidates: readonly Group[]): RuleList[] {
  const address = addressOf(caller)
  return candidates.filter(({ who }) => isAbout(who, caller, address)).map(({ list }) => list)
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
