// An access rule, independent of the form in which it was written. Plain data that can be passed to other threads.

import type { AddressRange } from './address-range.ts'

export interface AclRule {
  readonly permit: 'allow' | 'deny'
  readonly action: 'publish' | 'subscribe' | 'pubsub'
  readonly who: AclSubject
  /** Undefined: every topic. Never empty. */
  readonly topics: readonly AclTopic[] | undefined
  /** The rule as written in the file, for explanations. */
  readonly text: string
  /** File with the rule; line 0: in no file. */
  readonly file: string
  readonly line: number
}

/** The clients of a rule. */
export type AclSubject =
  | { readonly is: 'anybody' }
  | { readonly is: 'username'; readonly username: string }
  | { readonly is: 'clientid'; readonly clientId: string }
  | { readonly is: 'address'; readonly ranges: readonly AddressRange[] }
  /** Never empty. */
  | { readonly is: 'all-of'; readonly parts: readonly AclSubject[] }
  | { readonly is: 'any-of'; readonly parts: readonly AclSubject[] }

/**
 * `filter`: a topic filter, possibly with placeholders: `${clientid}` and `${username}` anywhere, `%c` and `%u` as a
 * whole level. `literal`: exactly this text, without wildcards and placeholders.
 */
export interface AclTopic {
  readonly kind: 'filter' | 'literal'
  readonly text: string
}

export const anyClient: AclSubject = { is: 'anybody' }

/** All of these conditions together. */
export function combineWithAnd(parts: readonly AclSubject[]): AclSubject {
  const narrowing = parts.filter(({ is }) => is !== 'anybody')
  const [only] = narrowing
  if (only === undefined) return anyClient
  return narrowing.length === 1 ? only : { is: 'all-of', parts: narrowing }
}

/** Any of these conditions. */
export function combineWithOr(parts: readonly AclSubject[]): AclSubject {
  if (parts.some(({ is }) => is === 'anybody')) return anyClient
  const [only] = parts
  return only !== undefined && parts.length === 1 ? only : { is: 'any-of', parts }
}

/** Parses a rule's topic, `@` before literal text; or returns what is wrong with it. */
export function readAclTopic(written: string): AclTopic | { readonly problem: string } {
  if (written.startsWith('@')) return readLiteral(written.slice(1))
  if (written === '') return { problem: 'a topic is empty' }
  if (written.includes('\0')) return { problem: 'a topic contains NUL' }
  if (written.startsWith('$share/') || written.startsWith('$queue/') || written.startsWith('$exclusive/')) {
    return { problem: 'a rule matches the filter after $share/group/, $queue/ or $exclusive/: remove the prefix' }
  }
  const unknown = /\$\{(?!clientid\}|username\})/.exec(written)
  if (unknown !== null) return { problem: 'the only placeholders are ${clientid} and ${username}' }
  const levels = written.split('/')
  for (const [index, level] of levels.entries()) {
    if (level === '+' || (level === '#' && index === levels.length - 1)) continue
    if (/[+#]/.test(level)) return { problem: '+ must be a whole level, and # the whole last level' }
  }
  return { kind: 'filter', text: written }
}

/** Does the same for literal text. */
export function readLiteral(text: string): AclTopic | { readonly problem: string } {
  if (text === '' || text.includes('\0')) return { problem: 'a literal topic is empty or contains NUL' }
  return { kind: 'literal', text }
}
