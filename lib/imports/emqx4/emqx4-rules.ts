// Access rules of EMQX 4.
//
//   {type, type_value, topic, action, access, created_at}   4.3 and 4.4; `type` is all, clientid or username; without `type_value`
//                                                           a rule is for all clients
//   {login, topic, action, allow}                           before; login `$all` is all clients
//
// EMQX checks the rules for the client ID, then for the user name, then for all clients, and of each the newest first. Godwit checks them in the
// same order, but the oldest first, so the times of creation are exchanged. Before 4.3 the order is not in the export: denials come first.
//
// A rule that allows something, and cannot be converted, is left out. One that denies becomes a denial of all topics for its client.

import { readAclTopic } from '../../../src/config/index.ts'
import type { RuleRecord } from '../../../src/records/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'
import { loginTypeHint, type Emqx4Entry, type LoginType, readText, readTime } from './emqx4-entries.ts'
import type { Emqx4Report } from './emqx4-report.ts'

const section = 'acl_mnesia'
const everyTopic = '#'

interface RuleOptions {
  readonly loginType: LoginType | undefined
  readonly report: Emqx4Report
}

type Subject = Pick<RuleRecord, 'about' | 'who'>

interface ReadRule extends Subject, Pick<RuleRecord, 'topic' | 'action' | 'permit'> {
  readonly createdAtMs: number
}

const actions: Readonly<Record<string, RuleRecord['action']>> = { pub: 'publish', sub: 'subscribe', pubsub: 'pubsub' }

/** Throws InvalidArchive if a rule denies something, and its client is unknown. */
export function convertRules(entries: readonly Emqx4Entry[], options: RuleOptions): RuleRecord[] {
  const bySubject = new Map<string, ReadRule[]>()
  for (const [index, entry] of entries.entries()) {
    const rule = readRule(entry, index + 1, options)
    if (rule === undefined) continue
    const key = `${rule.about} ${rule.who}`
    const rules = bySubject.get(key)
    if (rules === undefined) bySubject.set(key, [rule])
    else rules.push(rule)
  }
  return [...bySubject.values()].flatMap(sortForGodwit)
}

function readRule(entry: Emqx4Entry, number: number, options: RuleOptions): ReadRule | undefined {
  const isOld = !('access' in entry)
  const permit = isOld ? toOldPermit(entry['allow']) : entry['access'] === 'allow' ? 'allow' : 'deny'
  const subject = isOld ? toOldSubject(entry, options.loginType) : toSubject(entry)
  const written = readText(entry['topic'])
  const action = actions[String(entry['action'])]
  const topic = written === undefined ? undefined : toTopic(written, isOld)
  if (subject === undefined) {
    if (permit === 'deny')
      throw new InvalidArchive(
        `${section}, entry ${number} denies ${JSON.stringify(written ?? '')} to a client that it does not name, and without it the client would be allowed: correct or remove the entry`,
      )
    options.report.skip(section, written ?? '', 'a rule that names no client')
    return undefined
  }
  if (written !== undefined && /^\$(?:share|queue|exclusive)\//.test(written)) {
    options.report.skip(
      section,
      written,
      'EMQX removes this prefix before it checks the rules: the rule matched nothing',
    )
    return undefined
  }
  const createdAtMs = readTime(entry['created_at'])
  if (topic !== undefined && action !== undefined) return { ...subject, topic, action, permit, createdAtMs }
  const name = `${formatSubject(subject)}: ${permit} ${String(entry['action'])} ${written ?? ''}`
  if (permit === 'allow') {
    options.report.skip(section, name, 'Godwit has no rule with this topic or action')
    return undefined
  }
  options.report.restrict(
    section,
    name,
    'Godwit has no rule with this topic or action: the client is denied all topics',
  )
  return { ...subject, topic: topic ?? everyTopic, action: action ?? 'pubsub', permit, createdAtMs: Infinity }
}

const formatSubject = ({ about, who }: Subject): string => (about === 'all' ? 'all clients' : `${about} ${who}`)

/** EMQX takes everything except `true` for a denial. */
function toOldPermit(allow: unknown): RuleRecord['permit'] {
  return allow === true || allow === 'true' ? 'allow' : 'deny'
}

function toSubject({ type, type_value: value, login }: Emqx4Entry): Subject | undefined {
  const who = readText(value ?? login)
  if (type === 'all') return value === undefined && login === undefined ? { about: 'all', who: '' } : undefined
  if (type !== 'clientid' && type !== 'username') return undefined
  return who === undefined ? undefined : createSubject(type, who)
}

function toOldSubject({ login, type }: Emqx4Entry, loginType: LoginType | undefined): Subject | undefined {
  const who = readText(login)
  if (who === '$all') return { about: 'all', who: '' }
  const about = type === 'clientid' || type === 'username' ? type : type === undefined ? loginType : undefined
  if (about === undefined) throw new InvalidArchive(`${section} has logins without a type: ${loginTypeHint}`)
  return who === undefined ? undefined : createSubject(about, who)
}

function createSubject(about: LoginType, name: string): Subject | undefined {
  return name === '' || name.includes('\0') ? undefined : { about, who: name }
}

/**
 * Returns the topic of a rule here. In EMQX, `%c` and `%u` are placeholders only as a whole level and only since 4.3, and `${...}` and
 * a leading `@` mean nothing. Undefined: no rule here matches the same topics.
 */
function toTopic(written: string, isOld: boolean): string | undefined {
  const levels = written.split('/')
  const isPlaceholder = levels.some((level) => level === '%c' || level === '%u')
  const hasOtherMeaning = written.startsWith('@') || written.includes('${') || (isOld && isPlaceholder)
  if (!hasOtherMeaning && !('problem' in readAclTopic(written))) return written
  const isLiteral = !levels.includes('+') && levels.at(-1) !== '#' && (isOld || !isPlaceholder)
  const literal = `@${written}`
  return isLiteral && written !== '' && !('problem' in readAclTopic(literal)) ? literal : undefined
}

/** Rules of one client. Of two rules for the same topic and action only the deciding one stays. */
function sortForGodwit(rules: readonly ReadRule[]): RuleRecord[] {
  const compareByPriority = (a: ReadRule, b: ReadRule): number =>
    a.createdAtMs === b.createdAtMs ? rank(a) - rank(b) : b.createdAtMs - a.createdAtMs
  const ordered = [...rules].sort(compareByPriority)
  const deciding = new Map<string, ReadRule>()
  for (const rule of ordered) {
    const key = `${rule.action} ${rule.topic}`
    if (!deciding.has(key)) deciding.set(key, rule)
  }
  const oldestMs = ordered.at(-1)?.createdAtMs ?? 0
  const firstMs = oldestMs === Infinity ? 0 : oldestMs
  return [...deciding.values()].map(({ about, who, topic, action, permit }, index) => ({
    kind: 'rule',
    about,
    who,
    topic,
    action,
    permit,
    createdAtMs: firstMs + index,
  }))
}

const rank = ({ permit }: ReadRule): number => (permit === 'deny' ? 0 : 1)
