// Converts the terms of an acl.conf of EMQX into rules:
//
//   {allow | deny, all}.
//   {allow | deny, Who, publish | subscribe | pubsub, ["filter", {eq, "text"}, ...]}.
//   Who = all | {user, "u"} | {client, "c"} | {ipaddr, "10.0.0.0/8"} | {ipaddrs, [...]} | {'and', [Who, ...]} | {'or', [...]}

import type { Position } from '../hocon/values.ts'
import {
  allOf,
  anyClient,
  anyOf,
  readAclTopic,
  readLiteral,
  type AclRule,
  type AclTopic,
  type AclSubject,
} from './acl-rule.ts'
import { parseAddressRange, type AddressRange } from './address-range.ts'
import { TermError, type Statement, type Term } from './erlang-terms.ts'

const everyoneWords = ['all', '$all']

/** Returns the rule of a statement. Throws TermError. */
export function ruleOfStatement({ term, text }: Statement): AclRule {
  if (term.kind !== 'tuple') throw new TermError(term.at, 'a rule is written in braces: {allow, all}.')
  const [permit, who, action, topics, ...more] = term.items
  const { file, line } = term.at
  if (who === undefined || more.length > 0) throw new TermError(term.at, formWords)
  const rule = { permit: permitOf(permit, term.at), text, file, line }
  if (action === undefined) {
    // The short form is allowed for all clients only: {deny, {user, "x"}}. could be misread.
    if (!isEverybody(who)) throw new TermError(who.at, formWords)
    return { ...rule, who: anyClient, action: 'pubsub', topics: undefined }
  }
  return {
    ...rule,
    who: subjectOf(who),
    action: actionOf(action),
    topics: topics === undefined ? undefined : topicsOf(topics),
  }
}

const formWords = 'a rule has the form {allow, all}. or {allow, {user, "name"}, publish, ["topic/#"]}.'

function permitOf(term: Term | undefined, at: Position): AclRule['permit'] {
  const text = atomOf(term)
  if (text === 'allow' || text === 'deny') return text
  throw new TermError(term?.at ?? at, 'a rule begins with allow or deny')
}

function actionOf(term: Term): AclRule['action'] {
  const text = atomOf(term)
  if (text === 'publish' || text === 'subscribe' || text === 'pubsub') return text
  if (text === 'all') return 'pubsub'
  throw new TermError(term.at, 'the action is publish, subscribe or pubsub')
}

function subjectOf(term: Term): AclSubject {
  if (isEverybody(term)) return anyClient
  const [name, value] = term.kind === 'tuple' && term.items.length === 2 ? term.items : []
  const kind = atomOf(name)
  if (value === undefined) throw new TermError(term.at, subjectWords)
  switch (kind) {
    case 'user':
    case 'username':
      return isEverybody(value) ? anyClient : { is: 'username', username: textOf(value) }
    case 'client':
    case 'clientid':
      return isEverybody(value) ? anyClient : { is: 'clientid', clientId: textOf(value) }
    case 'ipaddr':
      return { is: 'address', ranges: [rangeOf(value)] }
    case 'ipaddrs':
      return { is: 'address', ranges: listOf(value).map(rangeOf) }
    case 'and':
      return allOf(listOf(value).map(subjectOf))
    case 'or':
      return anyOf(listOf(value).map(subjectOf))
    default:
      throw new TermError(term.at, subjectWords)
  }
}

const subjectWords =
  'the subject of a rule is all, {user, "u"}, {client, "c"}, {ipaddr, "10.0.0.0/8"}, {ipaddrs, [...]}, {\'and\', [...]} or {\'or\', [...]}'

function topicsOf(term: Term): AclTopic[] {
  const items = term.kind === 'list' ? term.items : [term]
  if (items.length === 0) throw new TermError(term.at, 'the list of topics is empty: write ["#"] for every topic')
  return items.map(topicOf)
}

function topicOf(term: Term): AclTopic {
  const [name, value] = term.kind === 'tuple' && term.items.length === 2 ? term.items : []
  const isLiteral = value !== undefined && atomOf(name) === 'eq'
  const topic = isLiteral ? readLiteral(textOf(value)) : readAclTopic(textOf(term))
  if ('problem' in topic) throw new TermError(term.at, topic.problem)
  return topic
}

function rangeOf(term: Term): AddressRange {
  const range = parseAddressRange(textOf(term))
  if (range === undefined) throw new TermError(term.at, 'this is not an address or a range such as "10.0.0.0/8"')
  return range
}

function listOf(term: Term): readonly Term[] {
  if (term.kind !== 'list' || term.items.length === 0)
    throw new TermError(term.at, 'a list of one or more belongs here')
  return term.items
}

function textOf(term: Term): string {
  if (term.kind !== 'text' || term.text === '') throw new TermError(term.at, 'text in " belongs here')
  return term.text
}

function isEverybody(term: Term): boolean {
  const text = atomOf(term) ?? (term.kind === 'text' ? term.text : undefined)
  return text !== undefined && (term.kind === 'atom' ? everyoneWords.includes(text) : text === '$all')
}

function atomOf(term: Term | undefined): string | undefined {
  return term?.kind === 'atom' ? term.text : undefined
}
