// Converts the ACL file of mosquitto to access rules.
//
//   topic [read | write | readwrite | deny] FILTER     before the first user: clients without a user name
//   user NAME                                          the next topics are for this user
//   pattern [read | write | readwrite | deny] FILTER   all clients; %c and %u are client ID and user name, anywhere in a level
//
// mosquitto checks the topics of the client, then the patterns, denials first in each, and denies everything else. Here all denials come
// first. A line that allows something, and cannot be converted, is left out; one that denies becomes a denial of more.

import { readAclTopic } from '../../../src/config/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'
import type { Converted } from './converted.ts'

interface Rule {
  readonly user: string | undefined
  readonly permit: 'allow' | 'deny'
  readonly action: 'publish' | 'subscribe' | 'pubsub'
  /** A term of the file of rules. */
  readonly topic: string
}

const actions = { read: 'subscribe', write: 'publish', readwrite: 'pubsub', deny: 'pubsub' } as const

/** A user with this name exists for mosquitto only. */
const everyUser = '$all'

/** The words between `topic` and its filter. */
type Access = keyof typeof actions

const namesOfClients = [
  ['${username}', 'whose user name'],
  ['${clientid}', 'whose client ID'],
] as const

/** Maximum lines that one sentence of the report names. */
const maxLinesNamed = 10

/** `places`: 'ACL file, line 3'. */
function formatLines(places: readonly string[]): string {
  const numbers = places.slice(0, maxLinesNamed).map((position) => position.slice(position.lastIndexOf(' ') + 1))
  const others = places.length > maxLinesNamed ? ` and ${places.length - maxLinesNamed} others` : ''
  return `${places.length === 1 ? 'line' : 'lines'} ${numbers.join(', ')}${others}`
}

/** mosquitto does not start with such a file. Without the line, what follows could be allowed to the user before it. */
function createLineError(position: string, problem: string): InvalidArchive {
  return new InvalidArchive(
    `${position}: ${problem}, so the user of the next lines is not known. mosquitto does not start with it either: correct it`,
  )
}

const isAccess = (word: string): word is Access => Object.hasOwn(actions, word)

/**
 * Returns the text of an ACL file. Throws InvalidArchive if a line has an unknown first word, or names no user. The first matching rule decides. `usesUsernameAsClientId`: %c stands for the user name.
 */
export function convertAclFile(
  text: string,
  { usesUsernameAsClientId = false }: { readonly usesUsernameAsClientId?: boolean } = {},
): Converted<string> {
  const conversion = new AclConversion(usesUsernameAsClientId)
  for (const [index, line] of text.split(/\r?\n/).entries()) conversion.read(line.trim(), `ACL file, line ${index + 1}`)
  return conversion.toConverted()
}

class AclConversion {
  readonly #usesUsernameAsClientId: boolean
  readonly #rules: Rule[] = []
  readonly #skipped: string[] = []
  readonly #stricter: string[] = []
  #user: string | undefined
  #hasPatternDenial = false
  /** Lines of patterns by the name of the client that they contain. */
  readonly #placesWithName = new Map<string, string[]>()

  constructor(usesUsernameAsClientId: boolean) {
    this.#usesUsernameAsClientId = usesUsernameAsClientId
  }

