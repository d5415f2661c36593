// Converts the terms of an acl.conf of EMQX into rules:
//
//   {allow | deny, all}.
//   {allow | deny, Who, publish | subscribe | pubsub, ["filter", {eq, "text"}, ...]}.
//   Who = all | {user, "u"} | {client, "c"} | {ipaddr, "10.0.0.0/8"} | {ipaddrs, [...]} | {'and', [Who, ...]} | {'or', [...]}

import type { Position } from '../hocon/config-values.ts'
import {
  combineWithAnd,
  anyClient,
  combineWithOr,
  readAclTopic,
  readLiteral,
  type AclRule,
  type AclTopic,
  type AclSubject,
} from './acl-rule.ts'
import { parseAddressRange, type AddressRange } from './address-range.ts'
import { TermError, type Statement, type Term } from './read-acl-terms.ts'

const everyoneWords = ['all', '$all']

/** Returns the rule of a statement. Throws TermError. */
export function parseRule({ term, text }: Statement): AclRule {
  if (term.kind !== 'tuple') throw new TermError(term.at, 'a rule is written in braces: {allow, all}.')
  const [permit, who, action, topics, ...more] = term.items
  const { file, line } = term.at
  if (who === undefined || more.length > 0) throw new TermError(term.at, formWords)
  const rule = { permit: parsePermit(permit, term.at), text, file, line }
  if (action === undefined) {
    // The short form is allowed for all clients only: {deny, {user, "x"}}. could be misread.
    if (!isEverybody(who)) throw new TermError(who.at, formWords)
    return { ...rule, who: anyClient, action: 'pubsub', topics: undefined }
  }
  return {
    ...rule,
    who: parseSubject(who),
    action: parseAction(action),
    topics: topics === undefined ? undefined : parseTopics(topics),
  }
}

const formWords = 'a rule has the form {allow, all}. or {allow, {user, "name"}, publish, ["topic/#"]}.'

function parsePermit(term: Term | undefined, at: Position): AclRule['permit'] {
  const text = readAtom(term)
  if (text === 'allow' || text === 'deny') return text
  throw new TermError(term?.at ?? at, 'a rule begins with allow or deny')
}

function parseAction(term: Term): AclRule['action'] {
  const text = readAtom(term)
  if (text === 'publish' || text === 'subscribe' || text === 'pubsub') return text
  if (text === 'all') return 'pubsub'
  throw new TermError(term.at, 'the action is publish, subscribe or pubsub')
}

function parseSubject(term: Term): AclSubject {
  if (isEverybody(term)) return anyClient
  const [name, value] = term.kind === 'tuple' && term.items.length === 2 ? term.items : []
  const kind = readAtom(name)
  if (value === undefined) throw new TermError(term.at, subjectWords)
  switch (kind) {
    case 'user':
    case 'username':
      return isEverybody(value) ? anyClient : { is: 'username', username: expectText(value) }
    case 'client':
    case 'clientid':
      return isEverybody(value) ? anyClient : { is: 'clientid', clientId: expectText(value) }
    case 'ipaddr':
      return { is: 'address', ranges: [parseRange(value)] }
    case 'ipaddrs':
      return { is: 'address', ranges: expectList(value).map(parseRange) }
    case 'and':
      return combineWithAnd(expectList(value).map(parseSubject))
    case 'or':
      return combineWithOr(expectList(value).map(parseSubject))
    default:
      throw new TermError(term.at, subjectWords)
  }
}

const subjectWords =
  'the subject of a rule is all, {user, "u"}, {client, "c"}, {ipaddr, "10.0.0.0/8"}, {ipaddrs, [...]}, {\'and\', [...]} or {\'or\', [...]}'

function parseTopics(term: Term): AclTopic[] {
  const items = term.kind === 'list' ? term.items : [term]
  if (items.length === 0) throw new TermError(term.at, 'the list of topics is empty: write ["#"] for every topic')
  return items.map(parseTopic)
}

function parseTopic(term: Term): AclTopic {
  const [name, value] = term.kind === 'tuple' && term.items.length === 2 ? term.items : []
  const isLiteral = value !== undefined && readAtom(name) === 'eq'
  const topic = isLiteral ? readLiteral(expectText(value)) : readAclTopic(expectText(term))
  if ('problem' in topic) throw new TermError(term.at, topic.problem)
  return topic
}

function parseRange(term: Term): AddressRange {
  const range = parseAddressRange(expectText(term))
  if (range === undefined) throw new TermError(term.at, 'this is not an address or a range such as "10.0.0.0/8"')
  return range
}

function expectList(term: Term): readonly Term[] {
  if (term.kind !== 'list' || term.items.length === 0)
    throw new TermError(term.at, 'a list of one or more belongs here')
  return term.items
}

function expectText(term: Term): string {
  if (term.kind !== 'text' || term.text === '') throw new TermError(term.at, 'text in " belongs here')
  return term.text
}

function isEverybody(term: Term): boolean {
  const text = readAtom(term) ?? (term.kind === 'text' ? term.text : undefined)
  return text !== undefined && (term.kind === 'atom' ? everyoneWords.includes(text) : text === '$all')
}

function readAtom(term: Term | undefined): string | undefined {
  return term?.kind === 'atom' ? term.text : undefined
}
