// A rule about topics, whichever way it was written down. Plain data: it crosses threads.

import type { AddressRange } from './address-range.ts'

export interface AclRule {
  readonly permit: 'allow' | 'deny'
  readonly action: 'publish' | 'subscribe' | 'pubsub'
  readonly who: AclSubject
  /** Undefined: every topic. Never empty. */
  readonly topics: readonly AclTopic[] | undefined
  /** As it is written, for whoever asks which rule it was. */
  readonly text: string
  /** Where it is written; line 0: in no file. */
  readonly file: string
  readonly line: number
}

/** Whom a rule is about. */
export type AclSubject =
  | { readonly is: 'anybody' }
  | { readonly is: 'username'; readonly username: string }
  | { readonly is: 'clientid'; readonly clientId: string }
  | { readonly is: 'address'; readonly ranges: readonly AddressRange[] }
  /** None of these two is empty. */
  | { readonly is: 'all-of'; readonly parts: readonly AclSubject[] }
  | { readonly is: 'any-of'; readonly parts: readonly AclSubject[] }

/**
 * `filter`: a topic filter, perhaps with placeholders: `${clientid}` and `${username}` anywhere in it, `%c` and `%u` as
 * a whole level. `literal`: this text and no other, wildcards and placeholders are letters like any.
 */
export interface AclTopic {
  readonly kind: 'filter' | 'literal'
  readonly text: string
}

export const anyClient: AclSubject = { is: 'anybody' }

/** All of these conditions together. */
export function allOf(parts: readonly AclSubject[]): AclSubject {
  const narrowing = parts.filter(({ is }) => is !== 'anybody')
  const [only] = narrowing
  if (only === undefined) return anyClient
  return narrowing.length === 1 ? only : { is: 'all-of', parts: narrowing }
}

/** Any of these conditions. */
export function anyOf(parts: readonly AclSubject[]): AclSubject {
  if (parts.some(({ is }) => is === 'anybody')) return anyClient
  const [only] = parts
  return only !== undefined && parts.length === 1 ? only : { is: 'any-of', parts }
}

/** A rule's topic as it is written, `@` in front of what is literal; or what is wrong with it. */
export function readAclTopic(written: string): AclTopic | { readonly problem: string } {
  if (written.startsWith('@')) return readLiteral(written.slice(1))
  if (written === '') return { problem: 'a topic is empty' }
  if (written.includes('\0')) return { problem: 'a topic holds a NUL' }
  if (written.startsWith('$share/') || written.startsWith('$queue/') || written.startsWith('$exclusive/')) {
    return { problem: 'a rule is about the filter behind $share/group/, $queue/ or $exclusive/: leave that away' }
  }
  const unknown = /\$\{(?!clientid\}|username\})/.exec(written)
  if (unknown !== null) return { problem: 'the only placeholders are ${clientid} and ${username}' }
  const levels = written.split('/')
  for (const [index, level] of levels.entries()) {
    if (level === '+' || (level === '#' && index === levels.length - 1)) continue
    if (/[+#]/.test(level)) return { problem: '+ stands alone in its level, and # alone in the last' }
  }
  return { kind: 'filter', text: written }
}

/** The same for what is literal by itself. */
export function readLiteral(text: string): AclTopic | { readonly problem: string } {
  if (text === '' || text.includes('\0')) return { problem: 'a literal topic is empty or holds a NUL' }
  return { kind: 'literal', text }
}
