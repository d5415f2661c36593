// Converts the ACL file of mosquitto to access rules. mosquitto denies everything that no line allows, deny has priority over allow, and
// lines before the first user apply to clients without a user name.

import type { Converted } from './converted.ts'

interface Rule {
  readonly user: string | undefined
  readonly permit: 'allow' | 'deny'
  readonly action: 'publish' | 'subscribe' | 'pubsub'
  readonly filter: string
}

const actions = { read: 'subscribe', write: 'publish', readwrite: 'pubsub', deny: 'pubsub' } as const

/** Returns the text of an ACL file. The first matching rule decides, so rules that deny come first. */
export function convertAclFile(text: string): Converted<string> {
  const rules: Rule[] = []
  const skipped: string[] = []
  let user: string | undefined
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const read = readLine(line.trim(), user)
    if (typeof read === 'string') skipped.push(`ACL file, line ${index + 1}: ${read}`)
    else if ('filter' in read) rules.push(read)
    else user = read.user
  }
  const ordered = [
    ...rules.filter(({ permit }) => permit === 'deny'),
    ...rules.filter(({ permit }) => permit === 'allow'),
  ]
  return { value: `${[...ordered.map(termOf), '{deny, all}.'].join('\n')}\n`, skipped }
}

/** A rule, the user of the next lines, or why the line is not converted. */
function readLine(line: string, user: string | undefined): Rule | { readonly user: string | undefined } | string {
  if (line === '' || line.startsWith('#')) return { user }
  const [, word = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? []
  if (word === 'user') return rest === '' ? 'it names no user' : { user: rest }
  if (word !== 'topic' && word !== 'pattern') return `${JSON.stringify(word.slice(0, 40))} is not known`
  const [, access, named = ''] = /^(?:(read|write|readwrite|deny)\s+)?(.*)$/.exec(rest) ?? []
  if (named === '') return 'it names no topic'
  const permit = access === 'deny' ? 'deny' : 'allow'
  const action = actions[(access ?? 'readwrite') as keyof typeof actions]
  if (word === 'pattern') {
    const filter = named.replaceAll('%c', '${clientid}').replaceAll('%u', '${username}')
    return { user: undefined, permit, action, filter }
  }
  if (user === undefined)
    return 'it applies only to clients without a user name, which rules of Godwit cannot select: give them a user name, or add a rule'
  return { user, permit, action, filter: named }
}

function termOf({ user, permit, action, filter }: Rule): string {
  const who = user === undefined ? 'all' : `{user, ${quoted(user)}}`
  return `{${permit}, ${who}, ${action}, [${quoted(filter)}]}.`
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, (letter) => `\\${letter}`)}"`
