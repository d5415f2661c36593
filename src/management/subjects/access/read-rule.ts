// Parses a rule to store. An error has a code for a single rule and a word for one of a batch.

import type { ResultCodeName } from '../../../contract/index.ts'
import { shortened } from '../../http/api-error.ts'
import type { ClientRule } from '../../operations/client-rules.ts'

export interface RuleFault {
  readonly code: ResultCodeName
  readonly message: string
  readonly word: 'login' | 'topic' | 'action' | 'access' | 'badarg'
}

/** Maximum bytes of a UTF-8 string in MQTT. */
const maxTextBytes = 65_535

const actions: Readonly<Record<string, ClientRule['action']>> = {
  pub: 'publish',
  sub: 'subscribe',
  pubsub: 'pubsub',
  publish: 'publish',
  subscribe: 'subscribe',
}

/**
 * Keys of a rule, and the keys `all` and `result` of replies. Other keys are refused: with `client_id` instead of `clientid` the rule
 * would apply to all clients, and without an ignored condition it would apply to more requests. `null` has no effect.
 */
const knownKeys: ReadonlySet<string> = new Set(['clientid', 'username', 'all', 'topic', 'action', 'access', 'result'])

export const actionNames = { publish: 'pub', subscribe: 'sub', pubsub: 'pubsub' } as const

/** Returns the rule, or its first error. `problemOfTopic`: returns why a topic is invalid. */
export function readRule(item: unknown, problemOfTopic: (topic: string) => string | undefined): ClientRule | RuleFault {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    return { code: 'notJson', message: 'the body is no JSON object', word: 'badarg' }
  }
  const unknown = Object.entries(item).find(([key, value]) => value !== null && !knownKeys.has(key))
  if (unknown !== undefined) {
    const words = 'in the body is unknown here: without it the rule could allow more'
    return { ...invalid(`${shortened(unknown[0])} ${words}; use ${[...knownKeys].join(', ')}`), word: 'badarg' }
  }
  const { clientid, username, topic, action, access } = item as Readonly<Record<string, unknown>>
  const subject = readSubject(clientid, username)
  if ('code' in subject) return subject
  if (topic === undefined) return missing('topic')
  if (typeof topic !== 'string') return { ...invalid('topic must be text'), word: 'topic' }
  const problem = isText(topic) ? problemOfTopic(topic) : 'the topic is too long or not valid text'
  if (problem !== undefined) return { code: 'invalidTopic', message: problem, word: 'topic' }
  if (action === undefined) return missing('action')
  const act = typeof action === 'string' && Object.hasOwn(actions, action) ? actions[action] : undefined
  if (act === undefined) return { ...invalid('action is pub, sub or pubsub'), word: 'action' }
  if (access === undefined) return missing('access')
  if (access !== 'allow' && access !== 'deny') return { ...invalid('access is allow or deny'), word: 'access' }
  return { ...subject, topic, action: act, permit: access }
}

function readSubject(clientId: unknown, username: unknown): Pick<ClientRule, 'about' | 'who'> | RuleFault {
  if (clientId === undefined && username === undefined) return { about: 'all', who: '' }
  if (clientId !== undefined && username !== undefined) {
    return { ...invalid('a rule has clientid or username, not both: remove one'), word: 'login' }
  }
  const [about, who] = clientId === undefined ? (['username', username] as const) : (['clientid', clientId] as const)
  if (typeof who === 'string' && who !== '' && isText(who)) return { about, who }
  return { ...invalid(`${about} must be text that is not empty`), word: 'login' }
}

const missing = (word: 'topic' | 'action' | 'access'): RuleFault => ({
  code: 'missingParameter',
  message: `${word} is missing in the body`,
  word,
})

const invalid = (message: string): Pick<RuleFault, 'code' | 'message'> => ({ code: 'invalidParameter', message })

function isText(text: string): boolean {
  return Buffer.byteLength(text) <= maxTextBytes && text.isWellFormed() && !text.includes('\0')
}