  read(line: string, position: string): void {
    if (line === '' || line.startsWith('#')) return
    const [, word = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? []
    if (word === 'user') {
      if (rest === '') throw createLineError(position, 'it names no user')
      this.#user = rest
    } else if (word === 'topic' || word === 'pattern') this.#readTopic(word, rest, position)
    else throw createLineError(position, `${JSON.stringify(word.slice(0, 40))} is not known`)
  }

  toConverted(): Converted<string> {
    const denials = this.#rules.filter(({ permit }) => permit === 'deny')
    const grants = this.#rules.filter(({ permit }) => permit === 'allow')
    for (const [name, places] of this.#placesWithName)
      this.#stricter.push(
        `ACL file, ${formatLines(places)}: clients ${name} is missing, contains /, + or #, or begins with $ are denied all topics from this rule on: a rule of Godwit inserts no such name`,
      )
    if (this.#hasPatternDenial && grants.some(({ user }) => user !== undefined))
      this.#stricter.push('ACL file: denials of patterns come before what topics of a user allow')
    const value = `${[...denials.map(toRuleTerm), ...grants.map(toRuleTerm), '{deny, all}.'].join('\n')}\n`
    return { value, skipped: this.#skipped, stricter: this.#stricter }
  }

  #readTopic(word: 'topic' | 'pattern', rest: string, position: string): void {
    const [, first = '', second = ''] = /^(\S+)(?:\s+(.*))?$/.exec(rest) ?? []
    if (first === '') return void this.#skipped.push(`${position}: it names no topic`)
    // A single word is a topic. mosquitto does not start if the first of two words is no access.
    const access = second === '' ? 'readwrite' : isAccess(first) ? first : undefined
    const filter = second === '' ? first : second
    if (access === undefined)
      this.#stricter.push(
        `${position}: the access ${JSON.stringify(first.slice(0, 40))} is not known: the topic is denied`,
      )
    const permit = access === undefined || access === 'deny' ? 'deny' : 'allow'
    const topic = word === 'pattern' ? this.#toPatternTerm(filter) : toTopicTerm(filter)
    if (word === 'pattern' && topic !== undefined) this.#recordPlaceholders(topic, position)
    if (permit === 'allow') {
      if (topic === undefined)
        this.#skipped.push(`${position}: Godwit has no rule with the topic ${JSON.stringify(filter)}`)
      else this.#allow(word, { action: actions[access ?? 'deny'], topic }, position)
      return
    }
    if (topic === undefined)
      this.#stricter.push(
        `${position}: Godwit has no rule with the topic ${JSON.stringify(filter)}: all topics are denied`,
      )
    if (word === 'pattern') this.#hasPatternDenial = true
    else if (this.#user === undefined)
      this.#stricter.push(
        `${position}: it applies to clients without a user name, which rules cannot select: all clients are denied`,
      )
    else if (this.#user === everyUser)
      this.#stricter.push(
        `${position}: in rules of Godwit, the user ${everyUser} stands for all clients: all are denied`,
      )
    const user = word === 'pattern' ? undefined : this.#user
    this.#rules.push({ user, permit, action: 'pubsub', topic: topic ?? quoteTerm('#') })
  }

  #allow(word: 'topic' | 'pattern', rule: Pick<Rule, 'action' | 'topic'>, position: string): void {
    if (word === 'topic' && this.#user === undefined) {
      this.#skipped.push(
        `${position}: it applies only to clients without a user name, which rules of Godwit cannot select: give them a user name, or add a rule`,
      )
    } else if (word === 'topic' && this.#user === everyUser)
      this.#skipped.push(`${position}: in rules of Godwit, the user ${everyUser} stands for all clients`)
    else this.#rules.push({ ...rule, permit: 'allow', user: word === 'pattern' ? undefined : this.#user })
  }

  #recordPlaceholders(topic: string, position: string): void {
    for (const [placeholder, name] of namesOfClients) {
      if (!topic.includes(placeholder)) continue
      const places = this.#placesWithName.get(name)
      if (places === undefined) this.#placesWithName.set(name, [position])
      else places.push(position)
    }
  }

  #toPatternTerm(filter: string): string | undefined {
    if (filter.includes('${')) return undefined
    const clientId = this.#usesUsernameAsClientId ? '${username}' : '${clientid}'
    const filled = filter.replaceAll('%c', clientId).replaceAll('%u', '${username}')
    return filled.startsWith('@') || 'problem' in readAclTopic(filled) ? undefined : quoteTerm(filled)
  }
}

/** In topics, placeholders have no meaning for mosquitto. Undefined: no rule here matches the same topics. */
function toTopicTerm(filter: string): string | undefined {
  const levels = filter.split('/')
  const hasOtherMeaning =
    filter.startsWith('@') || filter.includes('${') || levels.some((level) => level === '%c' || level === '%u')
  if (!hasOtherMeaning) return 'problem' in readAclTopic(filter) ? undefined : quoteTerm(filter)
  return /[+#]/.test(filter) ? undefined : `{eq, ${quoteTerm(filter)}}`
}

function toRuleTerm({ user, permit, action, topic }: Rule): string {
  const subject = user === undefined ? 'all' : `{user, ${quoteTerm(user)}}`
  return `{${permit}, ${subject}, ${action}, [${topic}]}.`
}

const quoteTerm = (text: string): string => `"${text.replaceAll(/["\\]/g, (letter) => `\\${letter}`)}"`
