// Which namespace a client belongs to: said by its listener, by its user name or by its certificate, whichever is asked
// first and has an answer. It is settled when CONNECT is there, before anybody is asked whether the client may come in,
// as the name of its session depends on it (and with several shards the place of its session).

import type { ConnectionOrigin, ListenerTraits } from './connection.ts'
import { isNamespaceName } from '../namespaces/namespaced-names.ts'

export type NamespaceSource = 'listener' | 'username' | 'certificate'

/** The namespace in a user name: between `before` and `after`; where one of them is open more may stand beyond it. */
export interface NamespacePattern {
  readonly before: string
  readonly after: string
  /** `acme@`, `x/acme@` ...: not both. */
  readonly isOpenBefore: boolean
  readonly isOpenAfter: boolean
}

export interface NamespaceSettings {
  /** In the order in which they are asked. */
  readonly sources: readonly NamespaceSource[]
  /** Undefined: user names say nothing. */
  readonly usernamePattern: NamespacePattern | undefined
  /** The attribute of the subject of a certificate; undefined: certificates say nothing. */
  readonly certificateField: 'cn' | 'o' | 'ou' | undefined
  /** Who belongs to none is not let in. */
  readonly isRequired: boolean
}

/** What is known of somebody who comes. */
export interface NamespaceEvidence {
  readonly listener: Pick<ListenerTraits, 'namespace' | 'isBridge'>
  readonly arrival: ConnectionOrigin | undefined
  readonly username: string | undefined
}

/** Undefined: it belongs to none, as a bridge does, which carries what its configuration says. */
export function resolveNamespace(settings: NamespaceSettings, signs: NamespaceEvidence): string | undefined {
  if (signs.listener.isBridge === true) return undefined
  for (const source of settings.sources) {
    const found = namespaceFromSource(source, settings, signs)
    if (found !== undefined && isNamespaceName(found)) return found
  }
  return undefined
}

function namespaceFromSource(
  source: NamespaceSource,
  { usernamePattern, certificateField }: NamespaceSettings,
  { listener, arrival, username }: NamespaceEvidence,
): string | undefined {
  switch (source) {
    case 'listener':
      return listener.namespace
    case 'username':
      return usernamePattern === undefined || username === undefined
        ? undefined
        : partOfUsername(username, usernamePattern)
    case 'certificate':
      return certificateField === undefined || arrival?.certificate === undefined
        ? undefined
        : attributeOf(arrival.certificate.subject, certificateField)
    default:
      return source satisfies never
  }
}

function partOfUsername(username: string, pattern: NamespacePattern): string | undefined {
  const { before, after, isOpenBefore, isOpenAfter } = pattern
  if (isOpenAfter) {
    const end = username.indexOf(after, before.length)
    return username.startsWith(before) && end !== -1 ? username.slice(before.length, end) : undefined
  }
  if (!username.endsWith(after)) return undefined
  const front = username.slice(0, username.length - after.length)
  if (!isOpenBefore) return front.startsWith(before) ? front.slice(before.length) : undefined
  const start = front.lastIndexOf(before)
  return start === -1 ? undefined : front.slice(start + before.length)
}

/**
 * RFC 4514: `CN=device-7,OU=Plant`. The first of that name; what is escaped can be no namespace anyway. A backslash belongs to
 * what stands behind it, be that one more: a name that ends in one hides nothing behind it.
 */
function attributeOf(subject: string, field: 'cn' | 'o' | 'ou'): string | undefined {
  for (const part of subject.match(/(?:\\.|[^\\,+])+/gs) ?? []) {
    const [name = '', ...rest] = part.split('=')
    if (name.trim().toLowerCase() === field) return rest.join('=')
  }
  return undefined
}
