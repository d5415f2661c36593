// The file of access rules: one term of EMQX's acl.conf for each rule.

import { readAclTopic, readLiteral } from '../../config/index.ts'
import type { aclRules } from '../resource/broker-template-fields.ts'
import type { ValueOf } from '../resource/field-types.ts'

export type AccessRuleList = ValueOf<typeof aclRules>
type AccessRule = AccessRuleList[number]

/** Rules of a resource without any. */
const defaultRules: AccessRuleList = [
  { permission: 'allow', username: 'dashboard', action: 'subscribe', topics: { filter: ['$SYS/#'] } },
  { permission: 'allow', ipaddress: '127.0.0.1', topics: { filter: ['$SYS/#', '#'] } },
  { permission: 'deny', action: 'subscribe', topics: { filter: ['$SYS/#'], equal: ['#'] } },
  { permission: 'allow' },
]

/** A file without any text is refused by the broker: it might have been cut. */
const noRules = '% no rules\n'

/** Returns the file; undefined: the default rules. */
export function formatAclFile(rules: AccessRuleList | undefined): string {
  const lines = (rules ?? defaultRules).map((rule) => `${formatRule(rule)}\n`)
  return lines.length === 0 ? noRules : lines.join('')
}

function formatRule(rule: AccessRule): string {
  return `{${rule.permission}, ${formatSubject(rule)}, ${rule.action ?? 'pubsub'}, ${formatTopics(rule)}}.`
}

function formatSubject({ username = '', clientid = '', ipaddress = '' }: AccessRule): string {
  const parts = [
    ...(username === '' ? [] : [`{user, ${quoteText(username)}}`]),
    ...(clientid === '' ? [] : [`{client, ${quoteText(clientid)}}`]),
    ...(ipaddress === '' ? [] : [`{ipaddr, ${quoteText(ipaddress)}}`]),
  ]
  const [first, ...others] = parts
  if (first === undefined) return 'all'
  return others.length === 0 ? first : `{'and', [${parts.join(', ')}]}`
}

function formatTopics({ topics }: AccessRule): string {
  const items = [
    ...(topics?.filter ?? []).map(quoteText),
    ...(topics?.equal ?? []).map((topic) => `{eq, ${quoteText(topic)}}`),
  ]
  return `[${items.length === 0 ? '"#"' : items.join(', ')}]`
}

function quoteText(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

/** Returns why the text is no topic of a rule; undefined: it is one. */
export function findTopicProblem(text: string, list: 'filter' | 'equal'): string | undefined {
  if (/[\p{Cc}\p{Cs}]/u.test(text)) return 'the topic has a control character'
  const read = list === 'filter' ? readAclTopic(text) : readLiteral(text)
  return 'problem' in read ? read.problem : undefined
}
