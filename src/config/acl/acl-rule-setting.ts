// A rule as an object in HOCON:
//
//   {permit = allow, action = subscribe, topics = ["a/#", "@literal/+"], and = [{username = u}, {ipaddr = "10.0.0.0/8"}]}

import type { ConfigValue } from '../hocon/config-values.ts'
import { listOf, record, type Fields } from '../schema/collections.ts'
import { choice, text, type ReadValue, type SettingType } from '../schema/setting-type.ts'
import {
  combineWithAnd,
  combineWithOr,
  readAclTopic,
  type AclRule,
  type AclTopic,
  type AclSubject,
} from './acl-rule.ts'
import { parseAddressRange, type AddressRange } from './address-range.ts'

/** Matches every client ID and every user name. */
const everyoneMark = '#'

const addressRange: SettingType<string> = {
  ...text(),
  name: 'an address or a range such as 10.0.0.0/8',
  read(value) {
    const read = text().read(value)
    if ('problem' in read || parseAddressRange(read.value) !== undefined) return read
    return { problem: `the value is not ${this.name}` }
  },
}

/** The clients of a rule: all given conditions must hold. */
const subject = {
  username: text(),
  clientid: text(),
  ipaddr: addressRange,
  ipaddrs: listOf(addressRange),
}

const condition = record('a condition', subject)

const fields = record(
  'a rule',
  {
    permit: choice(['allow', 'deny']),
    action: choice(['publish', 'subscribe', 'pubsub']),
    topics: listOf(text()),
    ...subject,
    and: listOf(condition),
    or: listOf(condition),
  },
  ['permit'],
)

/** One access rule, with its position and its text. */
export const aclRule: SettingType<AclRule> = {
  name: fields.name,
  jsonSchema: fields.jsonSchema,
  read(value) {
    const read = fields.read(value)
    return 'problem' in read ? read : toRule(read.value, value)
  },
  show: (rule) => rule.text,
}

function toRule(found: Fields, value: ConfigValue): ReadValue<AclRule> {
  const who = parseSubject(found)
  if ('problem' in who) return who
  const topics = parseTopics(found.get('topics') as readonly string[] | undefined)
  if (topics !== undefined && 'problem' in topics) return topics
  return {
    value: {
      permit: found.get('permit') as AclRule['permit'],
      action: (found.get('action') as AclRule['action'] | undefined) ?? 'pubsub',
      who,
      topics,
      text: fields.show(found),
      file: value.at.file,
      line: value.at.line,
    },
  }
}

function parseTopics(written: readonly string[] | undefined): readonly AclTopic[] | { problem: string } | undefined {
  if (written === undefined) return undefined
  if (written.length === 0) return { problem: 'topics is empty: leave it out where the rule is about every topic' }
  const topics: AclTopic[] = []
  for (const text of written) {
    const topic = readAclTopic(text)
    if ('problem' in topic) return { problem: `topics: ${topic.problem}` }
    topics.push(topic)
  }
  return topics
}

function parseSubject(found: Fields): AclSubject | { readonly problem: string } {
  const parts: AclSubject[] = []
  const own = parseCondition(found)
  if ('problem' in own) return own
  parts.push(own)
  for (const join of ['and', 'or'] as const) {
    const written = found.get(join) as readonly Fields[] | undefined
    if (written === undefined) continue
    const conditions: AclSubject[] = []
    for (const each of written) {
      // An empty condition would match all clients, which is probably a mistake.
      const read = each.size === 0 ? { problem: 'a condition is empty' } : parseCondition(each)
      if ('problem' in read) return { problem: `${join}: ${read.problem}` }
      conditions.push(read)
    }
    if (conditions.length === 0) return { problem: `${join} is empty: leave it out if the rule applies to all clients` }
    parts.push(join === 'and' ? combineWithAnd(conditions) : combineWithOr(conditions))
  }
  return combineWithAnd(parts)
}

function parseCondition(found: Fields): AclSubject | { readonly problem: string } {
  const parts: AclSubject[] = []
  const username = found.get('username') as string | undefined
  const clientId = found.get('clientid') as string | undefined
  const address = found.get('ipaddr') as string | undefined
  const addresses = found.get('ipaddrs') as readonly string[] | undefined
  if (username !== undefined && username !== everyoneMark) parts.push({ is: 'username', username })
  if (clientId !== undefined && clientId !== everyoneMark) parts.push({ is: 'clientid', clientId })
  if (address !== undefined) parts.push({ is: 'address', ranges: parseRanges([address]) })
  if (addresses !== undefined) {
    if (addresses.length === 0) return { problem: 'ipaddrs is empty: omit it to match every address' }
    parts.push({ is: 'address', ranges: parseRanges(addresses) })
  }
  return combineWithAnd(parts)
}

function parseRanges(written: readonly string[]): AddressRange[] {
  return written.map(parseAddressRange).filter((range) => range !== undefined)
}
